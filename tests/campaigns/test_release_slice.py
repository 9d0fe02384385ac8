"""A part of `make release-check`: wheel and sdist are complete, include types, and importing is fast."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="needs hatchling: pip install hatchling")

from tests.campaigns.release import IMPORT_SECONDS, ROOT, built, import_seconds, missing_from, names_in


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """File names in the wheel and in the sdist."""
    paths = built(tmp_path_factory.mktemp("dist"), "wheel", "sdist")
    return {archive.suffix: names_in(archive) for archive in paths}


def test_wheel_contains_exactly_the_package(archives):
    """Regression: the files of the review page were missing."""
    assert missing_from(archives[".whl"]) == []
    assert "undistract/py.typed" in archives[".whl"]
    assert len([name for name in archives[".whl"] if name.startswith("undistract/web/static/")]) > 10
    assert any(name.endswith("licenses/LICENSE") for name in archives[".whl"])


def test_sdist_contains_files_for_make_and_tests(archives):
    needed = {"Makefile", "constraints.txt", "pyproject.toml", "README.md", "LICENSE", "SECURITY.md", "conftest.py"}
    needed |= {path.relative_to(ROOT).as_posix() for path in (ROOT / ".ci").iterdir()}
    needed |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "golden" / "format-1").iterdir()}
    assert needed - archives[".gz"] == set()
    assert not [name for name in archives[".gz"] if name.startswith((".venv", "out/", "shared"))]


def test_import_is_fast():
    # CPU seconds, because the machine may be busy. `make release-check` measures wall time.
    assert import_seconds(sys.executable, Path.cwd(), times=5, clock="process_time") < IMPORT_SECONDS
