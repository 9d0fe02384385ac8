"""The page of dependencies lists those of pyproject.toml, each with a licence and a reason."""

import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("packaging", reason="needs packaging: pip install packaging")

from benchmarks.dependencies import WHY, direct, licence_of, names_of

ROOT = Path(__file__).parents[2]
LINES = [line for line in (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").splitlines() if "|" in line]
ROWS = {re.sub(r"\W*([\w.-]+)\W*", r"\1", cells[1]): cells for cells in (line.split("|") for line in LINES)}
DIRECT = sorted({name for requirements in direct().values() for name in names_of(requirements)})


@pytest.mark.parametrize("name", DIRECT)
def test_every_direct_dependency_is_on_the_page(name):
    assert f"**{name}**" in ROWS[name][1]
    assert WHY[name] in LINES[[line.split("|")[1].strip(" *") for line in LINES].index(name)]


def test_every_row_has_a_version_a_licence_and_a_reason():
    assert len(ROWS) > 100
    assert all(cell.strip() for cells in ROWS.values() for cell in cells[1:-1])


def test_versions_match_the_constraints():
    pinned = dict(line.lower().replace("_", "-").split("==") for line in (ROOT / "constraints.txt").read_text().split())
    listed = {name: cells[2].strip() for name, cells in ROWS.items()}
    assert {name: listed[name] for name in pinned if name in listed} == {
        name: pinned[name] for name in pinned if name in listed
    }


def test_every_reason_belongs_to_a_direct_dependency():
    assert set(WHY) == set(DIRECT)


def test_licence_is_read_from_either_field():
    assert licence_of("numpy").startswith("BSD-3-Clause")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"] == "BSD-3-Clause"
