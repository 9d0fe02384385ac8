"""Sketched moments: approximate moments of many rows with many features, in O(size · d) memory.

    within  ≈ BᵀB,  between ≈ GᵀG          each a Frequent Directions sketch of at most 2 · size rows

Rows of a group enter as √(w/n) (x - μ_m), group means as √w (μ_m - μ). The counts, the mean and the variance of every
feature within and between groups are exact. With at most 2 · size groups, all of `between` is exact.

The spectrum is computed in the row space of the two sketches, without any d × d matrix:

    (BᵀB + α I) · f = λ · (BᵀB + GᵀG + (α + ε) I) · f          α = dropped / 2

`within` is between BᵀB and BᵀB + dropped · I, and the middle of the two has half the maximal error of either. On real
data (benchmarks/sketch_error.py) adding half or all of `dropped` works equally well, and adding none is far worse. In
odds λ/(1-λ):

    (odds - dropped/2ε) / (1 + dropped_between/ε)  ≤  odds of all rows  ≤  max(odds, dropped/2ε) + dropped/2ε

where odds are those of the sketch. In directions without rows in either sketch they are dropped/2ε.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh, qr, svd
from scipy.linalg.blas import dsyrk

from undistract._arrays import TINY, Floats, Ints, Rows, check_range, check_same_n_features, ignore_fp_warnings
from undistract.algebra.evidence import AUTOMATIC_CUTOFF, GAP_MIN_DISTRACTION, Evidence, debiased_distraction
from undistract.algebra.groups import Prior, Weights, duplicate_group_error
from undistract.algebra.moments import GroupMoments, Moments, WeightedGroups, iter_rows
from undistract.algebra.scatter import chan_factors
from undistract.algebra.selection import Selection, select_directions
from undistract.algebra.solvers import Eigenpairs
from undistract.algebra.spectrum import (
    DEFAULT_RIDGE,
    DenseDirections,
    Spectrum,
    check_enough_groups,
    check_ridge,
    ridge_epsilon,
)
from undistract.errors import InputError

SIZE = 256
# Convert rows to float64 and centre them in blocks of this many values.
BLOCK_VALUES = 2**22
# Share of `dropped` that is added to the within-group covariance.
COMPENSATION = 0.5


@dataclass(frozen=True, eq=False)
class FrequentDirections:
    """Σ x xᵀ, approximated by at most 2 · size rows (Liberty, 2013); sketches of equal size join with ``+``.

        BᵀB  ≤  Σ x xᵀ  ≤  BᵀB + dropped · I          dropped ≤ (mass - ‖B‖²) / (size + 1) ≤ mass / (size + 1)

    Rows are collected until there are 2 · size of them. They are then rotated into orthogonal rows, and the squared
    length of row number size + 1 is subtracted from all. Each such step removes at least size + 1 times as much mass
    (the sum of all squares) as it adds to the error. Therefore the bound holds for any order of rows, and for sums of
    sketches (Ghashami, Liberty, Phillips and Woodruff, 2016).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 40)) * 0.8 ** np.arange(40)
    >>> sketch = FrequentDirections.of([X], size=10, n_features=40)
    >>> error = np.linalg.eigvalsh(X.T @ X - sketch.rows.T @ sketch.rows)
    >>> bool(error[0] > -1e-9), bool(error[-1] <= sketch.dropped <= sketch.bound)
    (True, True)
    """

    size: int
    rows: Floats  # (at most 2 · size, d) B
    dropped: float  # upper bound of the error in any direction
    mass: float  # Σ |x|², exact

    @classmethod
    def of(cls, blocks: Iterable[Floats], size: int, n_features: int) -> FrequentDirections:
        """Sketch blocks of rows, (n, d) each."""
        builder = _Builder(size, n_features)
        for block in blocks:
            builder.add(block)
        return builder.done()

    @property
    def bound(self) -> float:
        """The theoretical maximum of `dropped` for any rows."""
        return self.mass / (self.size + 1)

    @property
    def retained(self) -> float:
        """The part of the mass that the sketch retains."""
        return float((self.rows**2).sum())

    def scaled(self, factor: float) -> FrequentDirections:
        """Return the sketch of Σ x xᵀ times a factor."""
        rows = self.rows * np.sqrt(factor)
        return FrequentDirections(self.size, rows, float(self.dropped * factor), float(self.mass * factor))

    def __add__(self, other: FrequentDirections) -> FrequentDirections:
        """Join two sketches; errors and bounds add up."""
        if not isinstance(other, FrequentDirections):
            return NotImplemented
        return _Builder(self.size, self.rows.shape[1]).join(self).join(other).done()


class _Builder:
    """Builds a sketch in place, in one buffer of at most 2 · size rows."""

    def __init__(self, size: int, n_features: int) -> None:
        self.size = size
        self.dropped = 0.0
        self.mass = 0.0
        self._buffer = np.zeros((min(2 * size, 16), n_features))
        self._filled = 0

    def add(self, rows: Floats) -> None:
        """Add rows, (n, d)."""
        self.mass += float(np.einsum("ij,ij->", rows, rows))
        self._append(rows)

    def join(self, other: FrequentDirections) -> Self:
        """Add another sketch and its error."""
        self.mass += other.mass
        self.dropped += other.dropped
        self._append(other.rows)
        return self

    def done(self) -> FrequentDirections:
        """Return the sketch so far."""
        return FrequentDirections(self.size, self._buffer[: self._filled].copy(), self.dropped, self.mass)

    def _append(self, rows: Floats) -> None:
        start = 0
        while start < len(rows):
            if self._filled == 2 * self.size:
                self._shrink()
            stop = min(start + 2 * self.size - self._filled, len(rows))
            filled = self._filled + stop - start
            if filled > len(self._buffer):
                # Enlarge the buffer on demand: a few rows of many features need no large buffer.
                buffer = np.zeros((min(max(filled, 2 * len(self._buffer)), 2 * self.size), self._buffer.shape[1]))
                buffer[: self._filled] = self._buffer[: self._filled]
                self._buffer = buffer
            self._buffer[self._filled : filled] = rows[start:stop]
            self._filled = filled
            start = stop

    def _shrink(self) -> None:
        """Rotate the rows to at most `size` orthogonal ones and subtract the square of the next one from each."""
        gram = dsyrk(1.0, self._buffer[: self._filled].T, trans=1)  # (2 size, 2 size), the upper triangle
        squares, vectors = eigh(gram, lower=False, driver="evd", overwrite_a=True, check_finite=False)
        squares = np.maximum(squares[::-1], 0.0)  # squared lengths of the orthogonal rows, largest first
        vectors = vectors[:, ::-1]
        excess = float(squares[self.size])
        # If all rows span fewer than `size` directions, excess is rounding and nothing else is dropped.
        n_rows = int((squares > excess * (1 + 1e-12)).sum())
        scale = np.sqrt((squares[:n_rows] - excess) / squares[:n_rows])
        self._buffer[:n_rows] = (vectors[:, :n_rows] * scale).T @ self._buffer[: self._filled]
        self._filled = n_rows
        self.dropped += excess


@dataclass(frozen=True, eq=False)
class SketchedMoments(WeightedGroups):
    """Approximate moments of many groups with many features. They join with ``+``; pass them to `Focus.fit_moments`.

    No d × d matrix is formed: 100 000 features take 2 · 256 rows, while a matrix would take 80 GB. In return, `within`
    is too small by up to `dropped` in any direction. Every distraction λ obeys this law in odds λ/(1-λ), with ε the
    ridge and exact group means:

        odds of the sketch  ≤  odds of all rows  ≤  odds of the sketch + dropped/ε

    The interval is narrow if the spectrum decays. For a flat spectrum no sketch is accurate: the summary of `Focus`
    shows the number.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Focus, Moments
    >>> rng = np.random.default_rng(0)
    >>> scale = 0.95 ** np.arange(100)
    >>> groups = {m: (rng.normal(size=(25, 100)) + 2 * rng.normal(size=100)) * scale for m in range(120)}
    >>> sketch = SketchedMoments.of(groups, size=60)
    >>> sketch.n_groups, sketch.n_rows, sketch.rows_within.shape[0] <= 120
    (120, 3000, True)
    >>> bool(sketch.dropped <= sketch.bound)
    True
    >>> approximate, exact = (Focus(ridge=1).fit_moments(moments) for moments in (sketch, Moments.of(groups)))
    >>> bool(abs(approximate.distraction_[:9] - exact.distraction_[:9]).max() < 0.01)
    True
    """

    names: tuple[Hashable, ...]
    counts: Ints  # (M,) rows in each group
    weights: Floats  # (M,) prior weight of each group, not divided by their sum
    prior: str  # "uniform", "by_size" or "given"
    origin: Floats  # (d,) a row of the data
    offset: Floats  # (d,) the mean, minus origin
    within_sketch: FrequentDirections  # Σ w/n · S_m
    between_sketch: FrequentDirections  # Σ w (μ_m - μ)(μ_m - μ)ᵀ
    traces: Floats  # (M,) trace of S_m
    variances_within: Floats  # (d,) diagonal of Σ w/n · S_m, exact
    variances_between: Floats  # (d,) diagonal of Σ w (μ_m - μ)(μ_m - μ)ᵀ, exact
    spread: Floats  # (d,) Σ w √(diag S_m / n)

    @classmethod
    def of(cls, groups: Any, prior: Weights = "uniform", *, size: int = SIZE) -> SketchedMoments:
        """Sketch a collection of groups in one pass and constant memory.

        Parameters
        ----------
        groups : mapping or iterable
            As in `Moments.of`, but only rows, no GroupMoments. A group may come in several chunks; each group has a
            separate sketch that is weighted once its rows are counted.
        prior : {"uniform", "by_size"}, mapping or sequence
            Weight of each group.
        size : int, default=256
            Number of directions. A larger sketch is more accurate and takes more time and memory.
        """
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise InputError(f"size must be a positive number of directions, such as {SIZE}, got {size!r}.")
        rule = Prior.of(prior)
        names: set[Hashable] = set()
        total: _Accumulator | None = None
        for name, chunks in groupby(iter_rows(groups), key=lambda pair: pair[0]):
            if name in names:
                raise duplicate_group_error(name)
            group = cls._of_group(name, (chunk for _, chunk in chunks), size, rule, len(names))
            names.add(name)
            if total is None:
                total = _Accumulator(group)
            else:
                total.add(group)
        if total is None:
            raise InputError("There are no groups. Give at least two, each with the rows of one context.")
        rule.check_length(len(names))
        return total.done()

    @classmethod
    def _of_group(
        cls, name: Hashable, chunks: Iterator[Rows | GroupMoments], size: int, rule: Prior, start: int
    ) -> SketchedMoments:
        """Sketch the chunks of one group, relative to its first row."""
        count = 0
        for block in _blocks(name, chunks):
            if count == 0:
                n_features = block.shape[1]
                origin = block[0].astype(np.float64)
                offset = np.zeros(n_features)
                squares = np.zeros(n_features)
                scatter = _Builder(size, n_features)
            check_same_n_features(n_features, block.shape[1], f"Group {name!r}")
            with ignore_fp_warnings():
                rows = block - origin  # float64, a copy
                mean = rows.mean(axis=0)
                rows -= mean
                share, factor = chan_factors(count, len(rows))
                shift = (mean - offset) * np.sqrt(factor)  # acts as one more row
                offset = offset + (mean - offset) * share
                squares += np.einsum("ij,ij->j", rows, rows) + shift**2
                check_range(squares / (count + len(rows)), offset != 0)  # before infinity reaches the sketch
            scatter.add(rows)
            if count:
                scatter.add(shift[None, :])
            count += len(rows)
        counts = np.array([count])
        weights = rule.weights((name,), counts, start)
        factor = weights[0] / count
        return cls(
            (name,),
            counts,
            weights,
            rule.kind,
            origin,
            offset,
            scatter.done().scaled(factor),
            FrequentDirections(size, np.zeros((0, n_features)), 0.0, 0.0),
            np.array([squares.sum()]),
            squares * factor,
            np.zeros(n_features),
            weights[0] * np.sqrt(squares / count),
        )

    @property
    def size(self) -> int:
        """The number of directions that the sketch is guaranteed to retain."""
        return self.within_sketch.size

    @property
    def rows_within(self) -> Floats:
        """B, with BᵀB ≤ within ≤ BᵀB + dropped · I."""
        rows: Floats = self.within_sketch.rows / np.sqrt(self.total_weight)
        return rows

    @property
    def rows_between(self) -> Floats:
        """G, with GᵀG ≤ between ≤ GᵀG + dropped_between · I."""
        rows: Floats = self.between_sketch.rows / np.sqrt(self.total_weight)
        return rows

    @property
    def dropped(self) -> float:
        """Upper bound of the error of `within` in any direction."""
        return self.within_sketch.dropped / self.total_weight

    @property
    def dropped_between(self) -> float:
        """Upper bound of the error of `between` in any direction; 0 for at most 2 · size groups."""
        return self.between_sketch.dropped / self.total_weight

    @property
    def bound(self) -> float:
        """The theoretical maximum of `dropped`: trace(within) / (size + 1)."""
        return self.within_sketch.bound / self.total_weight

    @property
    def retained(self) -> float:
        """The share of the within-group variance that the sketch retains."""
        if self.within_sketch.mass == 0:
            return 1.0
        return self.within_sketch.retained / self.within_sketch.mass

    @property
    def variances(self) -> Floats:
        """The diagonal of `total`, exact, (d,)."""
        variances: Floats = (self.variances_within + self.variances_between) / self.total_weight
        return variances

    def mean_noise(self, filters: Floats, inside: Floats) -> tuple[Floats, Floats]:
        """Return the sampling noise of the group means along each filter (column), as `Moments.mean_noise`.

        Exact if groups have one size and weight, or vary alike. Otherwise each group counts with its total variance,
        because a sketch does not contain the scatter of each group.
        """
        several = self.counts > 1
        shares = self.shares[several]
        counts = self.counts[several]
        variances = shares * self.traces[several] / counts
        total = max(float(variances.sum()), TINY)
        noise = float((variances / (counts - 1)).sum())
        noise_squared = float((variances * shares / (counts - 1)).sum())
        return inside * (noise / total), inside * (noise_squared / total)

    def within_variances(self) -> tuple[Floats, Floats]:
        """Return Σ w diag S_m / n and Σ w √(diag S_m / n), (d,) each."""
        return self.variances_within, self.spread

    def __add__(self, other: SketchedMoments) -> SketchedMoments:
        """Join sketches of different groups and equal size; the error stays within the bound."""
        if not isinstance(other, SketchedMoments):
            return self.__radd__(other)
        own_names = set(self.names)
        for name in other.names:
            if name in own_names:
                raise duplicate_group_error(name)
        if (self.prior, self.size) != (other.prior, other.size):
            raise InputError(
                f"Sketches must have the same prior and size, got prior {self.prior!r} and size {self.size}, and prior "
                f"{other.prior!r} and size {other.size}. Use the same for both."
            )
        total = _Accumulator(self)
        total.add(other)
        return total.done()

    def __radd__(self, other: Any) -> Any:
        """Raise for exact moments; a sketch cannot be added to them."""
        if not isinstance(other, Moments):
            return NotImplemented
        raise InputError(
            f"A sketch and exact moments (group {other.names[0]!r}) cannot be joined. Sketch the other groups too: "
            f"SketchedMoments.of(groups, size={self.size})."
        )


def _blocks(name: Hashable, chunks: Iterator[Rows | GroupMoments]) -> Iterator[Rows]:
    for chunk in chunks:
        if isinstance(chunk, GroupMoments):
            raise InputError(f"A sketch needs rows, got GroupMoments for group {name!r}. Pass its rows.")
        size = max(BLOCK_VALUES // chunk.shape[1], 1)
        for start in range(0, len(chunk), size):
            yield chunk[start : start + size]


class _Accumulator:
    """Sum of sketches of different groups, in place."""

    def __init__(self, first: SketchedMoments) -> None:
        self._prior = first.prior
        self._origin = first.origin
        self._offset = first.offset
        self._weight = first.total_weight
        self._within = _Builder(first.size, first.n_features).join(first.within_sketch)
        self._between = _Builder(first.size, first.n_features).join(first.between_sketch)
        self._diagonals = np.array([first.variances_within, first.variances_between, first.spread])
        self._groups = [(first.names, first.counts, first.weights, first.traces)]

    def add(self, part: SketchedMoments) -> None:
        check_same_n_features(len(self._origin), part.n_features, f"Group {part.names[0]!r}")
        share, factor = chan_factors(self._weight, part.total_weight)
        with ignore_fp_warnings():
            step = (part.origin - self._origin) + (part.offset - self._offset)
            shift = step * np.sqrt(factor)
            check_range(shift**2, np.zeros(len(shift), dtype=bool))
        self._within.join(part.within_sketch)
        self._between.add(shift[None, :])
        self._between.join(part.between_sketch)
        self._weight += part.total_weight
        self._offset = self._offset + step * share
        self._diagonals += [part.variances_within, part.variances_between + shift**2, part.spread]
        self._groups.append((part.names, part.counts, part.weights, part.traces))

    def done(self) -> SketchedMoments:
        names, counts, weights, traces = zip(*self._groups, strict=True)
        return SketchedMoments(
            tuple(chain.from_iterable(names)),
            np.concatenate(counts),
            np.concatenate(weights),
            self._prior,
            self._origin,
            self._offset,
            self._within.done(),
            self._between.done(),
            np.concatenate(traces),
            *self._diagonals,
        )


def sketched_spectrum(
    moments: SketchedMoments,
    *,
    ridge: float = DEFAULT_RIDGE,
    absolute: bool = False,
    compensation: float = COMPENSATION,
) -> Spectrum:
    """Solve the eigenproblem of a sketch, as `Spectrum.of` does for exact moments.

    Directions outside the sketch get no vectors; their within-group variance is at most `dropped`.

    Parameters
    ----------
    moments : SketchedMoments
    ridge, absolute
        As in `Spectrum.of`, but positive: without a ridge, directions with tiny variance matter, and a sketch drops
        them.
    compensation : float, default=0.5
        Share of `dropped` that is added to the within-group covariance in all directions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    >>> spectrum = sketched_spectrum(SketchedMoments.of(groups, size=64))
    >>> spectrum.patterns.shape[0], spectrum.distraction[:3].round(2)
    (500, array([0.97, 0.97, 0.96]))
    """
    check_enough_groups(moments)
    check_ridge(ridge)
    variances = moments.variances
    n_varying = int((variances > 0).sum())
    epsilon = ridge_epsilon(ridge, absolute, float(variances.sum()) / max(n_varying, 1))
    if n_varying == 0:
        return replace(Spectrum.empty(moments), ridge=epsilon)
    if ridge == 0:
        raise InputError(
            "ridge must be positive for a sketch, got 0: a sketch drops directions with tiny variance, and without a "
            "ridge they matter as much as all others. Use 0.1, or compute exact moments with Moments.of."
        )
    solution = _solve(moments.rows_within, moments.rows_between, epsilon, compensation * moments.dropped)
    # Count every direction that varies, whether the sketch retains it or not.
    evidence = Evidence.of(moments, max(min(n_varying, moments.n_rows - 1), len(solution.distraction)))
    distraction, filters, patterns, n_varying = solution
    directions = DenseDirections(filters, patterns, moments.heterogeneity(patterns))
    noise = moments.mean_noise(filters, inside=distraction)
    debiased = debiased_distraction(moments, distraction, epsilon * directions.filter_squares, noise)
    return Spectrum(distraction, debiased, directions, moments.mean, epsilon, n_varying, evidence)


def _solve(inside: Floats, between: Floats, epsilon: float, alpha: float) -> Eigenpairs:
    """Solve the eigenproblem in the joint row space of both sketches."""
    # Use QR: a Gram matrix would square the condition number.
    basis, triangle = qr(np.vstack([inside, between]).T, mode="economic", check_finite=False)
    axes, lengths, sources = svd(triangle, full_matrices=False, check_finite=False)
    rounding = 8 * len(lengths) * float(np.finfo(np.float64).eps)
    real = lengths > rounding * lengths[0]
    axes, lengths, sources = axes[:, real], lengths[real], sources[real]
    half = sources[:, : len(inside)] * lengths[:, None]  # (q, n_inside), B in the coordinates basis · axes
    within = half @ half.T  # (q, q)
    within[np.diag_indices_from(within)] += alpha
    roots = np.sqrt(lengths**2 + alpha + epsilon)
    values, vectors = eigh(within / np.outer(roots, roots), driver="evd", overwrite_a=True, check_finite=False)
    distraction, vectors = np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]
    filters = basis @ (axes @ (vectors / roots[:, None]))
    patterns = basis @ (axes @ (vectors * roots[:, None]))
    # The compensation adds variance in all directions, unless it is only rounding of squares.
    n_varying = len(lengths)
    if alpha <= rounding * lengths[0] ** 2:
        singular_values = np.linalg.svd(half, compute_uv=False)
        n_varying = int((singular_values > rounding * lengths[0]).sum())
    distraction[n_varying:] = 0.0
    return Eigenpairs(distraction, filters, patterns, n_varying)


def distraction_bounds(moments: SketchedMoments, spectrum: Spectrum) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of the exact distraction for each direction of the sketch, (q,) each."""
    if spectrum.ridge == 0:
        return spectrum.distraction, spectrum.distraction
    odds = spectrum.distraction / np.maximum(1.0 - spectrum.distraction, TINY)
    half = COMPENSATION * moments.dropped / spectrum.ridge
    least = np.maximum(odds - half, 0.0) / (1 + moments.dropped_between / spectrum.ridge)
    if spectrum.patterns.shape[1] < spectrum.n_features:
        # Directions outside the sketch have odds of up to `half` and may rank before directions of the sketch.
        odds = np.maximum(odds, half)
    most = odds + half
    return least / (1 + least), most / (1 + most)


