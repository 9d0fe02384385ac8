"""Rows on their way into a network and out of it: brought to one scale, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from undistract.algebra import Moments
from undistract.algebra.cushion import CUSHION
from undistract.arrays import Floats, Ints, check_range, quiet
from undistract.learned import Settings
from undistract.neural.batches import members


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
    groups = members(numbers)
    n_rows = np.array([len(rows) for rows in groups])
    means = np.stack([X[rows].mean(axis=0) for rows in groups])
    scatter = np.array([((X[rows] - mean) ** 2).sum() for rows, mean in zip(groups, means, strict=True)])
    within = (scatter / (n_rows - 1)).mean()
    total = (scatter / n_rows).mean() + ((means - means.mean(axis=0)) ** 2).sum() / (len(groups) - 1)
    return float(min(1.0, within / total)) if total > 0 else 1.0
