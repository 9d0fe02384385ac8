"""Explain scores: the contribution of each feature, and the share of the deviation that the focus ignores.

    exact        score = Σ_k g_k · (z - z_k)  →  feature j contributes Σ_k pull(g_k)_j · lift(z - z_k)_j
    occlusion    feature j contributes score(x) - score(x with feature j at the median of its context)

The first is for detectors with a `decompose` method (distances, Mahalanobis); its contributions sum to the score. The
second is for any other detector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from undistract._arrays import Floats, as_rows
from undistract.detect.alarms import Alarm
from undistract.errors import InputError

if TYPE_CHECKING:
    from undistract.detect.focus_detector import FocusDetector


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contributions of the features to the score of one row.

    Parameters
    ----------
    row : int
        Index of the row in its source.
    score : float
    contributions : (d,) array
        The contribution of each original feature to the score. If `exact`, they sum to it.
    exact : bool
        Whether contributions come from the detector itself; else features were occluded one by one.
    deviation : (d,) array
        The row minus the median of its context.
    ignored : float
        The share of the deviation's squared length along ignored directions.
    feature_names : tuple of str

    Examples
    --------
    >>> deviation = np.array([1.0, 9.0, 0.1])
    >>> explanation = Explanation(7, 9.5, np.array([0.4, 8.6, 0.5]), True, deviation, 0.93, ("a", "b", "c"))
    >>> explanation.strongest(2)
    [('b', 8.6), ('c', 0.5)]
    >>> print(explanation)
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
        """Return the `n` features with the largest contributions, as (name, contribution)."""
        order = np.argsort(-self.contributions, kind="stable")[:n]
        return [(self.feature_names[index], float(self.contributions[index])) for index in order]

    def __str__(self) -> str:
        # At most five names; a feature with less than a twentieth of the score does not explain it.
        relevant = [(name, part) for name, part in self.strongest() if part > 0.05 * abs(self.score)]
        features = ", ".join(f"{name} ({part:.3g})" for name, part in relevant) or "no single feature"
        verb = "carried by" if self.exact else "falls most without"
        return (
            f"Row {self.row} scores {self.score:.3g}, {verb} {features}. "
            f"{100 * self.ignored:.3g}% of its deviation from its context lies along ignored directions."
        )


def explain(
    detector: FocusDetector,
    X: ArrayLike,
    rows: Sequence[int] | Sequence[Alarm],
    *,
    feature_groups: Sequence[Sequence[int]] | None = None,
    feature_names: Sequence[str] | None = None,
) -> list[Explanation]:
    """Explain the scores of rows.

    Parameters
    ----------
    detector : FocusDetector
        Fitted, with a linear `Focus`.
    X : (n, d) array
        All rows of the source that was scored. The median of these rows is the reference for deviations.
    rows : sequence of int or of Alarm
        The rows to explain; of an alarm, its peak.
    feature_groups : sequence of sequences of int, optional
        Features to occlude together, such as the pixels of a patch; their contribution is divided equally. Not used
        by detectors with exact contributions.
    feature_names : sequence of str, optional
        By default those that the detector was fitted with, or x0, x1, ….

    Examples
    --------
    >>> from undistract import FocusDetector
    >>> rng = np.random.default_rng(0)
    >>> days = np.repeat(np.arange(20), 60)
    >>> light = np.linspace(-30, 30, 8)
    >>> X = rng.normal(size=(20, 8))[days] + rng.normal(size=(1200, 8)) + rng.normal(size=(1200, 1)) * light
    >>> detector = FocusDetector().fit(X, groups=days)
    >>> today = X[:60] + 0.0
    >>> today[7] += 2 * light + [0, 0, 0, 9, 0, 0, 0, 0]
    >>> print(explain(detector, today, [7])[0])
    Row 7 scores 9.45, carried by x3 (8.63). 97.1% of its deviation from its context lies along ignored directions.
    """
    context = as_rows(X, "X").astype(np.float64)
    chosen = np.array([row.peak if isinstance(row, Alarm) else row for row in rows], dtype=np.int64)
    if len(chosen) == 0:
        return []
    if not (chosen.min() >= 0 and chosen.max() < len(context)):
        raise InputError(
            f"rows must be between 0 and {len(context) - 1}, the rows of X, got {chosen.min()} to {chosen.max()}."
        )
    names = _names(detector, context.shape[1], feature_names)
    # Halve first: the median of an even number of rows adds two values, and 1e308 + 1e308 overflows.
    deviations = context[chosen] - 2 * np.median(context / 2, axis=0)  # (r, d)
    ignored = _projection(detector).ignored_share(deviations)
    exact = hasattr(detector.detector_, "decompose")
    if exact:
        scores, contributions = _from_parts(detector, context, chosen)
    else:
        scores, contributions = _by_occlusion(detector, context, chosen, deviations, feature_groups)
    explanations = []
    for number, row in enumerate(chosen):
        explanations.append(
            Explanation(
                row=int(row),
                score=float(scores[number]),
                contributions=contributions[number],
                exact=exact,
                deviation=deviations[number],
                ignored=float(ignored[number]),
                feature_names=names,
            )
        )
    return explanations


def _from_parts(detector: FocusDetector, context: Floats, chosen: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return exact scores and contributions: the score is a sum of products in projected features.

    A product of a displacement and a dual vector there equals the sum over original features of lift(displacement)
    times pull(dual), because pull is the transpose of the map and lift its right inverse.
    """
    Z = detector.focus_.transform(context)
    scorer: Any = detector.detector_
    if detector.adapt:
        scorer = clone(scorer).fit(Z)
        displacements, duals = scorer.decompose(Z[chosen], self_index=chosen)
    else:
        displacements, duals = scorer.decompose(Z[chosen])  # (r, k, z) each
    n_rows, n_parts, width = displacements.shape
    projection = _projection(detector)
    lifted = projection.embed(displacements.reshape(-1, width)).reshape(n_rows, n_parts, -1)
    pulled = projection.pullback(duals.reshape(-1, width)).reshape(n_rows, n_parts, -1)
    contributions = (lifted * pulled).sum(axis=1)
    return contributions.sum(axis=1), contributions