def sketched_cut(
    moments: SketchedMoments, spectrum: Spectrum, *, cutoff: float | str = "auto", n_remove: int | None = None
) -> Selection:
    """Select the directions to remove, as `select_directions` does; with a cut-off, only those that surely exceed it.

    The compensation of a small sketch alone can lift every direction over the cut-off. In case of doubt, keep them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    >>> sketch = SketchedMoments.of(groups, size=64)
    >>> sketched_cut(sketch, sketched_spectrum(sketch), cutoff=0.9).warnings[-1]
    'The sketch of size 64 is too small to decide which directions have a distraction of 0.9 or more: 18 certainly...'
    """
    bounds = distraction_bounds(moments, spectrum)

    def passing(value: float) -> tuple[float, int, int]:
        if isinstance(cutoff, str) and value < AUTOMATIC_CUTOFF:
            # A gap sets the cut-off to the value of a direction itself, which its lower bound can never reach.
            value = GAP_MIN_DISTRACTION
        sure, possible = (int((bound >= value).sum()) for bound in bounds)
        return value, sure, possible

    decision = select_directions(spectrum, cutoff=cutoff, n_remove=n_remove, max_count=lambda value: passing(value)[1])
    needed, sure, possible = passing(decision.cutoff)
    if decision.rule == "number" or sure == possible:
        return decision
    open_question = (
        f"The sketch of size {moments.size} is too small to decide which directions have a distraction of {needed:g} "
        f"or more: {sure} certainly do, {possible} may. {decision.n_removed} removed. Use a larger size or a larger "
        "ridge."
    )
    return replace(decision, warnings=(*decision.warnings, open_question))


