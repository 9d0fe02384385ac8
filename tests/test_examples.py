"""Run every example as a user would: it draws one picture, and its claim holds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'undistract[plot]'")

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
# The text before the two figures that each script prints, and the least improvement between them.
CLAIMS = {
    "plot_first_example.py": ("average precision", 0.5),
    "plot_detectors.py": ("average precision", 0.3),
    "plot_retrieval.py": (r"same digit among the first \d", 0.1),
    "plot_clustering.py": (r"agreement with the digits \(adjusted Rand\)", 0.5),
    "plot_denoising.py": ("root mean square error", -1.0),
    "plot_few_shot.py": ("recognised from one example", 0.15),
    "plot_soft_removal.py": ("average precision of both", 0.1),
    "plot_human_in_the_loop.py": ("average precision on images without review", 0.4),
    "plot_alarms.py": ("share of the leaks' rows that alarm", 0.5),
    "plot_two_sites.py": ("average precision", 0.8),
    "plot_how_many_groups.py": ("average precision with all groups", 0.15),
}
# The figure is saved after the script has run, so that the script needs no code for it.
SHOWING = """
import runpy, sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, *_):
        if name.partition(".")[0] in sys.argv[3:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
runpy.run_path(sys.argv[1], run_name="__main__")
import matplotlib.pyplot as plt
assert len(plt.get_fignums()) == 1, plt.get_fignums()
plt.gcf().savefig(sys.argv[2], dpi=50)
"""


def run(script, picture, *without):
    settings = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    settings.pop("DISPLAY", None)
    line = [sys.executable, "-c", SHOWING, str(script), str(picture), *without]
    outcome = subprocess.run(line, capture_output=True, text=True, timeout=300, env=settings, cwd=picture.parent)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr == ""
    return outcome.stdout


def test_every_example_has_a_claim():
    assert {script.name for script in SCRIPTS} == set(CLAIMS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_draws_a_picture_and_its_claim_holds(script, tmp_path):
    from matplotlib.image import imread

    text, least = CLAIMS[script.name]
    output = run(script, tmp_path / "picture.png")
    (claimed,) = re.findall(rf"^{text}: raw (\d\.\d\d), FOCUS (\d\.\d\d)$", output, re.MULTILINE)
    raw, better = map(float, claimed)
    assert (better - raw) * np.sign(least) > abs(least)  # an error gets smaller, all else larger
    picture = imread(tmp_path / "picture.png")[..., :3]
    assert 0.02 < (picture < 0.9).any(axis=-1).mean() < 0.98  # neither blank nor full
    assert os.listdir(tmp_path) == ["picture.png"]


def test_pyod_detectors_are_left_out_with_a_message_if_pyod_is_missing(tmp_path):
    output = run(EXAMPLES / "plot_detectors.py", tmp_path / "picture.png", "pyod")
    assert "PyOD is not installed, so its detectors are left out: pip install 'undistract[pyod]'" in output
    assert "PyOD k nearest" not in output
    assert "isolation forest: raw" in output


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_is_a_page_of_the_gallery(script):
    text = script.read_text(encoding="utf-8")
    title, line = re.match(r'"""\n(.+)\n(=+)\n\n', text).groups()
    assert len(line) == len(title)
    assert text.count("\n# %%\n") >= 3
    assert text.endswith("plt.show()\n")
    assert f"`{script.name}`" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
