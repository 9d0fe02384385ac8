"""A slice of `make release-check`: wheel and sdist are whole, types travel with them, and importing is quick."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="needs hatchling: pip install hatchling")

from tests.campaigns.release import IMPORT_SECONDS, ROOT, built, import_seconds, missing_from, names_in


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The names in the wheel, and in the sdist."""
    archives = built(tmp_path_factory.mktemp("dist"), "wheel", "sdist")
    return {archive.suffix: names_in(archive) for archive in archives}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(made):
    """The review's page once lacked its files."""
    assert missing_from(made[".whl"]) == []
    assert "undistract/py.typed" in made[".whl"]
    assert len([name for name in made[".whl"] if name.startswith("undistract/web/static/")]) > 10
    assert any(name.endswith("licenses/LICENSE") for name in made[".whl"])


def test_the_sdist_holds_what_its_make_and_its_tests_need(made):
    needed = {"Makefile", "constraints.txt", "pyproject.toml", "README.md", "LICENSE", "SECURITY.md", "conftest.py"}
    needed |= {path.relative_to(ROOT).as_posix() for path in (ROOT / ".ci").iterdir()}
    needed |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "golden" / "format-1").iterdir()}
    assert needed - made[".gz"] == set()
    assert not [name for name in made[".gz"] if name.startswith((".venv", "out/", "shared"))]


def test_importing_is_quick():
    # Seconds of the processor: others may use the machine. `make release-check` looks at the clock.
    assert import_seconds(sys.executable, Path.cwd(), times=5, clock="process_time") < IMPORT_SECONDS
