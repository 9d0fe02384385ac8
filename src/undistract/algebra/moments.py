"""Moments of groups: the sufficient statistics of FOCUS. They are sums, so they join with `+`.

    within  = Σ P_m · 1/n_m · S_m               S_m = Σ_{x in m} (x - μ_m)(x - μ_m)ᵀ
    between = Σ P_m (μ_m - μ)(μ_m - μ)ᵀ         μ = Σ P_m μ_m
    total   = within + between

A mean is stored as `origin + offset`, a row of the data and a small difference: the difference of two means is then
exact even for rows that are a million standard deviations away from zero. Rows are stored one by one while they are
few (`RowStore`), and as sums once they are many (`MatrixStore`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from undistract._arrays import (
    SMALLEST,
    TINY,
    Bools,
    Floats,
    Ints,
    Rows,
    as_rows,
    check_range,
    check_same_n_features,
    ignore_fp_warnings,
)
from undistract._text import format_names
from undistract.algebra.groups import Prior, Weights, duplicate_group_error, has_chunks, iter_groups, sort_groups
from undistract.algebra.scatter import (
    accumulate_scatter,
    center_rows,
    chan_factors,
    group_indicator,
    mirror,
    weighted_scatter,
)
from undistract.errors import InputError

# Keep individual rows up to this many values: a group can then be removed again without rounding errors.
KEPT_VALUES = 2**21
# Small groups are collected up to this many rows: BLAS needs large blocks to be fast.
BATCH_ROWS = 4096
# Removing a group from a sum must leave about eight of its sixteen digits.
LEAST_LEFT = 1e-7


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Count, mean and scatter of the rows of one group; parts of a group join with ``+`` in any order.

    Fewer rows than half the features are stored one by one, so that wide data never needs a (d, d) matrix.

    Examples
    --------
    >>> import numpy as np
    >>> moments = GroupMoments.of([[0.0, 1.0], [2.0, 1.0]]) + GroupMoments.of([[4.0, 1.0]])
    >>> moments.count, moments.mean
    (3, array([2., 1.]))
    >>> moments.scatter
    array([[8., 0.],
           [0., 0.]])
    """

    count: int
    origin: Floats  # (d,) a row of the group
    offset: Floats  # (d,) the mean, minus origin
    deviations: Floats | None  # (n, d) rows minus mean, while they are few
    folded: Floats | None  # (d, d) scatter, once they are many

    @classmethod
    def of(cls, rows: Any) -> GroupMoments:
        """Compute the moments of some rows of one group."""
        X = as_rows(rows)
        counts = np.array([len(X)])
        with ignore_fp_warnings():
            if 2 * len(X) <= X.shape[1]:
                statistics, deviations = center_rows(X, None, counts)
                moments = cls(len(X), statistics.anchors[0], statistics.offsets[0], deviations, None)
            else:
                sums = accumulate_scatter(X, None, counts, np.ones(1), np.ones((1, 1)))
                moments = cls(len(X), sums.origin, sums.offset, None, sums.scatters[0])
        return moments._checked()

    @property
    def mean(self) -> Floats:
        """The mean of the rows, (d,)."""
        return self.origin + self.offset

    @property
    def scatter(self) -> Floats:
        """Sum of (x - mean)(x - mean)ᵀ over the rows, (d, d)."""
        if self.folded is not None:
            return self.folded
        assert self.deviations is not None
        return self.deviations.T @ self.deviations

    def __add__(self, other: GroupMoments) -> GroupMoments:
        """Join two parts of the same group."""
        if not isinstance(other, GroupMoments):
            return NotImplemented
        check_same_n_features(len(self.origin), len(other.origin), "The other part")
        count = self.count + other.count
        share, factor = chan_factors(self.count, other.count)
        with ignore_fp_warnings():
            step = (other.origin - self.origin) + (other.offset - self.offset)  # (d,)
            offset = self.offset + step * share
            if self.deviations is not None and other.deviations is not None and 2 * count <= len(step):
                # Both parts move to the joint mean.
                deviations = np.vstack([self.deviations - step * share, other.deviations + step * (1 - share)])
                return GroupMoments(count, self.origin, offset, deviations, None)._checked()
            scatter = self.scatter + other.scatter + np.outer(step, step) * factor
            return GroupMoments(count, self.origin, offset, None, scatter)._checked()

    def __radd__(self, other: object) -> GroupMoments:
        """Support `sum`, which starts with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _checked(self) -> GroupMoments:
        """Raise if the squares of the rows overflow or underflow."""
        with ignore_fp_warnings():
            if self.deviations is not None:
                squares: Floats = (self.deviations**2).sum(axis=0)
            else:
                squares = np.diag(self.scatter)
            check_range(squares / self.count, self.offset != 0)
        return self


@dataclass(frozen=True, eq=False)
class RowStore:
    """Individual rows, used while they are few."""

    anchors: Floats  # (M, d) a row of each group
    offsets: Floats  # (M, d) mean of each group, minus its anchor
    deviations: Floats  # (n, d) rows minus the mean of their group, sorted by group

    def means(self) -> Floats:
        """Return the group means relative to the first anchor, (M, d)."""
        means: Floats = (self.anchors - self.anchors[0]) + self.offsets
        return means

    def select(self, chosen: Bools, counts: Ints) -> RowStore:
        """Return the groups selected by a mask."""
        return RowStore(self.anchors[chosen], self.offsets[chosen], self.deviations[np.repeat(chosen, counts)])

    def concatenate(self, other: RowStore) -> RowStore:
        """Append the groups of another store."""
        return RowStore(
            np.vstack([self.anchors, other.anchors]),
            np.vstack([self.offsets, other.offsets]),
            np.vstack([self.deviations, other.deviations]),
        )


@dataclass(frozen=True, eq=False)
class MatrixStore:
    """Sums over groups, used once rows are many; weights are not divided by their sum."""

    within: Floats  # (d, d) Σ w/n · S_m
    between: Floats  # (d, d) Σ w (μ_m - μ)(μ_m - μ)ᵀ
    noise: tuple[Floats, Floats] | None  # Σ w/(n(n-1)) · S_m and Σ w²/(n(n-1)) · S_m; None while groups are balanced
    spread: Floats  # (d,) Σ w √(diag S_m / n), the standard deviation in a typical group


class WeightedGroups:
    """Base class of `Moments` and `SketchedMoments`: names, counts, weights and mean of groups."""

    names: tuple[Hashable, ...]
    counts: Ints  # (M,) rows in each group
    weights: Floats  # (M,) prior weight of each group, not divided by their sum
    origin: Floats  # (d,) a row of the data
    offset: Floats  # (d,) the mean, minus origin

    # Plain attributes, because they are read often.
    n_groups: int  # M
    n_rows: int
    n_features: int  # d
    total_weight: float
    shares: Floats  # (M,) the prior P_m of each group; they sum to one
    mean: Floats  # (d,) mean of the group means, weighted by the prior

    def __post_init__(self) -> None:
        total_weight = float(self.weights.sum())
        # Frozen dataclasses: assign through __dict__.
        self.__dict__.update(
            n_groups=len(self.names),
            n_rows=int(self.counts.sum()),
            n_features=len(self.origin),
            total_weight=total_weight,
            shares=self.weights / total_weight,
            mean=self.origin + self.offset,
        )

    def heterogeneity(self, patterns: Floats) -> Floats:
        """Return the heterogeneity of the variance between groups along each pattern (column), (q,).

        Σ_f a_f² v_f / Σ_f a_f² s_f² - 1, where v is the mean over groups of a feature's variance, and s the mean over
        groups of its standard deviation: 0 if all groups vary alike. It is measured feature by feature because sums
        over groups contain no more.
        """
        variances, typical = self._typical_variances()
        shares = (patterns / np.maximum(np.linalg.norm(patterns, axis=0), TINY)) ** 2  # (d, q), of any scale
        ratio: Floats = (variances @ shares) / np.maximum(typical @ shares, TINY) - 1.0
        return np.maximum(ratio, 0.0)

    def heterogeneity_range(self) -> tuple[float, float]:
        """Return the least and the largest heterogeneity of any varying feature; those of patterns are in between."""
        variances, typical = self._typical_variances()
        varies = typical > 0
        ratio = np.maximum(variances[varies] / typical[varies] - 1.0, 0.0)
        return float(ratio.min(initial=np.inf)), float(ratio.max(initial=0.0))

    def _typical_variances(self) -> tuple[Floats, Floats]:
        """Return v and s² of each feature, (d,)."""
        variances, spread = self.within_variances()
        several = self.counts > 1  # a group of one row has no variance
        weight = float(self.weights[several].sum()) or 1.0  # if all groups have one row, nothing varies
        # The standard deviation of n Gaussian rows is biased low by the factor 1 - 1/(4(n-1)), to first order.
        bias = float((self.weights / np.maximum(self.counts - 1, 1))[several].sum()) / weight / 4
        return variances / weight, (spread / weight * (1 + bias)) ** 2

    def within_variances(self) -> tuple[Floats, Floats]:
        """Return Σ w diag S_m / n and Σ w √(diag S_m / n), (d,) each."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Moments(WeightedGroups):
    """Moments of many groups. Group names are unique; moments of different groups join with ``+``.

    Create them with `Moments.of` (a collection of groups), `Moments.from_labels` (one array with a label per row), or
    ``a + b``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = {day: rng.normal(size=(20, 3)) + shift for shift, day in enumerate(["mon", "tue", "wed"])}
    >>> moments = Moments.of(groups)
    >>> moments.n_groups, moments.n_rows
    (3, 60)
    >>> np.allclose(moments.total, moments.within + moments.between)
    True
    >>> moments.without("tue").names
    ('mon', 'wed')
    >>> moments + Moments.of({"mon": groups["mon"]})
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Group 'mon' is already in these moments. Join its parts as GroupMoments first...
    """

    names: tuple[Hashable, ...]
    counts: Ints  # (M,) rows in each group
    weights: Floats  # (M,) prior weight of each group, not divided by their sum
    prior: str  # "uniform", "by_size" or "given"
    origin: Floats  # (d,) a row of the data
    offset: Floats  # (d,) the mean, minus origin
    store: RowStore | MatrixStore

    @classmethod
    def of(cls, groups: Any, prior: Weights = "uniform") -> Moments:
        """Compute the moments of a collection of groups, one by one and in constant memory.

        Parameters
        ----------
        groups : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays (named 0, 1, …), or of objects
            with a ``name`` and ``chunks()``. `GroupMoments` may replace rows. A group may come in several consecutive
            chunks; a name that occurs again later is an error.
        prior : {"uniform", "by_size"}, mapping or sequence
            Weight of each group: the same for all, the number of rows, or weights by name or in order.
        """
        rule = Prior.of(prior)
        parts: list[Moments] = []
        n_groups = 0
        for batch in _batches(groups):
            names, contents = zip(*batch, strict=True)
            if isinstance(contents[0], GroupMoments):
                part = cls._from_group(names[0], contents[0], rule, n_groups)
            else:
                counts = np.array([len(rows) for rows in contents])
                weights = rule.weights(names, counts, n_groups)
                part = cls._from_sorted(np.concatenate(contents), None, names, counts, weights, rule.kind)
            n_groups += part.n_groups
            parts.append(part)
            # Join parts of similar size, as in merge sort: a name is then copied log M times, not once per group.
            # Large matrices are joined at once, so that memory stays constant.
            while len(parts) > 1 and (parts[-2].n_groups <= parts[-1].n_groups or _heavy(parts)):
                parts[-2:] = [parts[-2] + parts[-1]]
        if not parts:
            raise InputError("There are no groups. Give at least two, each with the rows of one context.")
        while len(parts) > 1:
            parts[-2:] = [parts[-2] + parts[-1]]
        rule.check_length(n_groups)
        return parts[0]

    @classmethod
    def from_labels(cls, X: Any, groups: Any, prior: Weights = "uniform", *, validated: bool = False) -> Moments:
        """Compute the moments of one array with a group label per row, without a loop over groups or rows.

        With `validated`, X must be numbers of shape (n, d). Non-finite values then raise an `InputError` about the
        range of the data: the sums do not show which row they are in.
        """
        rows: Rows = X if validated else as_rows(X, check_finite=False)
        names, counts, order = sort_groups(groups, len(rows))
        rule = Prior.of(prior)
        try:
            return cls._from_sorted(rows, order, names, counts, rule.weights(names, counts), rule.kind)
        except InputError:
            if not validated:
                as_rows(X)  # the sums show that a value is missing; this names the row and the feature
            raise

    @classmethod
    def _from_sorted(
        cls, X: Rows, order: Ints | None, names: tuple[Hashable, ...], counts: Ints, weights: Floats, prior: str
    ) -> Moments:
        """Compute the moments of rows that `order` sorts by group."""
        with ignore_fp_warnings():
            if keep_rows(*X.shape):
                statistics, deviations = center_rows(X, order, counts)
                store = RowStore(statistics.anchors, statistics.offsets, deviations)
                means = store.means()
                offset = weights @ means / weights.sum()
                variances = statistics.squares.sum(axis=0) / len(X) + ((means - offset) ** 2).mean(axis=0)
                # A constant feature deviates by exactly 0, however large it is. Only tiny variances need this look.
                varied = variances < SMALLEST
                varied[varied] = deviations[:, varied].any(axis=0) | means[:, varied].any(axis=0)
                check_range(variances, varied)
                moments = cls(names, counts, weights, prior, store.anchors[0], offset, store)
                moments.__dict__["_group_squares"] = statistics.squares  # fill the cached property: saves a pass
                return moments
            noise = None
            if is_balanced(counts, weights):
                weightings = scatter_weights(counts[:1], weights[:1])[:1]  # the same factor for all groups
                sums = accumulate_scatter(X, order, counts, weights, weightings)
            else:
                weightings = scatter_weights(counts, weights)
                # With the priors uniform and by_size, the last sum is a linear combination of the others: one product
                # less.
                several = weightings[:, counts > 1]
                mixture = np.linalg.lstsq(several[:2].T, several[2])[0]
                if np.allclose(mixture @ several[:2], several[2], rtol=1e-12, atol=0):
                    sums = accumulate_scatter(X, order, counts, weights, weightings[:2])
                    noise = (sums.scatters[1], mixture[0] * sums.scatters[0] + mixture[1] * sums.scatters[1])
                else:
                    sums = accumulate_scatter(X, order, counts, weights, weightings)
                    noise = (sums.scatters[1], sums.scatters[2])
            variances = (np.diag(sums.scatters[0]) + np.diag(sums.between)) / weights.sum()
            check_range(variances + 0 * sums.spread, sums.varied)  # `0 *` carries NaN and infinity over
        matrices = MatrixStore(sums.scatters[0], sums.between, noise, sums.spread)
        return cls(names, counts, weights, prior, sums.origin, sums.offset, matrices)

    @classmethod
    def _from_group(cls, name: Hashable, group: GroupMoments, rule: Prior, start: int | None = None) -> Moments:
        """Return the moments of a single group."""
        counts = np.array([group.count])
        weights = rule.weights((name,), counts, start)
        store: RowStore | MatrixStore
        if group.deviations is not None:
            store = RowStore(group.origin[None, :], group.offset[None, :], group.deviations)
        else:
            within = group.scatter * (weights[0] / group.count)
            spread = np.sqrt(weights[0] * np.diag(within))  # w √v; the diagonal has w v
            store = MatrixStore(within, np.zeros_like(within), None, spread)
        return cls((name,), counts, weights, rule.kind, group.origin, group.offset, store)

    @property
    def within(self) -> Floats:
        """Within-group covariance, (d, d)."""
        return self.scatter_sum(0) / self.total_weight

    @property
    def between(self) -> Floats:
        """Between-group covariance, the covariance of the group means, (d, d); its rank is at most M - 1."""
        return self.between_sum() / self.total_weight

    @property
    def total(self) -> Floats:
        """Total covariance, ``within + between``, (d, d)."""
        return self.within + self.between

    def __add__(self, other: Moments) -> Moments:
        """Join moments of different groups (Chan's formula with the weights of the groups)."""
        if not isinstance(other, Moments):
            return NotImplemented
        check_same_n_features(self.n_features, other.n_features, f"Group {other.names[0]!r}")
        own_names = set(self.names)
        for name in other.names:
            if name in own_names:
                raise duplicate_group_error(name)
        if self.prior != other.prior:
            raise InputError(
                f"Moments must have the same prior, got {self.prior!r} and {other.prior!r}. Use the same for both."
            )
        names = self.names + other.names
        counts = np.append(self.counts, other.counts)
        weights = np.append(self.weights, other.weights)
        share, factor = chan_factors(self.total_weight, other.total_weight)
        with ignore_fp_warnings():
            step = (other.origin - self.origin) + (other.offset - self.offset)  # (d,)
            offset = self.offset + step * share
            check_range(step**2, np.zeros(len(step), dtype=bool))
        store: RowStore | MatrixStore
        a, b = self.store, other.store
        if isinstance(a, RowStore) and isinstance(b, RowStore) and keep_rows(counts.sum(), self.n_features):
            store = a.concatenate(b)
        else:
            with ignore_fp_warnings():
                between = self.between_sum() + other.between_sum() + np.outer(step, step) * factor
                sums = [self.scatter_sum(k) + other.scatter_sum(k) for k in _needed_sums(counts, weights)]
                spread = self.within_variances()[1] + other.within_variances()[1]
                check_range((np.diag(sums[0]) + np.diag(between)) / weights.sum(), step != 0)
            store = _matrix_store(sums, between, spread)
        return Moments(names, counts, weights, self.prior, self.origin, offset, store)

    def __radd__(self, other: object) -> Moments:
        """Support `sum`, which starts with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def without(self, name: Hashable, group: GroupMoments | None = None) -> Moments:
        """Return the moments without one group.

        Parameters
        ----------
        name : hashable
            The group to remove.
        group : GroupMoments, optional
            Moments of that group, needed if rows are no longer stored one by one. A few digits are lost in this case if
            the group outweighs all others.
        """
        position = self._position(name)
        if self.n_groups == 1:
            raise InputError(f"Group {name!r} is the only one and cannot be removed.")
        stays = np.arange(self.n_groups) != position
        names = self.names[:position] + self.names[position + 1 :]
        counts = self.counts[stays]
        weights = self.weights[stays]
        if isinstance(self.store, RowStore):
            store = self.store.select(stays, self.counts)
            offset = weights @ store.means() / weights.sum()
            return Moments(names, counts, weights, self.prior, store.anchors[0], offset, store)
        if group is None:
            raise InputError(
                f"Group {name!r} was folded into matrices together with {self.n_groups - 1} others ({self.n_rows} "
                f"rows). Pass its moments too: without({name!r}, GroupMoments.of(rows))."
            )
        if group.count != self.counts[position]:
            raise InputError(
                f"Group {name!r} has {self.counts[position]} rows in these moments, got {group.count} rows to remove."
            )
        removed = Moments._from_group(name, group, Prior("given", (self.weights[position],)))
        # Chan's formula with a negative weight: from the mean of all groups to the mean of the removed one.
        step = (removed.origin - self.origin) + (removed.offset - self.offset)
        share, factor = chan_factors(self.total_weight, -removed.total_weight)
        between = self.between_sum() + np.outer(step, step) * factor
        sums = [self.scatter_sum(k) - removed.scatter_sum(k) for k in _needed_sums(counts, weights)]
        # A difference loses as many digits as it is smaller than the sums it was taken from.
        lost = np.diag(between + sums[0]) < LEAST_LEFT * np.diag(self.between_sum() + self.scatter_sum(0))
        if lost.any():
            raise InputError(
                f"Group {name!r} has nearly all variation of feature {int(np.argmax(lost))}: without it, only rounding "
                "errors would be left. Compute the moments of the other groups again."
            )
        spread = np.maximum(self.within_variances()[1] - removed.within_variances()[1], 0.0)
        store_left = _matrix_store(sums, between, spread)
        return Moments(names, counts, weights, self.prior, self.origin, self.offset + step * share, store_left)

    def without_rows(self) -> Moments:
        """Return the same moments without individual rows (sums only), safe to share outside the organisation.

        The mean of a group with a single row is that row; it is contained in sums over all group means.

        Examples
        --------
        >>> import numpy as np
        >>> moments = Moments.of(np.random.default_rng(0).normal(size=(5, 4, 2)))
        >>> sums = moments.without_rows()
        >>> np.allclose(sums.total, moments.total), type(sums.store).__name__
        (True, 'MatrixStore')
        """
        sums = [self.scatter_sum(k) for k in _needed_sums(self.counts, self.weights)]
        store = _matrix_store(sums, self.between_sum(), self.within_variances()[1])
        # `origin` is a row of the data: replace it by the mean.
        return Moments(self.names, self.counts, self.weights, self.prior, self.mean, np.zeros_like(self.mean), store)

    def group(self, name: Hashable) -> GroupMoments:
        """Return the moments of one group, to join more of its rows; needs individual rows, or a single group."""
        position = self._position(name)
        count = int(self.counts[position])
        if isinstance(self.store, RowStore):
            store = self.store.select(np.arange(self.n_groups) == position, self.counts)
            if 2 * count <= self.n_features:
                return GroupMoments(count, store.anchors[0], store.offsets[0], store.deviations, None)
            scatter = store.deviations.T @ store.deviations
            return GroupMoments(count, store.anchors[0], store.offsets[0], None, scatter)
        if self.n_groups == 1:
            scatter = self.store.within * (count / self.weights[0])
            return GroupMoments(count, self.origin, self.offset, None, scatter)
        raise InputError(
            f"Group {name!r} was folded into matrices together with {self.n_groups - 1} others ({self.n_rows} rows): "
            "no rows can be added to it. If groups come in parts, use partial_fit from the start."
        )

    def mean_noise(self, filters: Floats, inside: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the sampling noise of the group means along each filter (column).

        Parameters
        ----------
        filters : (d, q) array
        inside : (q,) array, optional
            fᵀ within f if known: with balanced groups, the result is a multiple of it.

        Returns
        -------
        noise, noise_squared : (q,) arrays
            Σ P_m/(n_m(n_m-1)) fᵀS_m f and Σ P_m²/(n_m(n_m-1)) fᵀS_m f, with S_m the scatter of group m.
        """
        if inside is not None and is_balanced(self.counts, self.weights):
            return self._balanced_noise(inside)
        if isinstance(self.store, RowStore):
            return self.mean_noise_of(self.store.deviations @ filters, None)
        first = np.einsum("ij,ij->j", filters, self.scatter_sum(1) @ filters)
        second = np.einsum("ij,ij->j", filters, self.scatter_sum(2) @ filters)
        return first / self.total_weight, second / self.total_weight**2

    def mean_noise_of(self, readings: Floats, inside: Floats | None) -> tuple[Floats, Floats]:
        """Return the same, given the products of the stored deviations with the filters, (n, q)."""
        if inside is not None and is_balanced(self.counts, self.weights):
            return self._balanced_noise(inside)
        factors = np.repeat(scatter_weights(self.counts, self.weights)[1:], self.counts, axis=1)  # (2, n)
        first, second = factors @ readings**2
        return first / self.total_weight, second / self.total_weight**2

    def _balanced_noise(self, inside: Floats) -> tuple[Floats, Floats]:
        noise = inside / max(int(self.counts[0]) - 1, 1)
        return noise, noise / self.n_groups

    def scatter_sum(self, k: int) -> Floats:
        """Return Σ_m weighting[k, m] · S_m with the weightings of `scatter_weights`, (d, d)."""
        store = self.store
        if isinstance(store, RowStore):
            factors = scatter_weights(self.counts, self.weights)[k]
            if (factors == factors[0]).all():  # balanced groups need no scaling, and so no rounding
                scatter: Floats = dsyrk(float(factors[0]), store.deviations.T)
            else:
                scatter = dsyrk(1.0, (store.deviations * np.sqrt(np.repeat(factors, self.counts))[:, None]).T)
            mirror(scatter)
            return scatter
        if k == 0:
            return store.within
        if store.noise is not None:
            return store.noise[k - 1]
        # Balanced groups: the other sums are multiples of the first, which is 0 if groups have one row.
        factor = 1 / max(int(self.counts[0]) - 1, 1)
        if k == 2:
            factor *= float(self.weights[0])
        return store.within * factor

    def between_sum(self) -> Floats:
        """Return Σ w (μ_m - μ)(μ_m - μ)ᵀ, (d, d)."""
        if isinstance(self.store, RowStore):
            return weighted_scatter(self.store.means(), self.weights)[1]
        return self.store.between

    def within_variances(self) -> tuple[Floats, Floats]:
        if isinstance(self.store, MatrixStore):
            return np.diag(self.store.within), self.store.spread
        variances = self._group_squares / self.counts[:, None]  # (M, d)
        return self.weights @ variances, self.weights @ np.sqrt(variances)

    @cached_property
    def _group_squares(self) -> Floats:
        """Diagonal of the scatter of each group, (M, d)."""
        assert isinstance(self.store, RowStore)
        squares: Floats = group_indicator(np.concatenate([[0], np.cumsum(self.counts)])) @ self.store.deviations**2
        return squares

    def _position(self, name: Hashable) -> int:
        if name not in self.names:
            raise InputError(f"There is no group {name!r} in these moments. There are {format_names(self.names)}.")
        return self.names.index(name)


