"""What the documents show works: every Python block runs, every file they name is there."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from undistract.cli import main
from undistract.extras import MissingExtraError

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "paper" / "README.md",
]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_runs(block, monkeypatch):
    if "import torch" in block:
        pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # the page says so
    try:
        exec(compile(block, "a block of the docs", "exec"), {})
    except MissingExtraError as missing:
        pytest.skip(str(missing))


LINES = [
    pytest.param(re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL), id=page.name)
    for page in (ROOT / "README.md", ROOT / "docs" / "command-line.md")
]


@pytest.mark.parametrize("blocks", LINES)
def test_every_line_for_the_shell_runs(blocks, tmp_path, monkeypatch):
    for needed in ("av", "cv2", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNDISTRACT_CACHE", str(tmp_path / "rows"))
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert len(lines) >= 5
    for name, *words in lines:
        assert name == "undistract"
        told = CliRunner().invoke(main, words)
        assert told.exit_code == 0, (words, told.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    code = re.findall(r"`(?:python )?((?:tests|benchmarks|docs|examples|paper)/[\w./-]+)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [path for path in code if not (ROOT / path).exists()]
    assert missing == []


def test_the_readme_names_the_commands_that_make_knows():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named & targets >= {"demo", "test"}
