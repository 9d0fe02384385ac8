"""Release check: build wheel and sdist, install the wheel alone, and use it.

    python -m tests.campaigns.release [--python python3.12]

In an empty environment with only the wheel and its dependencies: the demo runs, importing is fast, a model is saved and
loaded, and a user's program passes mypy with the types of the wheel. The sdist builds the same wheel and contains the
files that its tests need.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
IMPORT_SECONDS = 0.15

TIMED = "import time; began = time.{0}(); import undistract; print(time.{0}() - began)"
SMOKE = """
import numpy as np
import undistract
from undistract import Focus, NearestDetector, load, save

rng = np.random.default_rng(0)
light, days = np.linspace(-9, 9, 20), np.repeat(np.arange(30), 100)
X = rng.normal(size=(30, 20))[days] + rng.normal(size=(3000, 20)) + rng.normal(size=(3000, 1)) * light
focus = Focus().fit(X, groups=days)
assert focus.n_removed_ == 1, focus.summary()
save({"focus": focus, "detector": NearestDetector().fit(focus.transform(X))}, "street.focus")
model = load("street.focus")
assert np.array_equal(model["focus"].transform(X), focus.transform(X))
try:
    undistract.learn(undistract.read_sources("absent.mp4"))
except undistract.InputError as error:
    assert "no such file" in str(error)
print(undistract.__version__)
"""
TYPED = """
import numpy as np
from undistract import Focus
reveal_type(Focus(n_remove=1).fit(np.ones((4, 2)), groups=[0, 0, 1, 1]).transform(np.ones((4, 2))))
"""


def run(*line: object, cwd: Path = ROOT) -> str:
    """Run a command and return its output; raise if it fails."""
    result = subprocess.run([*map(str, line)], cwd=cwd, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(
            f"{' '.join(map(str, line))} ended with {result.returncode}:\n{result.stdout}\n{result.stderr}"
        )
    return result.stdout


def built(folder: Path, *kinds: str, source: Path = ROOT) -> list[Path]:
    """Build the release archives into a folder."""
    targets = [word for kind in kinds for word in ("-t", kind)]
    run(sys.executable, "-m", "hatchling", "build", *targets, "-d", folder, cwd=source)
    return sorted(folder.iterdir())


def names_in(archive: Path) -> set[str]:
    """Return the files of a wheel, or of an sdist without its top folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def missing_from(wheel: set[str]) -> list[str]:
    """Return the package files missing from a wheel, and the files in it that do not belong to the package."""
    package = ROOT / "src" / "undistract"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    targets = {path.relative_to(ROOT / "src").as_posix() for path in files}
    strange = {name for name in wheel if not name.startswith("undistract")}
    return sorted((targets - wheel) | strange)


def installed(wheel: Path, folder: Path, python: str) -> Path:
    """Install a wheel alone into an empty environment; return its interpreter."""
    run(python, "-m", "venv", folder)
    own = folder / "bin" / "python"
    # No constraints: they may name releases that another interpreter cannot install.
    line = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    run(*line)
    run(own, "-m", "pip", "check")
    return own


def import_seconds(python: Path | str, cwd: Path, *, times: int = 10, clock: str = "perf_counter") -> float:
    """Return the shortest import time, with warm file caches."""
    return min(float(run(python, "-c", TIMED.format(clock), cwd=cwd)) for _ in range(times))


def check_types(python: Path, folder: Path) -> str:
    """Check a user's program with mypy against the installed package."""
    program = folder / "program.py"
    program.write_text(TYPED)
    return run(sys.executable, "-m", "mypy", "--strict", "--python-executable", python, program, cwd=folder)


def release_check(python: str, folder: Path) -> Sequence[str]:
    """Run all checks; return the results as lines of text."""
    lines = []
    sdist, wheel = sorted(built(folder / "dist", "wheel", "sdist"), key=lambda path: path.suffix != ".gz")
    missing = missing_from(names_in(wheel))
    assert not missing, f"the wheel lacks, or should not have: {missing}"
    lines.append(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(names_in(wheel))} files")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (rebuilt,) = built(folder / "again", "wheel", source=next((folder / "source").iterdir()))
    assert names_in(rebuilt) == names_in(wheel), names_in(rebuilt) ^ names_in(wheel)
    lines.append(
        f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB, {len(names_in(sdist))} files, builds the same wheel"
    )
    interpreter, empty = installed(wheel, folder / "venv", python), folder / "empty"
    empty.mkdir()
    others = run(interpreter, "-m", "pip", "list", "--format", "freeze").split()
    lines.append(f"installed alone with {run(interpreter, '--version').strip()}: {len(others)} libraries")
    run(interpreter, "-c", SMOKE, cwd=empty)
    start = time.monotonic()
    demo = run(interpreter.parent / "undistract", "demo", cwd=empty)
    assert "Removed: 2 of 64 directions" in demo, demo
    lines.append(f"undistract demo: {time.monotonic() - start:.1f} s")
    seconds = import_seconds(interpreter, empty)
    assert seconds < IMPORT_SECONDS, f"import undistract took {seconds:.3f} s"
    lines.append(f"import undistract: {seconds:.3f} s")
    types = check_types(interpreter, empty)
    assert "Success" in types, types
    lines.append(f"a user's program, strictly typed: {types.splitlines()[0].partition('note: ')[2]}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the empty environment")
    with TemporaryDirectory() as folder:
        print(*release_check(parser.parse_args().python, Path(folder)), sep="\n")


if __name__ == "__main__":
    main()