def scatter_weights(counts: Ints, weights: Floats) -> Floats:
    """Return the factors of S_m in the three sums over groups, (3, M).

    0: w/n, the within-group covariance; 1: w/(n(n-1)), the sampling noise of the group means; 2: w²/(n(n-1)), the same
    with squared weights.
    """
    pairs = np.where(counts > 1, counts * (counts - 1.0), np.inf)  # a single row has no scatter
    return np.stack([weights / counts, weights / pairs, weights**2 / pairs])


def is_balanced(counts: Ints, weights: Floats) -> bool:
    """Return True if all groups have the same size and the same weight."""
    return bool((counts == counts[0]).all() and (weights == weights[0]).all())


def keep_rows(n_rows: int, n_features: int) -> bool:
    """Return True if rows are few enough to be stored one by one."""
    return 2 * n_rows <= n_features or n_rows * n_features <= KEPT_VALUES


def iter_rows(groups: Any) -> Iterator[tuple[Hashable, Rows | GroupMoments]]:
    """Yield the name and the checked rows of every chunk of every group; `GroupMoments` pass unchanged.

    Examples
    --------
    >>> [(name, rows.shape) for name, rows in iter_rows({"mon": [[1, 2]], "tue": [[3, 4], [5, 6]]})]
    [('mon', (1, 2)), ('tue', (2, 2))]
    """
    for name, content in iter_groups(groups):
        if isinstance(content, GroupMoments):
            yield name, content
        elif has_chunks(content):
            n_rows = 0
            for chunk in content.chunks():
                yield name, as_rows(chunk, f"Group {name!r}", n_before=n_rows)
                n_rows += len(chunk)
            if not n_rows:
                raise InputError(f"Group {name!r} is empty: it has no rows. Leave it out, or give it rows.")
        else:
            yield name, as_rows(content, f"Group {name!r}")


