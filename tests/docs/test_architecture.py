"""The page docs/architecture.md is true: packages and files exist, and registration alone makes an extension usable."""

import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "undistract"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WAY, LAYERS, VALUES, CHANGES = re.split(r"^## (?!The way).*$", PAGE, flags=re.MULTILINE)


def named_paths(text):
    """Return the files and folders that a text names in backticks."""
    return set(re.findall(r"`((?:[\w-]+/)+|(?:[\w-]+/)*[\w-]+\.(?:py|js|md))`", text))


def exists(path):
    return (SOURCE / path).exists() or (ROOT / path).exists()


def test_every_package_and_module_is_on_the_way_of_a_row():
    named = named_paths(WAY)
    members = [path for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    # Modules with two underscores belong to Python; the private ones are helpers of a neighbour.
    names = {path.name + "/" if path.is_dir() else path.name for path in members if not path.name.startswith("_")}
    assert sorted(names - named - {"version.py"}) == []


def test_every_named_file_exists():
    named = named_paths(PAGE)
    assert len(named) > 40
    assert sorted(path for path in named if not exists(path)) == []


def test_layers_are_those_of_the_import_contract():
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    order = [re.findall(r"undistract\.(\w+)", line) for line in layers]
    drawn = [re.findall(r"\w+", line.split("   ")[0]) for line in re.findall(r"^    (\S.*)$", LAYERS, re.MULTILINE)]
    depth = {name: number for number, names in enumerate(order) for name in names}
    for upper, lower in pairwise(drawn):
        for above in upper:
            for below in lower:
                assert depth[above] <= depth[below], (above, below)
    public = {name for name in depth if not name.startswith("_")} - {"version"}
    assert sorted(public - {name for names in drawn for name in names}) == []


def test_every_change_names_its_files():
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", CHANGES, re.MULTILINE)[1:]
    assert len(rows) == 12
    for change, files in rows:
        assert named_paths(files), change
