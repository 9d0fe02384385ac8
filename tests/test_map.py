"""The map of the code: floors that only look down, and modules that fit one sitting."""

from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "undistract"


def test_a_module_imports_only_from_the_floors_below_it(monkeypatch):
    linter = pytest.importorskip("importlinter.cli", reason='needs import-linter: pip install "undistract[dev]"')
    monkeypatch.chdir(SOURCE.parents[1])
    assert linter.lint_imports() == 0


@pytest.mark.parametrize("word", ["pickle", "joblib", "marshal", "shelve", "eval(", "exec(", "torch.load", "yaml.load"])
def test_no_file_can_become_code(word):
    users = [path.name for path in SOURCE.rglob("*.py") if word in path.read_text(encoding="utf-8")]
    assert users == []


def test_import_is_quick_because_names_are_fetched_when_used():
    import subprocess
    import sys

    heavy = "import sys, undistract; print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_can_be_fetched_and_has_an_example():
    import undistract

    for name in undistract.__all__:
        described = getattr(undistract, name)
        assert described.__doc__, name
        if not issubclass(described, Warning) if isinstance(described, type) else True:
            assert ">>>" in described.__doc__, f"{name} has no running example"


def test_the_repository_holds_only_kinds_of_files_that_belong_there():
    """A database that a test had left behind was committed once, for everybody to clone."""
    import subprocess

    root = SOURCE.parents[1]
    if not (root / ".git").exists():
        pytest.skip("not a git clone")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    paths = [Path(name) for name in tracked.split("\0") if name]
    assert len(paths) > 500
    written = {".py", ".md", ".rst", ".toml", ".txt", ".css", ".js", ".html", ".svg", ".csv", ".cff", ".typed"}
    made = {"docs/images", "paper/figures", "benchmarks/results", "tests/golden/format-1"}
    plain = {".ci", "Makefile", "LICENSE", ".gitignore"}
    strange = [
        str(path)
        for path in paths
        if path.suffix not in written and path.parts[0] not in plain and str(path.parent) not in made
    ]
    assert strange == []
