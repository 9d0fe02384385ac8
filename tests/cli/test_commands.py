"""Behaviour that all commands share."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.cli.shell import run
from undistract.cli import main
from undistract.cli.main import COMMANDS

HEAVY = "{'numpy', 'scipy', 'sklearn', 'rich', 'matplotlib', 'pandas', 'pyarrow', 'safetensors', 'cv2', 'av'}"


@pytest.mark.parametrize("arguments", [["--help"], ["review", "--help"], ["score", "--help"], ["demo", "--help"]])
def test_help_imports_no_heavy_library(arguments):
    code = (
        f"import sys; from undistract.cli import main\ntry: main({arguments!r})\nexcept SystemExit: pass\n"
        f"print(*{HEAVY} & set(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.split() == []
    assert "Usage" in result.stdout


def test_main_help_imports_no_command():
    code = "import sys; from undistract.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(*(name for name in sys.modules if name.startswith('undistract.cli.')), file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {f"undistract.cli.{name}" for name in COMMANDS} & set(result.stderr.split())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_examples_and_common_options(name):
    result = run(name, "--help").stdout
    command = main.get_command(click.Context(main), name)
    assert command.name == name
    assert f"    undistract {name} " in result or f"    undistract {name}\n" in result
    for option in ("--json", "--quiet", "--verbose", "--debug", "--config"):
        assert option in result
    # Regression: --detector and --part had no help text.
    assert [option.name for option in command.params if isinstance(option, click.Option) and not option.help] == []


@pytest.mark.parametrize(("shell", "word"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --no")])
def test_completion_script(shell, word):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert word in result.stdout
    assert "_UNDISTRACT_COMPLETE" in result.stdout


def test_unknown_command_is_a_usage_error():
    result = run("lern")
    assert result.exit_code == 2
    assert "lern" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn", "no-such-data", "--save", "no-such-folder/a.focus"],
        ["score", "no-such-data", "--with", "no-such-model", "--save", "no-such-folder/a.scores"],
        ["score", "no-such-data", "--with", "no-such-model", "--save", "a.scores", "--csv", "no-such-folder/a.csv"],
        ["score", "no-such-data", "--with", "no-such-model", "--save", "a.scores", "--render", "no-such-folder/a.mp4"],
        ["report", "no-such-model", "--save", "no-such-folder/a.html"],
    ],
)
def test_missing_folder_is_an_error_before_any_work(arguments):
    result = run(*arguments)
    assert result.exit_code == 1
    # The data is missing too, but the folder is checked first.
    assert "There is no folder 'no-such-folder'. Create it first, or save to another folder." in result.output


@pytest.mark.parametrize(
    "arguments",
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
def test_input_files_are_never_overwritten(site, tmp_path, monkeypatch, arguments):
    # Regression: `score day.csv --csv day.csv` replaced the data with scores.
    shutil.copytree(site, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path("today.csv").rename("day.csv")
    Path("link.csv").symlink_to("day.csv")
    shutil.copy("calm.focus", "model.npy")
    Path("day.review").write_text("answers")
    assert run("score", "day.csv", "--with", "calm.focus", "--save", "day.scores").exit_code == 0
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = run(*arguments.split())
    assert result.exit_code == 1
    assert "is an input and would be overwritten. Save under another name." in result.stderr
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_two_outputs_cannot_be_the_same_file(site, tmp_path):
    arguments = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.csv")
    result = run(*arguments, "--csv", tmp_path / "a.csv")
    assert result.exit_code == 2
    assert "Two options name the same file" in result.stderr
    assert not (tmp_path / "a.csv").exists()


def test_learn_help_lists_the_registries():
    from undistract.algebra.projection import REMOVALS
    from undistract.features import EXTRACTORS

    result = run("learn", "--help").stdout
    words = set(re.findall(r"\w+", result))
    assert set(REMOVALS) | set(EXTRACTORS) <= words
