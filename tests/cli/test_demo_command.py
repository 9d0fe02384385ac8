"""The command line, from the outside."""

import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import undistract
from undistract.cli import main

AS_IN_THE_SHELL = [sys.executable, "-W", "error", "-c", "from undistract.cli import main; main(prog_name='undistract')"]


def run(*words):
    return CliRunner().invoke(main, words)


def shell(*words):
    return subprocess.run([*AS_IN_THE_SHELL, *words], capture_output=True, text=True, timeout=120)


def test_help_tells_where_to_begin():
    told = run("--help")
    assert told.exit_code == 0
    assert "Begin with: undistract demo" in told.output


def test_the_help_of_the_demo_shows_examples_on_lines_of_their_own():
    lines = [line.strip() for line in run("demo", "--help").output.splitlines()]
    assert "undistract demo --save demo.png" in lines


def test_the_version_is_the_version_of_the_package():
    assert undistract.__version__ in run("--version").output


def test_help_loads_neither_numpy_nor_scikit_learn():
    code = "import sys, undistract.cli; print(*{'numpy', 'scipy', 'sklearn', 'rich', 'matplotlib'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_the_demo_prints_its_table_and_says_how_to_get_the_picture():
    told = run("demo", "--seed", "1")
    assert told.exit_code == 0
    assert "10 nearest neighbours" in told.output
    assert "Removed: 2 of 64 directions" in told.output
    assert "undistract demo --save demo.png" in told.output


def test_another_seed_gives_other_numbers_and_the_same_seed_the_same():
    one, again, other = (run("demo", "--seed", seed).output for seed in ("1", "1", "2"))
    assert one == again != other


def test_the_picture_is_written_from_the_shell(tmp_path):
    pytest.importorskip("matplotlib")
    done = shell("demo", "--save", str(tmp_path / "demo.png"))
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
