"""Dependencies: every library that it or one of its extras brings, with version, licence and reason.

    python -m benchmarks.dependencies > docs/dependencies.md

Direct dependencies are read from pyproject.toml, theirs from the metadata of what is installed, versions from
constraints.txt. Run it where every extra is installed; what is not installed is named at the end.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OURS = "undistract"
# One line for each direct dependency: a library without a reason is a library to drop.
WHY = {
    "numpy": "arrays",
    "scipy": "eigenproblems, distances, special functions",
    "scikit-learn": "the estimator's conventions, neighbours, digits of the demo",
    "safetensors": "model files that cannot hold code",
    "threadpoolctl": "small problems run fastest on one thread",
    "click": "the command line",
    "rich": "progress and tables in the shell",
    "pandas": "frames in and out",
    "polars": "frames in and out",
    "pyarrow": "Parquet and Feather, in batches",
    "pillow": "images",
    "av": "videos, packet by packet",
    "opencv-python-headless": "optical flow",
    "onnxruntime": "runs the user's own image model",
    "onnx": "looks into an ONNX file before it is run; writes projections",
    "torch": "neural FOCUS; Focus on tensors",
    "pyod": "other detectors, through an adapter",
    "dask": "moments by many workers",
    "distributed": "the workers",
    "numba": "one compiled pass over many small groups",
    "matplotlib": "pictures of reports and of the demo",
    "metric-learn": "a baseline in benchmarks",
    "fastapi": "routes and their schema",
    "starlette": "requests and answers",
    "uvicorn": "the HTTP server",
    "jinja2": "the pages of the review and of the report, escaped",
    "prometheus-client": "counters of the service, for Prometheus",
    "sqlalchemy": "the log of verdicts, in SQLite or PostgreSQL",
    "psycopg": "PostgreSQL",
    "playwright": "tests in a real browser",
    "schemathesis": "tests of the API against its schema",
    "atheris": "fuzzing of our parsers",
    "coverage": "which test reaches which line, for mutants",
    "pooch": "downloads with a checksum",
    "markdown-it-py": "the paper's page",
    "sphinx": "the documentation site",
    "pydata-sphinx-theme": "its looks",
    "sphinx-gallery": "its gallery",
    "myst-parser": "its pages are Markdown",
    "pytest": "tests",
    "pytest-xdist": "tests on several cores",
    "hypothesis": "laws as tests",
    "import-linter": "the map of imports",
    "httpx": "tests talk to servers",
    "array-api-strict": "tests of tensors without a device",
    "hatchling": "builds the wheel",
    "packaging": "reads requirements, for this page",
    "ruff": "format and lint",
    "mypy": "types",
}


INTRODUCTION = """
Written by `python -m benchmarks.dependencies` from `pyproject.toml`, `constraints.txt` and the metadata of what is
installed. Names in bold are direct dependencies, the others come with them. Versions are those of `constraints.txt`,
which `make` installs; a `pip install` elsewhere takes what fits `pyproject.toml`. Nothing of these libraries is in the
repository, nor in the wheel. The wheels of `av` and `opencv-python-headless` bring FFmpeg along, under its own licence.
"""


class Found(NamedTuple):
    """A library, and how it comes in."""

    name: str
    version: str
    licence: str
    extras: tuple[str, ...]
    because: str


def direct() -> dict[str, list[Requirement]]:
    """Return what pyproject.toml asks for: "core" and each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = {"core": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in requirements.items()}


def names_of(requirements: list[Requirement]) -> set[str]:
    """Return the libraries among requirements that are not extras of ours."""
    return {canonicalize_name(one.name) for one in requirements if one.name != OURS}


def licence_of(name: str) -> str:
    """Read a library's licence, in one line, from whichever field its authors used."""
    metadata = distribution(name).metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classified = [one.split(" :: ")[-1] for one in metadata.get_all("Classifier") or [] if one.startswith("License ::")]
    classified = [one.removesuffix(" License") for one in classified if one != "OSI Approved"]
    first = next(iter((metadata.get("License") or "").strip().splitlines()), "")
    if len(first) <= 40 and any(map(str.isalpha, first)) and not first.startswith("Copyright"):
        return first
    return ", ".join(classified) or _first_line(name)


def _first_line(name: str) -> str:
    """Read the name of a licence off the file that a library brings."""
    brought = [one for one in distribution(name).files or [] if "licen" in one.name.lower()]
    lines = brought[0].read_text().splitlines() if brought else []
    return next((" ".join(line.split()) for line in lines if any(map(str.isalpha, line))), "see its home page")


def collected() -> tuple[list[Found], list[str]]:
    """Walk from the direct dependencies to theirs; also return what is not installed."""
    versions = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line
    )
    pinned = {canonicalize_name(name): version for name, version in versions.items()}
    extras: dict[str, set[str]] = {}
    parents: dict[str, set[str]] = {}
    missing: set[str] = set()
    for extra, requirements in direct().items():
        waiting = [(one, None) for one in requirements if one.name != OURS]
        seen: set[tuple[str, tuple[str, ...]]] = set()
        while waiting:
            asked, parent = waiting.pop()
            name = canonicalize_name(asked.name)
            if parent is not None:
                parents.setdefault(name, set()).add(parent)
            if (name, tuple(sorted(asked.extras))) in seen:
                continue
            seen.add((name, tuple(sorted(asked.extras))))
            extras.setdefault(name, set()).add(extra)
            try:
                theirs = distribution(name).requires or []
            except PackageNotFoundError:
                missing.add(name)
                continue
            for one in map(Requirement, theirs):
                wanted = (
                    [one.marker.evaluate({"extra": chosen}) for chosen in ("", *asked.extras)] if one.marker else [True]
                )
                if any(wanted):
                    waiting.append((one, name))
    found = [
        Found(
            name,
            pinned.get(name) or distribution(name).version,
            licence_of(name),
            ("core",) if "core" in extras[name] else tuple(sorted(extras[name])),
            WHY.get(name) or "for " + ", ".join(sorted(parents.get(name, ()))[:4]),
        )
        for name in sorted(extras)
        if name not in missing
    ]
    return found, sorted(missing)


def page() -> str:
    """Write the page."""
    found, missing = collected()
    asked = {name for requirements in direct().values() for name in names_of(requirements)}
    core = [one for one in found if one.extras == ("core",)]
    others = [one for one in found if one.extras != ("core",)]
    told = lambda one: f"**{one.name}**" if one.name in asked else one.name  # noqa: E731
    tidy = lambda words: re.sub(r"[|\n]", " ", words)  # noqa: E731
    lines = [
        "# Dependencies",
        "",
        *INTRODUCTION.strip().splitlines(),
        "",
        f"## The core: {len(core)} libraries",
        "",
        "| library | version | licence | why |",
        "|---|---|---|---|",
        *(f"| {told(one)} | {one.version} | {tidy(one.licence)} | {one.because} |" for one in core),
        "",
        f"## Extras: {len(others)} more",
        "",
        "| library | version | licence | extra | why |",
        "|---|---|---|---|---|",
        *(
            f"| {told(one)} | {one.version} | {tidy(one.licence)} | {', '.join(one.extras)} | {one.because} |"
            for one in others
        ),
        "",
    ]
    if missing:
        lines += ["Not installed where this was written: " + ", ".join(f"`{name}`" for name in missing) + ".", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
