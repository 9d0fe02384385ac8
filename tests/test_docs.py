"""Check the documentation: every Python block and shell line runs, and every file it names exists."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from undistract._optional import MissingExtraError
from undistract.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "paper" / "README.md",
]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_runs(block, monkeypatch):
    if "import torch" in block:
        pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # as the page asks for
    try:
        exec(compile(block, "a block of the docs", "exec"), {})
    except MissingExtraError as missing:
        pytest.skip(str(missing))


LINES = [
    pytest.param(blocks, id=str(page.relative_to(ROOT)))
    for page in PAGES
    if (blocks := re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


def test_pages_with_shell_lines_are_found():
    assert {"README.md", "docs/command-line.md", "docs/start.md"} <= {page.id for page in LINES}


DRAWING = "undistract demo --part clip --folder dots --quiet"  # the first line of every page with shell lines


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Draw the clips that the pages use, once."""
    for needed in ("av", "cv2", "matplotlib"):
        pytest.importorskip(needed)
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("drawn")
        patch.chdir(folder)
        outcome = CliRunner().invoke(main, shlex.split(DRAWING)[1:])
    assert outcome.exit_code == 0, outcome.output
    return folder / "dots"


@pytest.mark.parametrize("blocks", LINES)
def test_every_shell_line_runs(blocks, drawn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNDISTRACT_CACHE", str(drawn.parent / "rows"))
    first, *lines = [line for block in blocks for line in block.splitlines()]
    assert first == DRAWING
    shutil.copytree(drawn, "dots")
    for line in lines:
        name, *words = shlex.split(line)
        assert name == "undistract"
        outcome = CliRunner().invoke(main, words)
        assert outcome.exit_code == 0, (words, outcome.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_named_in_a_page_exists(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    code = re.findall(r"`(?:python )?((?:tests|benchmarks|docs|examples|paper)/[\w./-]+)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [path for path in code if not (ROOT / path).exists()]
    assert missing == []


def test_readme_names_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named & targets >= {"demo", "test"}