def describe_sketch(moments: SketchedMoments, spectrum: Spectrum) -> str:
    """Describe the size and the accuracy of a sketch in a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    >>> sketch = SketchedMoments.of(groups, size=64)
    >>> print(describe_sketch(sketch, sketched_spectrum(sketch)))
    Sketch: size 64, with 68% of the within-group variance; shares refer to this part. The within-group variance of any
    direction may be larger by up to 4.3 ridges (theoretical maximum 16). Constant directions may be outside the sketch.
    The first distraction is 0.973, with all rows 0.971 to 0.974.
    """
    if moments.dropped == 0 and moments.dropped_between == 0:
        return f"Sketch: size {moments.size}; it dropped nothing, so all values are exact."
    low, high = distraction_bounds(moments, spectrum)
    epsilon = max(spectrum.ridge, TINY)
    text = (
        f"Sketch: size {moments.size}, with {moments.retained:.0%} of the within-group variance; shares refer to this "
        "part. The within-group variance of any direction may be larger by up to "
        f"{moments.dropped / epsilon:.2g} ridges "
        f"(theoretical maximum {moments.bound / epsilon:.2g}). Constant directions may be outside the sketch."
    )
    if len(low):
        text += f" The first distraction is {spectrum.distraction[0]:.3f}, with all rows {low[0]:.3f} to {high[0]:.3f}."
    return text
