"""What the scripts share: tables in the README, figures, and the one removal that the library does not offer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from undistract._arrays import Floats

HERE = Path(__file__).parent
README = HERE / "README.md"
FIGURES = HERE / "figures"


def publish(name: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, and write it into the README between ``<!-- table: name -->`` and ``<!-- end -->``."""
    lines = [header, ["---"] * len(header), *rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    print(f"\n{name}\n{table}")
    replace(README, rf"(<!-- table: {re.escape(name)} -->\n).*?(<!-- end -->)", table + "\n")


def replace(path: Path, pattern: str, inside: str) -> None:
    """Put `inside` between the two groups of the pattern, which must be there exactly once."""
    text, n_found = re.subn(
        pattern, lambda found: found[1] + inside + found[2], path.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    if n_found != 1:
        raise SystemExit(f"{path.name} has {n_found} places like {pattern!r}; expected one.")
    path.write_text(text, encoding="utf-8")


def save(figure: Figure, name: str) -> None:
    """Save a figure beside the README."""
    FIGURES.mkdir(exist_ok=True)
    # No version and no date inside: the same picture is the same file.
    figure.savefig(FIGURES / f"{name}.png", dpi=110, metadata={"Software": None})
    print(f"figures/{name}.png")


def number(value: float, digits: int = 3) -> str:
    """Write a number as the paper does: .99 instead of 0.99."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def complement_of_filters(X: Floats, filters: Floats) -> Floats:
    """Project on the Euclidean complement of filters (d, r): the obvious reading of the paper, and wrong."""
    basis = np.linalg.qr(filters)[0]  # (d, r)
    left: Floats = X - (X @ basis) @ basis.T
    return left
