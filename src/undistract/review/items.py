"""Items: what people are asked about. A stretch of rows keeps its place while its score changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from undistract.arrays import Floats
from undistract.detect import Scores, Threshold, find_alarms
from undistract.errors import InputError

# Fewer alarms than this are filled up with the strongest rows below the threshold: there is something to look at.
LEAST_ITEMS = 20
# Nobody looks at more; the weaker ones are found again when the stronger ones are answered.
MOST_ITEMS = 5000

_ID = re.compile(r"(\d{1,9})-(\d{1,12})-(\d{1,12})")


class UnknownItemError(InputError):
    """There is no such item, set or picture."""

    status = 404


@dataclass(frozen=True, order=True)
class Item:
    """A stretch of rows of one set; a person sees its peak.

    Examples
    --------
    >>> Item(0, 120, 131, 125).id
    '0-120-131'
    """

    set: int
    start: int
    stop: int
    peak: int

    @property
    def id(self) -> str:
        """Its name in addresses: digits and dashes only."""
        return f"{self.set}-{self.start}-{self.stop}"


def item_of(name: str, scores: Sequence[Floats]) -> Item:
    """Find the stretch that an id names, in a set's scores; its peak is the strongest row.

    Examples
    --------
    >>> item_of("0-1-3", [np.array([9.0, 1.0, 2.0])])
    Item(set=0, start=1, stop=3, peak=2)
    >>> item_of("../secret", [])
    Traceback (most recent call last):
    ...
    undistract.review.items.UnknownItemError: There is no item '../secret'. An item is named set-start-stop...
    """
    found = _ID.fullmatch(name)
    if found is None:
        raise UnknownItemError(f"There is no item {name!r:.60}. An item is named set-start-stop, such as 0-120-131.")
    which, start, stop = map(int, found.groups())
    if which >= len(scores) or not start < stop <= len(scores[which]):
        raise UnknownItemError(f"There is no item {name!r:.60}: no such set, or no such rows in it.")
    stretch = np.nan_to_num(scores[which][start:stop], nan=-np.inf)
    return Item(which, start, stop, start + int(np.argmax(stretch)))


def find_items(scores: Sequence[Scores], threshold: Threshold | None, known: Sequence[Item] = ()) -> list[Item]:
    """Find what to ask about: the alarms, and the strongest other rows where alarms are few.

    Parameters
    ----------
    scores : sequence of Scores
        One for each set.
    threshold : Threshold, optional
        None: the strongest rows alone.
    known : sequence of Item
        Kept as they are; a new one never overlaps them.

    Examples
    --------
    >>> found = find_items([Scores("day", [1.0, 9.0, 2.0])], None)
    >>> [item.id for item in found]
    ['0-1-2', '0-2-3', '0-0-1']
    """
    taken = [np.zeros(len(one), dtype=bool) for one in scores]
    for item in known:
        taken[item.set][item.start : item.stop] = True
    alarms = [
        (alarm.score, Item(place, alarm.start, alarm.stop, alarm.peak))
        for place, one in enumerate(scores)
        for alarm in (find_alarms(one, threshold) if threshold is not None else ())
        if not taken[place][alarm.start : alarm.stop].any()
    ]
    alarms = sorted(alarms, key=lambda pair: (-pair[0], pair[1]))[: max(MOST_ITEMS - len(known), 0)]
    found = [item for _, item in alarms]
    missing = LEAST_ITEMS - len(known) - len(found)
    if missing > 0:
        for item in found:
            taken[item.set][item.start : item.stop] = True
        found += _strongest(scores, taken, missing)
    return found


def _strongest(scores: Sequence[Scores], taken: list[NDArray[np.bool_]], n: int) -> list[Item]:
    free = [np.where(mask | np.isnan(one.values), -np.inf, one.values) for one, mask in zip(scores, taken, strict=True)]
    pairs = [
        (-values[row], place, row) for place, values in enumerate(free) for row in np.argsort(-values)[:n].tolist()
    ]
    return [Item(place, row, row + 1, row) for value, place, row in sorted(pairs)[:n] if value < np.inf]
