"""What would be released: wheel and sdist are built, the wheel is installed alone, and it works there.

    python -m tests.campaigns.release [--python python3.12]

In an empty environment with nothing but the wheel and what it asks for: the demo runs, importing is quick, a model is
saved and loaded, and a user's program is checked against the types that the wheel ships. The sdist builds the same
wheel, and holds what its tests need.
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
focus = Focus().fit(X, sets=days)
assert focus.n_removed_ == 1, focus.describe()
save({"focus": focus, "detector": NearestDetector().fit(focus.transform(X))}, "street.focus")
model = load("street.focus")
assert np.array_equal(model["focus"].transform(X), focus.transform(X))
try:
    undistract.learn(undistract.read_sets("absent.mp4"))
except undistract.InputError as error:
    assert "no such file" in str(error)
print(undistract.__version__)
"""
TYPED = """
import numpy as np
from undistract import Focus
reveal_type(Focus(n_remove=1).fit(np.ones((4, 2)), sets=[0, 0, 1, 1]).transform(np.ones((4, 2))))
"""


def run(*line: object, cwd: Path = ROOT) -> str:
    """Run a command, and return what it says; what it complains about is raised."""
    told = subprocess.run([*map(str, line)], cwd=cwd, capture_output=True, text=True)
    if told.returncode:
        raise SystemExit(f"{' '.join(map(str, line))} ended with {told.returncode}:\n{told.stdout}\n{told.stderr}")
    return told.stdout


def built(folder: Path, *kinds: str, source: Path = ROOT) -> list[Path]:
    """Build what would be released, into a folder; made files such as caches are no part of it."""
    wanted = [word for kind in kinds for word in ("-t", kind)]
    run(sys.executable, "-m", "hatchling", "build", *wanted, "-d", folder, cwd=source)
    return sorted(folder.iterdir())


def names_in(archive: Path) -> set[str]:
    """Return the files of a wheel, or of an sdist without its top folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def missing_from(wheel: set[str]) -> list[str]:
    """Name the files of the package that a wheel lacks, and what in it does not belong to the package."""
    package = ROOT / "src" / "undistract"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wanted = {path.relative_to(ROOT / "src").as_posix() for path in files}
    strange = {name for name in wheel if not name.startswith("undistract")}
    return sorted((wanted - wheel) | strange)


def installed(wheel: Path, folder: Path, python: str) -> Path:
    """Install a wheel alone into an empty environment; return its interpreter."""
    run(python, "-m", "venv", folder)
    own = folder / "bin" / "python"
    # Constraints that name another interpreter's releases would keep older ones from being installed.
    line = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    run(*line)
    run(own, "-m", "pip", "check")
    return own


def import_seconds(python: Path | str, cwd: Path, *, times: int = 10, clock: str = "perf_counter") -> float:
    """Return the least time that importing took, the files being read once before."""
    return min(float(run(python, "-c", TIMED.format(clock), cwd=cwd)) for _ in range(times))


def check_types(python: Path, folder: Path) -> str:
    """Let mypy read a user's program against what is installed."""
    program = folder / "program.py"
    program.write_text(TYPED)
    return run(sys.executable, "-m", "mypy", "--strict", "--python-executable", python, program, cwd=folder)


def release_check(python: str, folder: Path) -> Sequence[str]:
    """Do all of it; return lines that say what was found."""
    told = []
    sdist, wheel = sorted(built(folder / "dist", "wheel", "sdist"), key=lambda path: path.suffix != ".gz")
    lost = missing_from(names_in(wheel))
    assert not lost, f"the wheel lacks, or should not have: {lost}"
    told.append(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(names_in(wheel))} files")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (again,) = built(folder / "again", "wheel", source=next((folder / "source").iterdir()))
    assert names_in(again) == names_in(wheel), names_in(again) ^ names_in(wheel)
    told.append(
        f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB, {len(names_in(sdist))} files, builds the same wheel"
    )
    own, empty = installed(wheel, folder / "venv", python), folder / "empty"
    empty.mkdir()
    others = run(own, "-m", "pip", "list", "--format", "freeze").split()
    told.append(f"installed alone with {run(own, '--version').strip()}: {len(others)} libraries")
    run(own, "-c", SMOKE, cwd=empty)
    began = time.monotonic()
    demo = run(own.parent / "undistract", "demo", cwd=empty)
    assert "Removed: 2 of 64 directions" in demo, demo
    told.append(f"undistract demo: {time.monotonic() - began:.1f} s")
    seconds = import_seconds(own, empty)
    assert seconds < IMPORT_SECONDS, f"import undistract took {seconds:.3f} s"
    told.append(f"import undistract: {seconds:.3f} s")
    types = check_types(own, empty)
    assert "Success" in types, types
    told.append(f"a user's program, strictly typed: {types.splitlines()[0].partition('note: ')[2]}")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the empty environment")
    with TemporaryDirectory() as folder:
        print(*release_check(parser.parse_args().python, Path(folder)), sep="\n")


if __name__ == "__main__":
    main()
