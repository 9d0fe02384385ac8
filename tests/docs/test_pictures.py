"""The figures of the docs can be drawn again, and the numbers next to them are those that the script prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'undistract[plot]'")

DOCS = Path(__file__).parents[2] / "docs"


def test_distractor_page_has_figures_and_numbers_of_its_script(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    line = [sys.executable, str(DOCS / "draw_distractor.py"), "--folder", str(tmp_path)]
    printed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    page = (DOCS / "distractor.md").read_text(encoding="utf-8")
    assert set(re.findall(r"images/(distractor-\w+\.png)", page)) == {path.name for path in tmp_path.iterdir()}
    values = re.search(r"distraction: (\S+) (\S+) (\S+)", printed).groups()
    assert re.findall(r"here (\d\.\d\d)", page) == list(values)
    pca, focus = re.search(r"PCA (\d+%), FOCUS (\d+%)", printed).groups()
    assert f"{pca} is between groups. After FOCUS it is {focus}" in " ".join(page.split())
