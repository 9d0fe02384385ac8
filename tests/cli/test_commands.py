"""What all commands have in common."""

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.cli.shell import run
from undistract.cli import main, options
from undistract.cli.commands import COMMANDS

HEAVY = "{'numpy', 'scipy', 'sklearn', 'rich', 'matplotlib', 'pandas', 'pyarrow', 'safetensors', 'cv2', 'av'}"


@pytest.mark.parametrize("words", [["--help"], ["learn", "--help"], ["score", "--help"], ["demo", "--help"]])
def test_help_loads_nothing_heavy(words):
    code = (
        f"import sys; from undistract.cli import main\ntry: main({words!r})\nexcept SystemExit: pass\n"
        f"print(*{HEAVY} & set(sys.modules), file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stderr.split() == []
    assert "Usage" in told.stdout


def test_the_first_help_loads_no_command():
    code = "import sys; from undistract.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(*(name for name in sys.modules if name.startswith('undistract.cli.')), file=sys.stderr)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {f"undistract.cli.{name}" for name in COMMANDS} & set(told.stderr.split())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_is_there_teaches_by_example_and_takes_the_common_options(name):
    told = run(name, "--help").stdout
    command = main.get_command(click.Context(main), name)
    assert command.name == name
    assert f"    undistract {name} " in told or f"    undistract {name}\n" in told
    for option in ("--json", "--quiet", "--verbose", "--debug", "--config"):
        assert option in told
    # --detector and --part were names and nothing else.
    assert [one.name for one in command.params if isinstance(one, click.Option) and not one.help] == []


@pytest.mark.parametrize(("shell", "word"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --no")])
def test_the_shell_can_complete(shell, word):
    told = run("completion", shell)
    assert told.exit_code == 0
    assert word in told.stdout
    assert "_UNDISTRACT_COMPLETE" in told.stdout


def test_an_unknown_command_is_a_usage_error():
    told = run("lern")
    assert told.exit_code == 2
    assert "lern" in told.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["learn", "no-such-data", "--save", "no-such-folder/a.focus"],
        ["score", "no-such-data", "--with", "no-such-model", "--save", "no-such-folder/a.scores"],
        ["score", "no-such-data", "--with", "no-such-model", "--save", "a.scores", "--csv", "no-such-folder/a.csv"],
        ["score", "no-such-data", "--with", "no-such-model", "--save", "a.scores", "--render", "no-such-folder/a.mp4"],
        ["report", "no-such-model", "--save", "no-such-folder/a.html"],
    ],
)
def test_a_missing_folder_is_told_before_any_work(words):
    told = run(*words)
    assert told.exit_code == 1
    # The data is missing too, and would be spoken of if it had been looked for.
    assert "There is no folder 'no-such-folder'. Make it first, or save somewhere else." in told.output


@pytest.mark.parametrize(
    "words",
    [
        "score day.csv --with calm.focus --save day.csv",
        "score day.csv --with calm.focus --save day.scores --csv day.csv",
        "score d*y.csv --with calm.focus --save a.scores --csv ./day.csv",
        "score day.csv --with calm.focus --save calm.focus",
        "learn calm --time when --save calm/day3.csv",
        "score link.csv --with calm.focus --save day.csv",
        "transform day.csv --with model.npy --save model.npy",
        "convert day.scores --save day.csv",
        "report day.scores --save day.scores",
        "relearn calm.focus --from day.review --save day.review",
    ],
)
def test_what_is_read_is_never_written_over(site, tmp_path, monkeypatch, words):
    # `score day.csv --csv day.csv`, typed in a hurry, put scores where the readings of a day had been.
    shutil.copytree(site, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path("today.csv").rename("day.csv")
    Path("link.csv").symlink_to("day.csv")
    shutil.copy("calm.focus", "model.npy")
    Path("day.review").write_text("answers")
    assert run("score", "day.csv", "--with", "calm.focus", "--save", "day.scores").exit_code == 0
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    told = run(*words.split())
    assert told.exit_code == 1
    assert "is what is read; written there, it would be lost. Save under another name." in told.stderr
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_file_is_not_written_twice_by_one_command(site, tmp_path):
    words = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.csv")
    told = run(*words, "--csv", tmp_path / "a.csv")
    assert told.exit_code == 2
    assert "Two options name one file" in told.stderr
    assert not (tmp_path / "a.csv").exists()


def test_the_options_of_reading_are_all_known_by_name():
    made = {name for one in options.reading_options(lambda: None).__click_params__ for name in one.opts}
    assert made == options.READING_OPTIONS
