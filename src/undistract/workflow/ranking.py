"""The ranking: what the model thinks of every item now. A frozen value; each verdict makes the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from undistract.arrays import Floats, Rows
from undistract.detect import Scores, Threshold
from undistract.focus import Focus
from undistract.review.items import Item, find_items
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.model import Model
from undistract.workflow.scoring import score

# A long alarm is judged by its strongest rows at first; the others follow with the whole set.
ROWS_OF_ITEM = 20


@dataclass(frozen=True, eq=False)
class Ranking:
    """Scores of all rows, and of the items among them, under one model.

    Examples
    --------
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3))) for day in range(9)]
    >>> ranking = Ranking.of(learn(days[:8]), days[8:])
    >>> values, over = ranking.of_items()
    >>> len(ranking.items), bool((values[0] >= values[1:]).all())
    (20, True)
    """

    model: Model
    sets: tuple[FeatureSet, ...]
    scores: tuple[Scores, ...]
    items: tuple[Item, ...]
    adapt: bool

    @classmethod
    def of(
        cls, model: Model, sets: Sequence[FeatureSet], *, adapt: bool = False, items: Sequence[Item] = ()
    ) -> Ranking:
        """Score every row, and find what to ask about besides the items that are known."""
        adapt = adapt or isinstance(model.watch, Focus)
        found = tuple(one.after for one in score(sets, model, adapt=adapt, now=0.0))
        return cls.of_scores(model, sets, found, adapt=adapt, items=items)

    @classmethod
    def of_scores(
        cls,
        model: Model,
        sets: Sequence[FeatureSet],
        scores: tuple[Scores, ...],
        *,
        adapt: bool,
        items: Sequence[Item] = (),
    ) -> Ranking:
        """Take scores that are there already."""
        threshold = None if adapt else model.threshold
        return cls(model, tuple(sets), scores, (*items, *find_items(scores, threshold, items)), adapt)

    @property
    def threshold(self) -> Threshold | None:
        """From where on a row alarms; None where sets are judged by their own rows."""
        return None if self.adapt else self.model.threshold

    def under(self, model: Model) -> Ranking:
        """Rank the items under another model, quickly: only their own rows are scored anew."""
        if self.adapt:
            return Ranking.of(model, self.sets, adapt=True, items=self.items)
        values = [np.array(one.values) for one in self.scores]
        for place, rows in self._rows_of_items().items():
            one = self.sets[place]
            values[place][rows] = model.anomaly_score(one.rows[rows], context=one.name)
        scores = tuple(Scores(one.name, new, one.times) for one, new in zip(self.scores, values, strict=True))
        return replace(self, model=model, scores=scores)

    def whole(self) -> Ranking:
        """Score every row under the model, and look for new items."""
        return Ranking.of(self.model, self.sets, adapt=self.adapt, items=self.items)

    def of_items(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the score of each item, that of its strongest row, and whether it alarms."""
        values = np.array([self._strongest(item) for item in self.items])
        if self.threshold is None:
            return values, np.zeros(len(values), dtype=bool)
        over = [_alarms(self.threshold, one) for one in self.scores]
        alarms = np.array([over[item.set][item.start : item.stop].any() for item in self.items], dtype=bool)
        return values, alarms

    def _strongest(self, item: Item) -> float:
        stretch = self.scores[item.set].values[item.start : item.stop]
        return float(np.nanmax(stretch)) if not np.isnan(stretch).all() else float("-inf")

    def _rows_of_items(self) -> dict[int, NDArray[np.intp]]:
        chosen: dict[int, list[Rows]] = {}
        for item in self.items:
            stretch = self.scores[item.set].values[item.start : item.stop]
            strongest = np.argsort(-np.nan_to_num(stretch, nan=-np.inf), kind="stable")[:ROWS_OF_ITEM]
            chosen.setdefault(item.set, []).append(np.append(strongest + item.start, item.peak))
        return {place: np.unique(np.concatenate(rows)) for place, rows in chosen.items()}


def _alarms(threshold: Threshold, scores: Scores) -> NDArray[np.bool_]:
    if np.isnan(scores.values).all():
        return np.zeros(len(scores), dtype=bool)
    return threshold.alarms(scores)
