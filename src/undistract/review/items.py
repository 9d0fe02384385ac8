"""Review items: ranges of rows that people judge. An item keeps its index while its score changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from undistract._arrays import Floats
from undistract.detect import Scores, Threshold, find_alarms
from undistract.errors import InputError

# With fewer alarms, the strongest rows below the threshold are added, so that a review is never empty.
LEAST_ITEMS = 20
# More is beyond any reviewer; weaker alarms come back once the stronger ones are answered.
MOST_ITEMS = 5000

_ID = re.compile(r"(\d{1,9})-(\d{1,12})-(\d{1,12})")


class UnknownItemError(InputError):
    """The item, source or image does not exist."""


@dataclass(frozen=True, order=True)
class Item:
    """A range of rows of one source; a person sees its peak.

    Examples
    --------
    >>> Item(0, 120, 131, 125).id
    '0-120-131'
    """

    source: int
    start: int
    stop: int
    peak: int

    @property
    def id(self) -> str:
        """The id in URLs: digits and dashes only."""
        return f"{self.source}-{self.start}-{self.stop}"


def parse_item_id(name: str, scores: Sequence[Floats]) -> Item:
    """Parse an id such as ``0-120-131``; the peak is the row with the highest score.

    Examples
    --------
    >>> parse_item_id("0-1-3", [np.array([9.0, 1.0, 2.0])])
    Item(source=0, start=1, stop=3, peak=2)
    >>> parse_item_id("../secret", [])
    Traceback (most recent call last):
    ...
    undistract.review.items.UnknownItemError: There is no item '../secret'. An id is group-start-stop...
    """
    match = _ID.fullmatch(name)
    if match is None:
        raise UnknownItemError(f"There is no item {name!r:.60}. An id is group-start-stop, such as 0-120-131.")
    index, start, stop = map(int, match.groups())
    if index >= len(scores) or not start < stop <= len(scores[index]):
        raise UnknownItemError(f"There is no item {name!r:.60}: no such set, or no such rows in it.")
    values = np.nan_to_num(scores[index][start:stop], nan=-np.inf)
    return Item(index, start, stop, start + int(np.argmax(values)))


def find_items(scores: Sequence[Scores], threshold: Threshold | None, existing: Sequence[Item] = ()) -> list[Item]:
    """Return the items to review: the alarms, and with few alarms also the strongest other rows.

    Without a threshold there are only the strongest rows. A new item never overlaps those in `existing`.
    """
    covered = [np.zeros(len(track), dtype=bool) for track in scores]
    for item in existing:
        covered[item.source][item.start : item.stop] = True
    alarms: list[tuple[float, Item]] = []
    if threshold is not None:
        for index, track in enumerate(scores):
            for alarm in find_alarms(track, threshold):
                if not covered[index][alarm.start : alarm.stop].any():
                    alarms.append((alarm.score, Item(index, alarm.start, alarm.stop, alarm.peak)))
    alarms = sorted(alarms, key=lambda pair: (-pair[0], pair[1]))[: max(MOST_ITEMS - len(existing), 0)]
    items = [item for _, item in alarms]
    missing = LEAST_ITEMS - len(existing) - len(items)
    if missing > 0:
        for item in items:
            covered[item.source][item.start : item.stop] = True
        items += _strongest(scores, covered, missing)
    return items


def _strongest(scores: Sequence[Scores], covered: list[NDArray[np.bool_]], n: int) -> list[Item]:
    """Return the `n` strongest rows outside of the covered ranges, as items of one row."""
    candidates: list[tuple[float, int, int]] = []  # (-score, source, row): sorts as the strongest first
    for index, (track, mask) in enumerate(zip(scores, covered, strict=True)):
        values = np.where(mask | np.isnan(track.values), -np.inf, track.values)
        candidates += [(-values[row], index, row) for row in np.argsort(-values)[:n].tolist()]
    return [Item(index, row, row + 1, row) for value, index, row in sorted(candidates)[:n] if value < np.inf]
