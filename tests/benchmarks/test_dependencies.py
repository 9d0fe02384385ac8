"""The page of dependencies is what pyproject.toml asks for, each with a licence and a reason."""

import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("packaging", reason="needs packaging: pip install packaging")

from benchmarks.dependencies import WHY, direct, licence_of, names_of

ROOT = Path(__file__).parents[2]
LINES = [line for line in (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").splitlines() if "|" in line]
ROWS = {re.sub(r"\W*([\w.-]+)\W*", r"\1", cells[1]): cells for cells in (line.split("|") for line in LINES)}
ASKED = sorted({name for some in direct().values() for name in names_of(some)})


@pytest.mark.parametrize("name", ASKED)
def test_every_library_that_we_ask_for_stands_on_the_page(name):
    assert f"**{name}**" in ROWS[name][1]
    assert WHY[name] in LINES[[line.split("|")[1].strip(" *") for line in LINES].index(name)]


def test_no_row_lacks_a_version_a_licence_or_a_reason():
    assert len(ROWS) > 100
    assert all(cell.strip() for cells in ROWS.values() for cell in cells[1:-1])


def test_versions_are_those_that_make_installs():
    pinned = dict(line.lower().replace("_", "-").split("==") for line in (ROOT / "constraints.txt").read_text().split())
    told = {name: cells[2].strip() for name, cells in ROWS.items()}
    assert {name: told[name] for name in pinned if name in told} == {
        name: pinned[name] for name in pinned if name in told
    }


def test_nothing_is_given_a_reason_that_nobody_asks_for():
    assert set(WHY) == set(ASKED)


def test_a_licence_is_read_from_whichever_field_has_it():
    assert licence_of("numpy").startswith("BSD-3-Clause")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"] == "BSD-3-Clause"
