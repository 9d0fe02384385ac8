"""Reservoir sample: a uniform random sample of a source's rows, taken while the source is read (Vitter, 1985)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from undistract._arrays import Rows
from undistract.errors import InputError
from undistract.sources.source import Source


class ReservoirSample:
    """Sample at most `size` rows of a stream; the sample keeps the order of the rows.

    Examples
    --------
    >>> sample = ReservoirSample(3, np.random.default_rng(0))
    >>> source = sample.watch(Source("day", np.arange(10.0)[:, None]))
    >>> sum(len(chunk) for chunk in source.chunks())  # passes on all rows
    10
    >>> len(sample.rows)
    3
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size = size
        self._rng = rng
        self._n_seen = 0
        # Every row gets a random key; the `size` rows with the largest keys are a uniform sample.
        self._entries: list[tuple[float, int, Rows]] = []  # (key, row number, row)

    @property
    def rows(self) -> Rows:
        """The sampled rows so far, (k, d)."""
        return np.array([row for _, _, row in sorted(self._entries, key=lambda entry: entry[1])])

    def watch(self, source: Source) -> Source:
        """Return the same source; each time it is read, the sample is taken again."""
        return Source.from_reader(
            source.name, lambda: self._sampled_chunks(source), origin=source.origin, feature_names=source.feature_names
        )

    def _sampled_chunks(self, source: Source) -> Iterator[Rows]:
        self._n_seen = 0
        self._entries = []
        for chunk in source.chunks():
            self.add(chunk)
            yield chunk

    def add(self, chunk: Rows) -> None:
        """Sample from more rows of the source."""
        keys = self._rng.random(len(chunk))
        smallest = 0.0
        if len(self._entries) >= self._size:
            smallest = min((key for key, _, _ in self._entries), default=0.0)
        for index in np.flatnonzero(keys >= smallest).tolist():
            self._entries.append((float(keys[index]), self._n_seen + index, np.array(chunk[index])))
        self._entries = sorted(self._entries, key=lambda entry: -entry[0])[: self._size]
        self._n_seen += len(chunk)


def make_samplers(n_groups: int, n_known: int, seed: int = 0) -> Callable[[int], ReservoirSample]:
    """Return a function that makes the sample of source number n; all samples together have at most `n_known` rows.

    The sample of a source depends only on its number and its rows, not on the process that reads it.

    Examples
    --------
    >>> sample = make_samplers(n_groups=2, n_known=10)(1)
    >>> rows = sample.watch(Source("day", np.arange(10.0)[:, None])).rows
    >>> len(sample.rows)
    5
    """
    if n_known < 2 * max(n_groups, 1):
        raise InputError(f"n_known must be at least two rows per source, got {n_known} for {n_groups} sources.")
    return partial(_sample, n_known // max(n_groups, 1), seed)


def _sample(size: int, seed: int, number: int) -> ReservoirSample:
    return ReservoirSample(size, np.random.default_rng([seed, number]))
