"""The general formulation: any finite choice of functions g, ranked by how distracting they are.

L_within(g) = E_m E_{x,y in m} ‖g(x) - g(y)‖²        L_all(g) = E_{x,y} ‖g(x) - g(y)‖²
distraction(g) = L_within / (L_all + cushion)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from undistract.algebra.cushion import check_cushion
from undistract.algebra.moments import Moments
from undistract.algebra.named_sets import named_pieces
from undistract.algebra.prior import Weights
from undistract.algebra.set_moments import SetMoments
from undistract.algebra.spectrum import check_learnable
from undistract.errors import InputError

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class RankedFunction:
    """A candidate function with its two losses; high distraction means: remove what it reads."""

    name: str
    within: float  # L_within
    total: float  # L_all
    distraction: float


def rank_functions(
    functions: Mapping[str, Function] | Sequence[Function],
    sets: Any,
    *,
    prior: Weights = "uniform",
    cushion: float = 0.0,
) -> list[RankedFunction]:
    """Rank candidate features by how distracting they are, the worst first.

    Parameters
    ----------
    functions : mapping from name to callable, or sequence of callables
        Each takes rows (n, d) and returns rows (n, k) or one value per row (n,).
    sets : mapping or iterable
        Sets of rows, as `Moments.of` takes them.
    prior : {"uniform", "by_size"}, mapping or sequence
    cushion : float, default=0.0
        Added to L_all, in squared units of the functions' values. Functions of different units compare fairly at 0.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([3 * m, 1], [2, 1], size=(100, 2)) for m in range(10)]
    >>> for ranked in rank_functions({"first": lambda x: x[:, 0], "second": lambda x: x[:, 1]}, sets):
    ...     print(f"{ranked.name}: {ranked.distraction:.2f}")
    second: 0.99
    first: 0.05
    """
    check_cushion(cushion)
    if callable(functions) or not isinstance(functions, Mapping | Sequence):
        raise InputError(
            "functions came as one thing; expected a mapping from name to callable, or a list of callables."
        )
    if not isinstance(functions, Mapping):
        functions = {f"{place}: {getattr(g, '__name__', type(g).__name__)}": g for place, g in enumerate(functions)}
    pieces = list(named_pieces(sets))
    if any(isinstance(rows, SetMoments) for _, rows in pieces):
        raise InputError("A function needs the rows themselves; SetMoments no longer have them.")
    ranked = []
    for name, g in functions.items():
        values = ((set_name, _values(g, rows, name)) for set_name, rows in pieces)
        moments = Moments.of(values, prior)
        check_learnable(moments)
        # E‖g(x) - g(y)‖² is twice the trace of the covariance.
        within, total = 2 * float(np.trace(moments.within)), 2 * float(np.trace(moments.total))
        ranked.append(RankedFunction(name, within, total, within / (total + cushion) if total + cushion > 0 else 0.0))
    return sorted(ranked, key=lambda one: -one.distraction)


def _values(g: Function, rows: Any, name: str) -> Any:
    values = np.asarray(g(rows))
    if len(values.shape) not in (1, 2) or len(values) != len(rows):
        raise InputError(
            f"Function {name!r} turned {len(rows)} rows into shape {values.shape}; expected one value or row for each."
        )
    return values.reshape(len(rows), -1)
