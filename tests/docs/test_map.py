"""The map of docs/journey.md is true: every module is on it, and everything on it is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "undistract"
JOURNEY = (ROOT / "docs" / "journey.md").read_text(encoding="utf-8")


def on_the_map():
    """Name what the table does: `folder/file.py`, then `file.py` or `part/` of that folder; or a whole `folder/`."""
    for step in re.findall(r"^\|[^|]+\|([^|]+)\|", JOURNEY.split("## The floors")[0], re.MULTILINE):
        folder = ""
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", step):
            above = folder.rstrip("/").rpartition("/")[0] + "/"
            whole = next((path for path in (name, folder + name, above + name) if (SOURCE / path).exists()), name)
            folder = whole.rpartition("/")[0] + "/" if "/" in whole else folder
            yield whole


def test_every_module_is_named_on_the_map():
    modules = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")}
    named = set(on_the_map())
    assert sorted(path for path in modules if not {path, path.rpartition("/")[0] + "/"} & named) == []


def test_everything_on_the_map_is_there():
    named = set(on_the_map())
    assert len(named) > 100
    assert sorted(name for name in named if not (SOURCE / name).exists()) == []


def test_every_law_file_on_the_map_is_there_and_every_room_stands_on_a_floor():
    for path in re.findall(r"`(tests/[\w/.]+)`", JOURNEY):
        assert (ROOT / path).exists(), path
    floors = re.search(r"## The floors\n\n(.*?)\n\n", JOURNEY, re.DOTALL)[1]
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert sorted(room for room in rooms if not re.search(rf"\b{room}\b", floors)) == []
