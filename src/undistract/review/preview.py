"""Preview: the effect of a verdict before it is recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from undistract._arrays import Floats
from undistract._text import pluralize
from undistract.focus import Focus


@dataclass(frozen=True, eq=False)
class Preview:
    """The effect of a verdict on the items of a review.

    Parameters
    ----------
    resolved, new, weakened : arrays of indices
        Items that would no longer alarm, items that would start to, and confirmed anomalies that would score less.
    scores : (n,) array
        The score that each item would have.
    n_removed_before, n_removed_after : int
        The number of ignored directions.
    direction : (d,) array
        The part of the deviation of the reviewed row that would be removed in addition.

    Examples
    --------
    >>> none = np.array([], dtype=int)
    >>> print(Preview(np.array([3]), none, none, np.ones(4), 1, 2, np.ones(2)))
    1 alarm would vanish. 1 direction more would be ignored.
    """

    resolved: NDArray[np.intp]
    new: NDArray[np.intp]
    weakened: NDArray[np.intp]
    scores: Floats
    n_removed_before: int
    n_removed_after: int
    direction: Floats

    def __str__(self) -> str:
        sentences = []
        if len(self.resolved):
            sentences.append(f"{pluralize(len(self.resolved), 'alarm')} would vanish.")
        if len(self.new):
            sentences.append(f"{pluralize(len(self.new), 'alarm')} would appear.")
        if len(self.weakened) == 1:
            sentences.append("1 confirmed anomaly would weaken.")
        elif len(self.weakened):
            sentences.append(f"{len(self.weakened)} confirmed anomalies would weaken.")
        change = self.n_removed_after - self.n_removed_before
        if change > 0:
            sentences.append(f"{pluralize(change, 'direction')} more would be ignored.")
        elif change < 0:
            sentences.append(f"{pluralize(-change, 'direction')} fewer would be ignored.")
        return " ".join(sentences) or "Nothing would change."


def compare(
    items_before: tuple[Floats, NDArray[np.bool_]],
    items_after: tuple[Floats, NDArray[np.bool_]],
    confirmed: NDArray[np.bool_],
    focus_before: Focus,
    focus_after: Focus,
    deviation: Floats,
) -> Preview:
    """Compare the items before and after a verdict.

    The items are pairs: the score of each, and whether it alarms. `confirmed` marks the confirmed anomalies, and
    `deviation` (d,) is that of the reviewed row from its context.
    """
    scores, alarms = items_before
    new_scores, new_alarms = items_after
    # The additional removed part is the difference of what the two projections keep.
    kept_before = focus_before.projection_.kept_part(deviation[None, :])[0]
    kept_after = focus_after.projection_.kept_part(deviation[None, :])[0]
    return Preview(
        np.flatnonzero(alarms & ~new_alarms),
        np.flatnonzero(~alarms & new_alarms),
        np.flatnonzero(confirmed & decreased(scores, new_scores)),
        new_scores,
        focus_before.n_removed_,
        focus_after.n_removed_,
        kept_before - kept_after,
    )


def decreased(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Return which scores decreased by more than rounding.

    Examples
    --------
    >>> decreased(np.array([5.0, -5.0, 5.0]), np.array([4.0, -5.0, 5.0 - 1e-12])).tolist()
    [True, False, False]
    """
    lower: NDArray[np.bool_] = (after < before) & ~np.isclose(after, before, rtol=1e-9, atol=0.0)
    return lower
