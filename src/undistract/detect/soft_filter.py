"""A fitted Focus as a penalty: what the training sets call distracting costs more to use.

    ρ/2 vᵀ(I + γC)v,     C = Σ f_i a_i a_iᵀ  over the removed directions, ‖a_i‖ = 1

f_i is the distraction; with the automatic strength, γ f_i is what a soft removal takes by itself (algebra/strength.py).
With u = (I + γC)^½ v this is plain ridge on the rows (I + γC)^(-½) x, so no solver needs to know of it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from undistract.algebra.soft_filter import SoftFilter
from undistract.algebra.strength import check_strength, strengths
from undistract.detect.rows import Rows
from undistract.errors import InputError


class Distraction(Protocol):
    """What is read of a fitted `Focus`: patterns (d, q) and distraction (q or more), largest first."""

    patterns_: NDArray[np.float64]
    distraction_: NDArray[np.float64]
    n_removed_: int


def penalty_filter(penalty: Distraction | None, strength: float | str, n_features: int) -> SoftFilter:
    """Make the rows' filter (I + γC)^(-½) of a fitted Focus.

    Without one, or when it removes nothing, rows pass unchanged.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> focus = SimpleNamespace(patterns_=np.array([[2.0], [0.0]]), distraction_=np.ones(1), n_removed_=1)
    >>> penalty_filter(focus, strength=3.0, n_features=2)(np.ones((1, 2)))
    array([[0.5, 1. ]])
    """
    check_strength(strength)
    patterns, distraction = _removed(penalty, n_features)
    if isinstance(strength, str):
        if penalty is not None and not hasattr(penalty, "spectrum_"):
            raise InputError(f"strength is {strength!r}, but {penalty!r} has no spectrum_. Give a fitted Focus.")
        found = np.zeros(0) if penalty is None else strengths(penalty.spectrum_, patterns.shape[1])
        return SoftFilter.of(patterns, found)
    return SoftFilter.of(patterns, strength * distraction)


def _removed(penalty: Any, n_features: int) -> tuple[Rows, Rows]:
    """Read the removed patterns (d, r), and how distracting each is (r,)."""
    if penalty is None:
        return np.zeros((n_features, 0)), np.zeros(0)
    missing = [name for name in ("patterns_", "distraction_", "n_removed_") if not hasattr(penalty, name)]
    if missing:
        raise InputError(
            f"penalty={penalty!r} has no {', '.join(missing)}. Give a fitted Focus, "
            "and FrozenEstimator(focus) where the detector is cloned."
        )
    n_removed = int(penalty.n_removed_)
    patterns = np.asarray(penalty.patterns_, dtype=np.float64)[:, :n_removed]
    distraction = np.asarray(penalty.distraction_, dtype=np.float64)[:n_removed]
    if patterns.shape != (n_features, n_removed) or distraction.shape != (n_removed,):
        raise InputError(
            f"The penalty removes {n_removed} directions, with patterns of shape {patterns.shape} and "
            f"{distraction.size} distractions, but X has {n_features} features. Fit both on the same."
        )
    if not (np.isfinite(patterns).all() and patterns.any(axis=0).all() and (distraction >= 0).all()):
        raise InputError(
            "The penalty removes a pattern that is zero or not finite, or one with a negative distraction. "
            "Give a fitted Focus as it is."
        )
    return patterns, distraction
