"""A sample: a few rows of a set, each as likely as any other, taken while the set is read (Vitter, 1985)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from undistract.arrays import Rows
from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet


class Sample:
    """Keeps at most `size` rows of what streams by, in the order in which they came.

    Examples
    --------
    >>> sample = Sample(3, np.random.default_rng(0))
    >>> watched = sample.watch(FeatureSet("day", np.arange(10.0)[:, None]))
    >>> sum(len(chunk) for chunk in watched.chunks())  # the same rows as before
    10
    >>> len(sample.rows)
    3
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng = size, rng
        self._n_seen = 0
        self._kept: list[tuple[float, int, Rows]] = []  # (key, place, row); the largest keys stay

    @property
    def rows(self) -> Rows:
        """The rows kept so far, (k, d)."""
        return np.array([row for _, _, row in sorted(self._kept, key=lambda one: one[1])])

    def watch(self, one: FeatureSet) -> FeatureSet:
        """Return the same set; when it is read, the sample is taken anew."""
        return FeatureSet.reading(
            one.name, lambda: self._watched(one), source=one.source, feature_names=one.feature_names
        )

    def _watched(self, one: FeatureSet) -> Iterator[Rows]:
        self._n_seen, self._kept = 0, []
        for chunk in one.chunks():
            self.add(chunk)
            yield chunk

    def add(self, chunk: Rows) -> None:
        """Let some more rows of the set pass by."""
        keys = self._rng.random(len(chunk))
        least = min((key for key, _, _ in self._kept), default=0.0) if len(self._kept) >= self._size else 0.0
        for place in np.flatnonzero(keys >= least).tolist():
            self._kept.append((float(keys[place]), self._n_seen + place, np.array(chunk[place])))
        self._kept = sorted(self._kept, key=lambda kept: -kept[0])[: self._size]
        self._n_seen += len(chunk)

    def state(self) -> dict[str, Any]:
        """Give all that is needed to go on later, as plain values and arrays."""
        keys, places, rows = zip(*self._kept, strict=True) if self._kept else ((), (), ())
        return {
            "n_seen": self._n_seen,
            "keys": np.array(keys, dtype=np.float64),
            "places": np.array(places, dtype=np.int64),
            "rows": np.array(rows) if rows else np.empty((0, 0)),
        }

    @classmethod
    def resumed(cls, size: int, rng: np.random.Generator, state: Mapping[str, Any]) -> Self:
        """Go on where a sample with the same seed was, as if there had been no break.

        Examples
        --------
        >>> rows = np.arange(20.0)[:, None]
        >>> whole, first = (Sample(3, np.random.default_rng(0)) for _ in range(2))
        >>> whole.add(rows[:12]), whole.add(rows[12:]), first.add(rows[:12])
        (None, None, None)
        >>> second = Sample.resumed(3, np.random.default_rng(0), first.state())
        >>> second.add(rows[12:])
        >>> bool((second.rows == whole.rows).all())
        True
        """
        sample = cls(size, rng)
        sample._n_seen = int(state["n_seen"])
        # One number was drawn for every row.
        rng.bit_generator.advance(sample._n_seen)  # type: ignore[attr-defined]
        kept = zip(state["keys"].tolist(), state["places"].tolist(), state["rows"], strict=True)
        sample._kept = list(kept)
        return sample


def samples_for(n_sets: int, n_known: int, seed: int = 0) -> Callable[[int], Sample]:
    """Return what makes the sample of set number n, so that all of them together hold at most `n_known` rows.

    The sample of a set depends on its number and its rows alone, not on who reads it, or when.

    Examples
    --------
    >>> sample = samples_for(n_sets=2, n_known=10)(1)
    >>> rows = sample.watch(FeatureSet("day", np.arange(10.0)[:, None])).rows
    >>> len(sample.rows)
    5
    """
    if n_known < 2 * max(n_sets, 1):
        raise InputError(f"n_known is {n_known} for {n_sets} sets; give at least two rows for each.")
    return partial(_sample, n_known // max(n_sets, 1), seed)


def _sample(size: int, seed: int, number: int) -> Sample:
    return Sample(size, np.random.default_rng([seed, number]))
