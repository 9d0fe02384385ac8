"""Rankings: the scores of all review items under one model. A frozen value; each verdict leads to a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from undistract._arrays import Floats, Rows
from undistract.detect import Scores, Threshold
from undistract.focus import Focus
from undistract.pipeline.model import Model
from undistract.pipeline.scoring import score
from undistract.review.items import Item, find_items
from undistract.sources.source import Source

# For a quick update, only the strongest rows of a long alarm are scored; the full update follows.
ROWS_OF_ITEM = 20


@dataclass(frozen=True, eq=False)
class Ranking:
    """Scores of all rows and of the review items under one model."""

    model: Model
    sources: tuple[Source, ...]
    scores: tuple[Scores, ...]
    items: tuple[Item, ...]
    adapt: bool

    @classmethod
    def from_sources(
        cls, model: Model, sources: Sequence[Source], *, adapt: bool = False, items: Sequence[Item] = ()
    ) -> Ranking:
        """Score all rows, and look for new items in addition to `items`."""
        adapt = adapt or isinstance(model.detector, Focus)
        scores = tuple(result.after for result in score(sources, model, adapt=adapt, now=0.0))
        return cls.from_scores(model, sources, scores, adapt=adapt, items=items)

    @classmethod
    def from_scores(
        cls,
        model: Model,
        sources: Sequence[Source],
        scores: tuple[Scores, ...],
        *,
        adapt: bool,
        items: Sequence[Item] = (),
    ) -> Ranking:
        """Create a ranking from existing scores."""
        threshold = None if adapt else model.threshold
        return cls(model, tuple(sources), scores, (*items, *find_items(scores, threshold, items)), adapt)

    @property
    def threshold(self) -> Threshold | None:
        """The alarm threshold; None if sources are scored by their own rows."""
        return None if self.adapt else self.model.threshold

    def rescore(self, model: Model) -> Ranking:
        """Rescore only the rows that belong to review items."""
        if self.adapt:
            return Ranking.from_sources(model, self.sources, adapt=True, items=self.items)
        values = [scores.values.copy() for scores in self.scores]
        for index, rows in self._item_rows().items():
            source = self.sources[index]
            values[index][rows] = model.anomaly_score(source.rows[rows], context=source.name)
        rescored = tuple(
            Scores(scores.name, new, scores.times) for scores, new in zip(self.scores, values, strict=True)
        )
        return replace(self, model=model, scores=rescored)

    def rescore_all(self) -> Ranking:
        """Rescore all rows, and look for new items."""
        return Ranking.from_sources(self.model, self.sources, adapt=self.adapt, items=self.items)

    def item_scores(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the score of each item, which is that of its strongest row, and whether it alarms."""
        values = np.array([self._strongest(item) for item in self.items])
        if self.threshold is None:
            return values, np.zeros(len(values), dtype=bool)
        row_alarms = []
        for scores in self.scores:
            if np.isnan(scores.values).all():
                row_alarms.append(np.zeros(len(scores), dtype=bool))
            else:
                row_alarms.append(self.threshold.alarms(scores))
        alarms = np.array([row_alarms[item.source][item.start : item.stop].any() for item in self.items], dtype=bool)
        return values, alarms

    def _strongest(self, item: Item) -> float:
        values = self.scores[item.source].values[item.start : item.stop]
        return float(np.nanmax(np.append(values, -np.inf)))  # -inf if all rows are missing

    def _item_rows(self) -> dict[int, NDArray[np.intp]]:
        """Return the strongest rows of all items, by index of the source."""
        rows: dict[int, list[Rows]] = {}
        for item in self.items:
            values = self.scores[item.source].values[item.start : item.stop]
            strongest = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:ROWS_OF_ITEM]
            rows.setdefault(item.source, []).append(np.append(strongest + item.start, item.peak))
        return {index: np.unique(np.concatenate(arrays)) for index, arrays in rows.items()}