def _by_occlusion(
    detector: FocusDetector,
    context: Floats,
    chosen: NDArray[np.int64],
    deviations: Floats,
    feature_groups: Sequence[Sequence[int]] | None,
) -> tuple[Floats, Floats]:
    """Return scores and contributions by setting one group of features after the other to the context's median."""
    width = context.shape[1]
    parts = list(np.arange(width)[:, None])
    if feature_groups:
        parts = [np.asarray(group, dtype=np.int64) for group in feature_groups]
    if any(len(group) == 0 or not (group.min() >= 0 and group.max() < width) for group in parts):
        raise InputError(f"feature_groups must each have at least one feature, with indices between 0 and {width - 1}.")
    scores = np.empty(len(chosen))
    contributions = np.zeros((len(chosen), width))
    for number, row in enumerate(chosen):
        variants = np.repeat(context[row][None, :], len(parts) + 1, axis=0)  # the last one is the row itself
        for part, group in enumerate(parts):
            variants[part, group] -= deviations[number, group]
        variant_scores = _scores_of(detector, context, int(row), variants)
        scores[number] = variant_scores[-1]
        for part, group in enumerate(parts):
            contributions[number, group] = (variant_scores[-1] - variant_scores[part]) / len(group)
    return scores, contributions


def _scores_of(detector: FocusDetector, context: Floats, row: int, variants: Floats) -> Floats:
    if not detector.adapt:
        return detector.anomaly_score(variants)
    # With `adapt` the detector is fitted on the context itself, so each variant replaces the row in it.
    scores = np.empty(len(variants))
    for number, variant in enumerate(variants):
        replaced = context.copy()
        replaced[row] = variant
        scores[number] = detector.anomaly_score(replaced)[row]
    return scores


def _projection(detector: FocusDetector) -> Any:
    projection = getattr(detector.focus_, "projection_", None)
    if projection is None:
        raise InputError(
            f"{type(detector.focus_).__name__} is not a linear map of the features, so the ignored share of a "
            "deviation is not defined. Explain a FocusDetector with a linear Focus."
        )
    return projection


def _names(detector: FocusDetector, n_features: int, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    if feature_names is None:
        feature_names = getattr(detector, "feature_names_in_", None)
    if feature_names is None:
        feature_names = [f"x{index}" for index in range(n_features)]
    names = tuple(map(str, feature_names))
    if len(names) != n_features:
        raise InputError(f"feature_names must have {n_features} names, one per feature, got {len(names)}.")
    return names
