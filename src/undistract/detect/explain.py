"""Why a row was flagged: the features that carried its score, and how much of its deviation was ignored.

    exact        score = Σ_k g_k · (z - z_k)  →  feature j carries Σ_k pull(g_k)_j · lift(z - z_k)_j, and all sum up
    occlusion    feature j carries score(x) - score(x with feature j as usual in its context)

The first is for detectors that know their parts (distances, Mahalanobis), the second for any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from undistract.arrays import Floats, as_rows
from undistract.detect.alarms import Alarm
from undistract.errors import InputError


class Watch(Protocol):
    """What can be explained: a fitted `FocusDetector`, or anything with the same parts."""

    focus_: Any
    detector_: Any
    adapt: bool

    def anomaly_score(self, X: Any) -> Floats:
        """Score rows, (n, d)."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one row scored as it did.

    Parameters
    ----------
    row : int
        Its place in its set.
    score : float
    contributions : (d,) array
        What each original feature carried of the score. They sum to it where `exact`.
    exact : bool
        Whether contributions were read off the detector; else features were occluded one by one.
    deviation : (d,) array
        The row minus what is usual in its context.
    ignored : float
        The share of the deviation's squared length that lies along ignored directions.
    feature_names : tuple of str

    Examples
    --------
    >>> why = Explanation(7, 9.5, np.array([0.4, 8.6, 0.5]), True, np.array([1.0, 9.0, 0.1]), 0.93, ("a", "b", "c"))
    >>> why.strongest(2)
    [('b', 8.6), ('c', 0.5)]
    >>> print(why)
    Row 7 scores 9.5, carried by b (8.6), c (0.5). 93% of its deviation from its context lies along ignored directions.
    """

    row: int
    score: float
    contributions: Floats
    exact: bool
    deviation: Floats
    ignored: float
    feature_names: tuple[str, ...]

    def strongest(self, n: int = 5) -> list[tuple[str, float]]:
        """Name the features that carried most, with their part of the score."""
        order = np.argsort(-self.contributions, kind="stable")[:n]
        return [(self.feature_names[place], float(self.contributions[place])) for place in order]

    def __str__(self) -> str:
        # Five names at most; those that carry less than a twentieth of the score say nothing.
        telling = [(name, part) for name, part in self.strongest() if part > 0.05 * abs(self.score)]
        carried = ", ".join(f"{name} ({part:.3g})" for name, part in telling) or "no single feature"
        how = "carried by" if self.exact else "falls most without"
        return (
            f"Row {self.row} scores {self.score:.3g}, {how} {carried}. "
            f"{100 * self.ignored:.3g}% of its deviation from its context lies along ignored directions."
        )


def explain(
    watch: Watch,
    X: ArrayLike,
    rows: Sequence[int] | Sequence[Alarm],
    *,
    groups: Sequence[Sequence[int]] | None = None,
    feature_names: Sequence[str] | None = None,
) -> list[Explanation]:
    """Say why rows were flagged.

    Parameters
    ----------
    watch : FocusDetector
        Fitted, with a linear `Focus` in front.
    X : (n, d) array
        The set that was scored: it also says what is usual, the median of its rows.
    rows : sequence of int or of Alarm
        Which rows to explain; of an alarm, its peak.
    groups : sequence of sequences of int, optional
        Features to occlude together, such as the pixels of a patch; they share what they carry. For detectors that know
        their parts it is not needed.
    feature_names : sequence of str, optional
        By default those that the detector was fitted with, or x0, x1, ….

    Examples
    --------
    >>> from undistract import Focus
    >>> from undistract.detect import FocusDetector
    >>> rng = np.random.default_rng(0)
    >>> days = np.repeat(np.arange(20), 60)
    >>> light = np.linspace(-30, 30, 8)
    >>> X = rng.normal(size=(20, 8))[days] + rng.normal(size=(1200, 8)) + rng.normal(size=(1200, 1)) * light
    >>> watch = FocusDetector(Focus()).fit(X, sets=days)
    >>> today = X[:60] + 0.0
    >>> today[7] += 2 * light + [0, 0, 0, 9, 0, 0, 0, 0]
    >>> print(explain(watch, today, [7])[0])
    Row 7 scores 9.45, carried by x3 (8.63). 97.1% of its deviation from its context lies along ignored directions.
    """
    context = as_rows(X, "X").astype(np.float64)
    chosen = np.array([one.peak if isinstance(one, Alarm) else one for one in rows], dtype=np.int64)
    if len(chosen) == 0:
        return []
    if not (chosen.min() >= 0 and chosen.max() < len(context)):
        raise InputError(f"rows go from {chosen.min()} to {chosen.max()}, but X has rows 0 to {len(context) - 1}.")
    names = _names(watch, context.shape[1], feature_names)
    # Half of it, twice: the mean of two values at 1e308 is one of them, their sum is none.
    deviations = context[chosen] - 2 * np.median(context / 2, axis=0)  # (r, d)
    ignored = _projection(watch).ignored_share(deviations)
    exact = hasattr(watch.detector_, "parts")
    if exact:
        scores, contributions = _from_parts(watch, context, chosen)
    else:
        scores, contributions = _by_occlusion(watch, context, chosen, deviations, groups)
    return [
        Explanation(
            int(row), float(scores[place]), contributions[place], exact, deviations[place], float(ignored[place]), names
        )
        for place, row in enumerate(chosen)
    ]


def _from_parts(watch: Watch, context: Floats, chosen: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Read contributions off the detector: its score is a sum of products in projected features."""
    Z = watch.focus_.transform(context)
    if watch.adapt:
        scorer = clone(watch.detector_).fit(Z)
        displacements, duals = scorer.parts(Z[chosen], own=chosen)
    else:
        displacements, duals = watch.detector_.parts(Z[chosen])  # (r, k, z) each
    n_rows, n_parts, width = displacements.shape
    projection = _projection(watch)
    moved = projection.lift(displacements.reshape(-1, width)).reshape(n_rows, n_parts, -1)
    read = projection.pull(duals.reshape(-1, width)).reshape(n_rows, n_parts, -1)
    contributions = (moved * read).sum(axis=1)
    return contributions.sum(axis=1), contributions