def _batches(groups: Any) -> Iterator[list[tuple[Hashable, Any]]]:
    """Yield lists of small groups with their rows, and lists of one large group with its `GroupMoments`."""
    names: set[Hashable] = set()
    small: list[tuple[Hashable, Rows]] = []
    n_small_rows = 0
    for name, chunks in groupby(iter_rows(groups), key=lambda pair: pair[0]):
        if name in names:
            raise duplicate_group_error(name)
        names.add(name)
        group = _join_chunks(chunk for _, chunk in chunks)
        if small and (isinstance(group, GroupMoments) or n_small_rows >= BATCH_ROWS):
            yield small
            small = []
            n_small_rows = 0
        if isinstance(group, GroupMoments):
            yield [(name, group)]
            continue
        if small:
            check_same_n_features(small[0][1].shape[1], group.shape[1], f"Group {name!r}")
        small.append((name, group))
        n_small_rows += len(group)
    if small:
        yield small


def _join_chunks(chunks: Iterator[Rows | GroupMoments]) -> Rows | GroupMoments:
    """Join the chunks of one group. A single small chunk stays an array, to be summed together with its neighbours."""
    joined = next(chunks)
    if not isinstance(joined, GroupMoments) and len(joined) >= BATCH_ROWS:
        joined = GroupMoments.of(joined)
    for chunk in chunks:
        first, second = (part if isinstance(part, GroupMoments) else GroupMoments.of(part) for part in (joined, chunk))
        joined = first + second
    return joined


def _heavy(parts: list[Moments]) -> bool:
    """Return True if the matrices of all parts take more memory than stored rows may."""
    n_stores = sum(isinstance(part.store, MatrixStore) for part in parts)
    return 4 * n_stores * parts[0].n_features ** 2 > KEPT_VALUES


def _needed_sums(counts: Ints, weights: Floats) -> range:
    """Return the sums to store: with balanced groups, sums 1 and 2 are multiples of sum 0."""
    return range(1) if is_balanced(counts, weights) else range(3)


def _matrix_store(sums: list[Floats], between: Floats, spread: Floats) -> MatrixStore:
    if len(sums) == 1:
        return MatrixStore(sums[0], between, None, spread)
    return MatrixStore(sums[0], between, (sums[1], sums[2]), spread)
