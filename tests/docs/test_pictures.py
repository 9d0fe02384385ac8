"""The pictures of the docs can be drawn again, and the numbers beside them are those that the script prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'undistract[plot]'")

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_about_distractors_shows_what_its_script_draws_and_prints(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    line = [sys.executable, str(DOCS / "draw_distractor.py"), "--folder", str(tmp_path)]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    page = (DOCS / "distractor.md").read_text(encoding="utf-8")
    assert set(re.findall(r"images/(distractor-\w+\.png)", page)) == {path.name for path in tmp_path.iterdir()}
    values = re.search(r"distraction: (\S+) (\S+) (\S+)", told).groups()
    assert re.findall(r"here (\d\.\d\d)", page) == list(values)
    pca, focus = re.search(r"PCA (\d+%), FOCUS (\d+%)", told).groups()
    assert f"{pca} tells sets apart. After FOCUS it is {focus}" in " ".join(page.split())
