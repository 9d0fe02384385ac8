"""Rows on their way into a network: gathered from sets, brought to one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from undistract.algebra import Moments
from undistract.algebra.spectrum import CUSHION
from undistract.arrays import Floats, Ints, as_rows, check_range, quiet, same_features
from undistract.errors import InputError
from undistract.learned import Settings
from undistract.sets.feature_set import FeatureSet


@dataclass(frozen=True, eq=False)
class RowScale:
    """Where rows lie and how far they spread: one scale for all features, so that these keep their proportions.

    Examples
    --------
    >>> scale = RowScale.of(np.array([[1.0, 10.0], [3.0, 10.0]]))
    >>> scale.mean, round(scale.spread, 3)
    (array([ 2., 10.]), 0.707)
    """

    mean: Floats  # (d,)
    spread: float  # root of the mean variance of the features

    @classmethod
    def of(cls, X: Floats, *, bounded: bool = True) -> Self:
        """Measure rows; refuse those whose squares leave the range of numbers."""
        with quiet():
            mean = X.mean(axis=0)
            variances = ((X - mean) ** 2).mean(axis=0)
        if bounded:
            check_range(variances, (X[:1] != X).any(axis=0))
        # Rounding in the mean makes equal rows seem to vary by as little as it can; that is no spread.
        spread = float(np.sqrt(variances.mean()))
        level = float(np.abs(mean).max()) * 1e-12
        return cls(mean, spread if spread > level else 1.0)

    def __call__(self, X: Floats) -> Floats:
        """Bring rows to mean zero and a mean variance of one."""
        return (X - self.mean) / self.spread


def gathered(sets: Any) -> tuple[Floats, list[int]]:
    """Read all sets into one array, with the number of each row's set.

    Examples
    --------
    >>> X, numbers = gathered({"mon": [[1.0, 2.0]], "tue": [[3.0, 4.0], [5.0, 6.0]]})
    >>> X.shape, numbers
    ((3, 2), [0, 1, 1])
    """
    if isinstance(sets, np.ndarray | str) or hasattr(sets, "toarray") or not hasattr(sets, "__iter__"):
        raise InputError(f"fit_sets got one {type(sets).__name__}; expected several sets, such as a list of arrays.")
    pieces: list[Floats] = []
    numbers: list[int] = []
    known: dict[Any, int] = {}
    for place, item in enumerate(sets.items() if hasattr(sets, "items") else sets):
        name, rows = item if isinstance(item, tuple) and len(item) == 2 else (place, item)
        if isinstance(rows, FeatureSet):
            name, rows = rows.name, np.concatenate(list(rows.chunks()))
        piece = as_rows(rows, f"Set {name!r}").astype(np.float64)
        if pieces:
            same_features(pieces[0].shape[1], piece.shape[1], f"Set {name!r}")
        pieces.append(piece)
        numbers += [known.setdefault(name, len(known))] * len(piece)
    if not pieces:
        raise InputError("There are no sets. Give at least two, such as a list of arrays.")
    return np.concatenate(pieces), numbers


def descriptive(content: Floats, numbers: Ints) -> Floats:
    """Return an orthonormal basis of what linear FOCUS keeps of an encoding, (kept, k).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> numbers = np.repeat(np.arange(20), 30)
    >>> content = rng.normal(size=(600, 2)) * [9, 1] + np.outer(numbers, [0, 1])
    >>> np.abs(descriptive(content, numbers)).round(2)
    array([[0., 1.]])
    """
    settings = Settings("auto", None, CUSHION, False, "uniform", "kept_span")
    found = settings.solve(Moments.of_labelled(content, numbers), may_wait=True)
    return np.ascontiguousarray(found.projection.kept_basis)


def share_inside(X: Floats, numbers: Ints) -> float:
    """Return the share of the variation that lies inside sets, without bias: 1 where nothing tells sets apart.

    Sets with a single row are left out; see `undistract.neural.loss` for the formula.

    Examples
    --------
    >>> share_inside(np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    0.2222222222222222
    """
    counts = np.bincount(numbers)
    several = np.flatnonzero(counts > 1)
    means = np.stack([X[numbers == one].mean(axis=0) for one in several])
    scatter = np.array([((X[numbers == one] - mean) ** 2).sum() for one, mean in zip(several, means, strict=True)])
    n_rows = counts[several]
    within = (scatter / (n_rows - 1)).mean()
    total = (scatter / n_rows).mean() + ((means - means.mean(axis=0)) ** 2).sum() / (len(several) - 1)
    return float(min(1.0, within / total)) if total > 0 else 1.0
