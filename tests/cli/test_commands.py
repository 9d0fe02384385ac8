"""What all commands have in common."""

import subprocess
import sys

import click
import pytest

from tests.cli.shell import run
from undistract.cli import main
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
