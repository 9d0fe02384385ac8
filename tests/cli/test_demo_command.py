"""`undistract demo` and the main command."""

import re
import sys
import time
from pathlib import Path

import pytest

import undistract
from tests.cli.shell import run, shell


@pytest.fixture(autouse=True)
def _in_tmp_path(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_help_recommends_the_demo():
    result = run("--help")
    assert result.exit_code == 0
    assert "Start with: undistract demo" in result.output


def test_demo_help_shows_one_example_per_line():
    lines = [line.strip() for line in run("demo", "--help").output.splitlines()]
    assert "undistract demo --save demo.png" in lines


def test_version_is_that_of_the_package():
    assert undistract.__version__ in run("--version").output


def test_demo_prints_its_table_and_how_to_get_the_figure():
    result = run("demo", "--seed", "1", "--part", "digits")
    assert result.exit_code == 0
    assert "10 nearest neighbours" in result.output
    assert "Removed: 2 of 64 directions" in result.output
    assert "undistract demo --save demo.png" in result.output
    assert "Report on the digits: undistract-demo/digits.html" in result.output
    assert "Fives, with fours hidden among them" in Path("undistract-demo", "digits.html").read_text(encoding="utf-8")


def test_stranger_in_the_clip_alarms_only_with_focus():
    pytest.importorskip("av")
    pytest.importorskip("cv2")
    result = run("demo", "--part", "clip", "--folder", "output")
    assert result.exit_code == 0
    counts = re.findall(r"(\d+) of 30 frames with the stranger alarm, and (\d+)", result.output)
    (hits_before, _), (hits_after, false_after) = [tuple(map(int, pair)) for pair in counts]
    # 0, 30 and 1 of 120 with libx264; other encoders change pixels slightly.
    assert hits_before <= 3
    assert hits_after >= 27
    assert false_after <= 6
    assert Path("output", "match-scored.mp4").stat().st_size > 10_000
    assert "Dots under changing light" in Path("output", "clip.html").read_text(encoding="utf-8")


def test_missing_pyav_gives_one_note(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    result = run("demo", "--part", "clip")
    assert result.exit_code == 0
    assert result.stderr == 'Note: Writing videos needs av: pip install "undistract[video]"\n'


def test_seed_determines_the_numbers():
    first, repeated, other = (run("demo", "--seed", seed, "--part", "digits").output for seed in ("1", "1", "2"))
    assert first == repeated != other


def test_figure_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    done = shell("demo", "--part", "digits", "--save", tmp_path / "demo.png", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Saved the figure: {tmp_path / 'demo.png'}" in done.stdout
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_missing_matplotlib_gives_the_table_and_one_error(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo", "--save", str(tmp_path / "demo.png"))
    assert result.exit_code == 1
    assert "10 nearest neighbours" in result.stdout
    assert result.stderr == 'Error: Drawing plots needs matplotlib: pip install "undistract[plot]"\n'
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["--save", "demo.txt"],
            "Error: Cannot save a figure as 'demo.txt'. Use a name that ends in .png, .svg, .pdf.\n",
        ),
        (["--save", "no-such-folder/a.png"], "Error: There is no folder 'no-such-folder'."),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--seed", "x"], "'x' is not a valid integer"),
    ],
)
def test_wrong_argument_is_an_error_before_any_work(arguments, complaint):
    start = time.perf_counter()
    result = run("demo", *arguments)
    assert time.perf_counter() - start < 1.0
    assert result.exit_code != 0
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


def test_unexpected_exception_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("undistract.demo.run_demo", lambda seed: 1 / 0)
    assert isinstance(run("demo").exception, ZeroDivisionError)