def _by_occlusion(
    watch: Watch,
    context: Floats,
    chosen: NDArray[np.int64],
    deviations: Floats,
    groups: Sequence[Sequence[int]] | None,
) -> tuple[Floats, Floats]:
    """Put one group of features after the other back to what is usual, and see the score fall."""
    parts = (
        [np.asarray(group, dtype=np.int64) for group in groups] if groups else [*np.arange(context.shape[1])[:, None]]
    )
    width = context.shape[1]
    if any(len(group) == 0 or not (group.min() >= 0 and group.max() < width) for group in parts):
        raise InputError(f"groups hold nothing, or features that X has not; give features from 0 to {width - 1}.")
    scores, contributions = np.empty(len(chosen)), np.zeros((len(chosen), width))
    for place, row in enumerate(chosen):
        variants = np.repeat(context[row][None, :], len(parts) + 1, axis=0)  # the row itself stays last
        for number, group in enumerate(parts):
            variants[number, group] -= deviations[place, group]
        found = _scores_of(watch, context, int(row), variants)
        scores[place] = found[-1]
        for number, group in enumerate(parts):
            contributions[place, group] = (found[-1] - found[number]) / len(group)
    return scores, contributions


def _scores_of(watch: Watch, context: Floats, row: int, variants: Floats) -> Floats:
    if not watch.adapt:
        return watch.anomaly_score(variants)
    # The context defines what is strange: each variant takes the row's place in it.
    scores = np.empty(len(variants))
    for number, variant in enumerate(variants):
        replaced = context.copy()
        replaced[row] = variant
        scores[number] = watch.anomaly_score(replaced)[row]
    return scores


def _projection(watch: Watch) -> Any:
    projection = getattr(watch.focus_, "projection_", None)
    if projection is None:
        raise InputError(
            f"{type(watch.focus_).__name__} removes no straight directions of the features, so that nobody can say how "
            "much of a deviation it ignored. Explain the alarms of a detector behind a Focus."
        )
    return projection


def _names(watch: Watch, n_features: int, given: Sequence[str] | None) -> tuple[str, ...]:
    known = given if given is not None else getattr(watch, "feature_names_in_", None)
    names = tuple(f"x{place}" for place in range(n_features)) if known is None else tuple(map(str, known))
    if len(names) != n_features:
        raise InputError(f"feature_names has {len(names)} names for {n_features} features.")
    return names
