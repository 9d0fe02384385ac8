"""Sums and samples of sets, in steps that can be written down: a break loses a few seconds, and counts no row twice.

    set ─► chunk ─► chunk ─► … (its sums, and the sample of its rows) ─► joined with the sets before it

Short sets wait for one another and are summed up together. Where they are joined depends on the rows alone, never on
the clock: with and without a break, the same numbers are added in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from undistract.algebra import Moments, SetMoments
from undistract.algebra.prior import Prior, Weights
from undistract.arrays import Rows, as_rows
from undistract.detect.sample import Sample
from undistract.errors import InputError
from undistract.progress import watched
from undistract.sets.feature_set import FeatureSet

# So many rows, or values, of short sets are summed up together.
BLOCK_ROWS, BLOCK_VALUES = 2**14, 2**21
SEED = 0


@dataclass
class Sums:
    """How far it is: whole sets, and of the next one the chunks that were read."""

    n_sets: int = 0
    total: Moments | None = None
    known: list[Rows] = field(default_factory=list)  # a sample of each whole set
    n_chunks: int = 0
    piece: SetMoments | None = None
    sample: Sample | None = None  # of the set at hand

    @property
    def moments(self) -> Moments:
        """Moments of all whole sets; there must be some."""
        assert self.total is not None
        return self.total


def sum_up(
    sets: Sequence[FeatureSet],
    *,
    prior: Weights = "uniform",
    n_known: int | None = None,
    start: Sums | None = None,
    keep: Callable[[Sums], None] = lambda _: None,
    progress: bool | None = False,
) -> Sums:
    """Sum up sets, and take a sample of each.

    Parameters
    ----------
    sets : sequence of FeatureSet
    prior : as in `Focus`
    n_known : int, optional
        How many rows the samples hold together, shared equally; None: no samples.
    start : Sums, optional
        Go on from there.
    keep : callable
        Is called wherever what was summed up could be written down.
    progress : bool or None

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=(50, 3))) for day in range(4)]
    >>> sums = sum_up(days, n_known=20)
    >>> sums.moments.n_rows, [len(rows) for rows in sums.known]
    (200, [5, 5, 5, 5])
    """
    _check_names(sets)
    if n_known is not None and n_known < 2 * len(sets):
        raise InputError(f"n_known is {n_known} for {len(sets)} sets; give at least two rows for each.")
    work = _Work(sets, _by_name(prior, sets), n_known, start or Sums(), keep)
    numbers = range(work.sums.n_sets, len(sets))
    for number in watched(numbers, total=len(numbers), what="Learning sets", progress=progress):
        work.add(number)
    work.join()
    return work.sums


class _Work:
    """The sums so far, and the short sets that wait to be joined."""

    def __init__(
        self,
        sets: Sequence[FeatureSet],
        prior: Weights,
        n_known: int | None,
        sums: Sums,
        keep: Callable[[Sums], None],
    ) -> None:
        self._sets, self._prior, self._n_known, self.sums, self._keep = sets, prior, n_known, sums, keep
        self._waiting: list[tuple[Any, Rows]] = []
        self._samples: list[Rows] = []  # of the sets that wait

    def add(self, number: int) -> None:
        """Read one set to its end."""
        one, sums = self._sets[number], self.sums
        # Chunks that were summed up before a break are passed over.
        rows = islice(one.chunks(), sums.n_chunks, None)
        chunks = (as_rows(chunk, f"Set {one.name!r}") for chunk in rows)
        sample = sums.sample or sample_of(number, len(self._sets), self._n_known)
        first: Rows | None = None
        if sums.piece is None:
            first = next(chunks, None)
            if first is None:
                raise InputError(f"Set {one.name!r} is empty: it gave no rows. Leave it out, or give it rows.")
            _add(sample, first)
        for chunk in chunks:
            if sums.piece is None:
                # A long one: those before it are joined now, so that what is written down holds no rows that wait.
                self.join()
                sums.piece, sums.n_chunks = SetMoments.of(first), 1
            _add(sample, chunk)
            sums.piece, sums.n_chunks, sums.sample = sums.piece + SetMoments.of(chunk), sums.n_chunks + 1, sample
            self._keep(sums)
        self._samples += [] if sample is None else [sample.rows]
        if sums.piece is not None:
            whole, sums.piece, sums.n_chunks, sums.sample = sums.piece, None, 0, None
            self._join([(one.name, whole)])
        elif first is not None:
            self._waiting.append((one.name, first))
            n_rows = sum(len(rows) for _, rows in self._waiting)
            if n_rows >= BLOCK_ROWS or n_rows * first.shape[1] >= BLOCK_VALUES:
                self.join()

    def join(self) -> None:
        """Join the short sets that wait."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._join(waiting)

    def _join(self, sets: list[tuple[Any, Any]]) -> None:
        sums, more = self.sums, Moments.of(sets, self._prior)
        sums.total = more if sums.total is None else sums.total + more
        sums.known += self._samples
        sums.n_sets, self._samples = sums.n_sets + len(sets), []
        self._keep(sums)


def sample_of(number: int, n_sets: int, n_known: int | None, state: Mapping[str, Any] | None = None) -> Sample | None:
    """Make the sample of one set, or go on with it; the same as `FocusDetector.fit_sets` takes."""
    if n_known is None:
        return None
    size, rng = n_known // n_sets, np.random.default_rng([SEED, number])
    return Sample(size, rng) if state is None else Sample.resumed(size, rng, state)


def _add(sample: Sample | None, chunk: Rows) -> None:
    if sample is not None:
        sample.add(chunk)


def _check_names(sets: Sequence[FeatureSet]) -> None:
    seen = set()
    for one in sets:
        if one.name in seen:
            raise InputError(f"Set {one.name!r} comes twice. Give every set a name of its own.")
        seen.add(one.name)


def _by_name(prior: Weights, sets: Sequence[FeatureSet]) -> Weights:
    """Weights in order become weights by name: sets are joined a few at a time."""
    if isinstance(prior, str) or hasattr(prior, "keys"):
        return prior
    Prior.of(prior).check_length(len(sets))
    return dict(zip((one.name for one in sets), prior, strict=True))
