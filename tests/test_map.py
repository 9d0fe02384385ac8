"""Structural rules: layers import downwards only, no file format can execute code, imports stay quick."""

from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "undistract"


def test_module_imports_only_lower_layers(monkeypatch):
    linter = pytest.importorskip("importlinter.cli", reason='needs import-linter: pip install "undistract[dev]"')
    monkeypatch.chdir(SOURCE.parents[1])
    assert linter.lint_imports() == 0


@pytest.mark.parametrize("word", ["pickle", "joblib", "marshal", "shelve", "eval(", "exec(", "torch.load", "yaml.load"])
def test_no_file_is_executed_as_code(word):
    # `allow_pickle=False` is what keeps numpy from executing a file.
    texts = {path.name: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    users = [name for name, text in texts.items() if word in text.replace("allow_pickle=False", "")]
    assert users == []


def test_import_of_the_package_loads_no_heavy_library():
    import subprocess
    import sys

    heavy = "import sys, undistract; print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_has_an_example():
    import undistract

    for name in undistract.__all__:
        described = getattr(undistract, name)
        assert described.__doc__, name
        if not issubclass(described, Warning) if isinstance(described, type) else True:
            assert ">>>" in described.__doc__, f"{name} has no running example"


def test_repository_has_expected_file_types_only():
    """Regression: a database file that a test had written was committed."""
    import subprocess

    root = SOURCE.parents[1]
    if not (root / ".git").exists():
        pytest.skip("not a git clone")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    paths = [Path(name) for name in tracked.split("\0") if name]
    assert len(paths) > 500
    written = {".py", ".md", ".rst", ".toml", ".txt", ".css", ".js", ".html", ".svg", ".csv", ".cff", ".typed"}
    made = {"docs/images", "paper/figures", "benchmarks/results", "tests/golden/format-1", "tests/contract"}
    plain = {".ci", "Makefile", "LICENSE", ".gitignore"}
    strange = [
        str(path)
        for path in paths
        if path.suffix not in written and path.parts[0] not in plain and str(path.parent) not in made
    ]
    assert strange == []
