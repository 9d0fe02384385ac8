"""Preview: what a verdict would change, seen before it is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from undistract.arrays import Floats
from undistract.focus import Focus


@dataclass(frozen=True, eq=False)
class Preview:
    """What would change.

    Parameters
    ----------
    vanish, appear, weaken : arrays of places
        Items that would no longer alarm, that would alarm anew, and confirmed anomalies that would score less.
    then : (n,) array
        The score that each item would have.
    removed, removed_then : int
        How many directions are ignored now, and would be.
    direction : (d,) array
        What would be taken out of the row that was looked at, beyond what is now.
    """

    vanish: NDArray[np.intp]
    appear: NDArray[np.intp]
    weaken: NDArray[np.intp]
    then: Floats
    removed: int
    removed_then: int
    direction: Floats

    @property
    def places(self) -> tuple[NDArray[np.intp], ...]:
        """The items that would vanish, appear and weaken."""
        return self.vanish, self.appear, self.weaken

    @property
    def words(self) -> str:
        """Say it in one or two sentences.

        Examples
        --------
        >>> none = np.array([], dtype=int)
        >>> Preview(np.array([3]), none, none, np.ones(4), 1, 2, np.ones(2)).words
        '1 alarm would vanish. 1 direction more would be ignored.'
        """
        told = [
            f"{_count(len(some), noun)} would {verb}."
            for some, noun, verb in (
                (self.vanish, "alarm", "vanish"),
                (self.appear, "alarm", "appear"),
                (self.weaken, "confirmed anomaly", "weaken"),
            )
            if len(some)
        ]
        more = self.removed_then - self.removed
        if more:
            told.append(f"{_count(abs(more), 'direction')} {'more' if more > 0 else 'fewer'} would be ignored.")
        return " ".join(told) or "Nothing would change."


def compare(
    now: tuple[Floats, NDArray[np.bool_]],
    then: tuple[Floats, NDArray[np.bool_]],
    confirmed: NDArray[np.bool_],
    focuses: tuple[Focus, Focus],
    deviation: Floats,
) -> Preview:
    """Compare items now and then.

    Parameters
    ----------
    now, then : pairs of arrays
        The score of each item, and whether it alarms.
    confirmed : array of bool
        Which items are confirmed anomalies.
    focuses : pair of Focus
        What is ignored now, and would be then.
    deviation : (d,) array
        Of the row that is looked at, from its context.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)]
    >>> focuses = Focus(n_remove=0).fit_sets(sets), Focus(n_remove=1).fit_sets(sets)
    >>> none, all_three = np.zeros(3, dtype=bool), np.ones(3, dtype=bool)
    >>> found = compare((np.ones(3), all_three), (np.zeros(3), none), none, focuses, np.array([0.0, 5.0, 0.0, 1.0]))
    >>> found.vanish.tolist(), found.direction.round(1) + 0.0
    ([0, 1, 2], array([0., 5., 0., 0.]))
    """
    (scores, alarms), (later, alarms_later) = now, then
    kept_now, kept_then = (focus.projection_.visible(deviation[None, :])[0] for focus in focuses)
    return Preview(
        np.flatnonzero(alarms & ~alarms_later),
        np.flatnonzero(~alarms & alarms_later),
        np.flatnonzero(confirmed & fell(scores, later)),
        later,
        focuses[0].n_removed_,
        focuses[1].n_removed_,
        kept_now - kept_then,
    )


def fell(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Tell which scores fell; what falls by rounding has not.

    Examples
    --------
    >>> fell(np.array([5.0, -5.0, 5.0]), np.array([4.0, -5.0, 5.0 - 1e-12])).tolist()
    [True, False, False]
    """
    lower: NDArray[np.bool_] = (after < before) & ~np.isclose(after, before, rtol=1e-9, atol=0.0)
    return lower


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
