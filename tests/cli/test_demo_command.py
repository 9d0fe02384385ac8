"""The command line, from the outside."""

import re
import sys
import time
from pathlib import Path

import pytest

import undistract
from tests.cli.shell import run, shell


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_help_tells_where_to_begin():
    told = run("--help")
    assert told.exit_code == 0
    assert "Begin with: undistract demo" in told.output


def test_the_help_of_the_demo_shows_examples_on_lines_of_their_own():
    lines = [line.strip() for line in run("demo", "--help").output.splitlines()]
    assert "undistract demo --save demo.png" in lines


def test_the_version_is_the_version_of_the_package():
    assert undistract.__version__ in run("--version").output


def test_the_demo_prints_its_table_and_says_how_to_get_the_picture():
    told = run("demo", "--seed", "1", "--part", "digits")
    assert told.exit_code == 0
    assert "10 nearest neighbours" in told.output
    assert "Removed: 2 of 64 directions" in told.output
    assert "undistract demo --save demo.png" in told.output
    assert "The report on the digits: undistract-demo/digits.html" in told.output
    assert "Fives, with fours hidden among them" in Path("undistract-demo", "digits.html").read_text(encoding="utf-8")


def test_the_stranger_in_the_clip_alarms_after_and_not_before():
    pytest.importorskip("av")
    pytest.importorskip("cv2")
    told = run("demo", "--part", "clip", "--folder", "there")
    assert told.exit_code == 0
    counts = re.findall(r"(\d+) of 30 frames with the stranger alarm, and (\d+)", told.output)
    (found_before, _), (found_after, wrong_after) = [tuple(map(int, pair)) for pair in counts]
    # 0, 30 and 1 of 120 with libx264; another encoder moves pixels a little.
    assert found_before <= 3
    assert found_after >= 27
    assert wrong_after <= 6
    assert Path("there", "match-scored.mp4").stat().st_size > 10_000
    assert "Dots under changing light" in Path("there", "clip.html").read_text(encoding="utf-8")


def test_without_pyav_one_note_says_how_to_see_the_clip(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    told = run("demo", "--part", "clip")
    assert told.exit_code == 0
    assert told.stderr == 'Note: Writing videos needs av: pip install "undistract[video]"\n'


def test_another_seed_gives_other_numbers_and_the_same_seed_the_same():
    one, again, other = (run("demo", "--seed", seed, "--part", "digits").output for seed in ("1", "1", "2"))
    assert one == again != other


def test_the_picture_is_written_from_the_shell(tmp_path):
    pytest.importorskip("matplotlib")
    done = shell("demo", "--part", "digits", "--save", tmp_path / "demo.png", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Saved the picture: {tmp_path / 'demo.png'}" in done.stdout
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_table_is_printed_and_one_line_says_how_to_get_the_picture(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = run("demo", "--save", str(tmp_path / "demo.png"))
    assert told.exit_code == 1
    assert "10 nearest neighbours" in told.stdout
    assert told.stderr == 'Error: Drawing plots needs matplotlib: pip install "undistract[plot]"\n'
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--save", "demo.txt"], "Error: Cannot save a picture as 'demo.txt'; end the name in .png, .svg, .pdf.\n"),
        (["--save", "no-such-folder/a.png"], "Error: There is no folder 'no-such-folder'."),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--seed", "x"], "'x' is not a valid integer"),
    ],
)
def test_a_wrong_word_gives_one_readable_line_before_any_work(words, complaint):
    start = time.perf_counter()
    told = run("demo", *words)
    assert time.perf_counter() - start < 1.0
    assert told.exit_code != 0
    assert complaint in told.stderr
    assert "Traceback" not in told.stderr


def test_a_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("undistract.demo.run_demo", lambda seed: 1 / 0)
    assert isinstance(run("demo").exception, ZeroDivisionError)
