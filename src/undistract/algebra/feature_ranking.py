"""The general formulation of the paper: rank any finite choice of functions g by their distraction.

L_within(g) = E_m E_{x,y in m} ‖g(x) - g(y)‖²        L_all(g) = E_{x,y} ‖g(x) - g(y)‖²
distraction(g) = L_within / (L_all + ridge)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from undistract.algebra.groups import Weights
from undistract.algebra.moments import GroupMoments, Moments, iter_rows
from undistract.algebra.spectrum import check_enough_groups, check_ridge
from undistract.errors import InputError

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class RankedFunction:
    """A candidate function with its two losses. Remove functions with high distraction."""

    name: str
    within: float  # L_within
    total: float  # L_all
    distraction: float


def rank_functions(
    functions: Mapping[str, Function] | Sequence[Function],
    groups: Any,
    *,
    prior: Weights = "uniform",
    ridge: float = 0.0,
) -> list[RankedFunction]:
    """Rank candidate features by their distraction, the highest first.

    Parameters
    ----------
    functions : mapping from name to callable, or sequence of callables
        Each takes rows (n, d) and returns rows (n, k) or one value per row (n,).
    groups : mapping or iterable
        Groups of rows, as in `Moments.of`.
    prior : {"uniform", "by_size"}, mapping or sequence
        Weight of each group.
    ridge : float, default=0.0
        Ridge added to L_all, in squared units of the functions' values. Use 0 to compare functions of different units.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = [rng.normal([3 * m, 1], [2, 1], size=(100, 2)) for m in range(10)]
    >>> for ranked in rank_functions({"first": lambda x: x[:, 0], "second": lambda x: x[:, 1]}, groups):
    ...     print(f"{ranked.name}: {ranked.distraction:.2f}")
    second: 0.99
    first: 0.05
    """
    check_ridge(ridge)
    if callable(functions) or not isinstance(functions, Mapping | Sequence):
        raise InputError(
            f"functions must be a mapping from name to callable or a list of callables, got {type(functions).__name__}."
        )
    if not isinstance(functions, Mapping):
        functions = {f"{number}: {getattr(g, '__name__', type(g).__name__)}": g for number, g in enumerate(functions)}
    groups = list(iter_rows(groups))
    if any(isinstance(rows, GroupMoments) for _, rows in groups):
        raise InputError("rank_functions needs rows, got GroupMoments. Pass the rows of each group.")
    ranked = []
    for name, g in functions.items():
        values = ((group_name, _values(g, rows, name)) for group_name, rows in groups)
        moments = Moments.of(values, prior)
        check_enough_groups(moments)
        # E‖g(x) - g(y)‖² is twice the trace of the covariance.
        within = 2 * float(np.trace(moments.within))
        total = 2 * float(np.trace(moments.total))
        distraction = 0.0  # of a constant function
        if total + ridge > 0:
            distraction = within / (total + ridge)
        ranked.append(RankedFunction(name, within, total, distraction))
    return sorted(ranked, key=lambda function: -function.distraction)


def _values(g: Function, rows: Any, name: str) -> Any:
    values = np.asarray(g(rows))
    if len(values.shape) not in (1, 2) or len(values) != len(rows):
        raise InputError(
            f"Function {name!r} must return one value or row per input row, got shape {values.shape} for {len(rows)} "
            "rows."
        )
    return values.reshape(len(rows), -1)
