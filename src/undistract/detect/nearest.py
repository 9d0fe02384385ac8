"""Distances to neighbours: a row is strange when even its nearest rows are far.

    score = mean of the k smallest ‖x - x_i‖,  or the k-th of them

over the fitted rows x_i.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from undistract.attempt import all_or_nothing
from undistract.detect.rows import Rows, Standard, check_choice, check_number, checked_rows
from undistract.errors import InputError

# Neighbours are looked up by |x|² - 2xy + |y|², which is quick and loses digits; a few more than asked for
# are measured again by their differences. SLACK is the relative error of a squared distance that may pass.
SPARE = 4
SLACK = 1e-10
# Numbers held at a time, about 64 MB.
CHUNK = 2**23
# Numbers that stay in a processor's cache.
CACHED = 2**17


class NearestDetector(BaseEstimator):  # type: ignore[misc]
    """Scores rows by the Euclidean distance to their nearest fitted rows.

    A fitted row is not its own neighbour in `scores_`. Distances are right to ten digits and do not depend on
    the rows that are scored along: neighbours are found quickly and measured again by differences, and where
    the quick search cannot vouch for them (near-duplicates far from the mean) all rows are measured so.

    Parameters
    ----------
    n_neighbors : int, default=10
        k, the neighbours that count.
    how : {"mean", "kth"}, default="mean"
        The mean of the k distances, or the largest of them.
    n_jobs : int, optional
        Threads of scikit-learn's neighbour search.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows, in the units of X. High is strange.

    Examples
    --------
    >>> found = NearestDetector(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]])
    >>> found.scores_
    array([1.5, 1. , 1.5, 7.5])
    >>> found.anomaly_score([[0.0], [-3.0]])
    array([0.5, 3.5])
    """

    def __init__(self, *, n_neighbors: int = 10, how: str = "mean", n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.how = how
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows X (n, d), and score each among the others; `y` is ignored."""
        X = checked_rows(self, X, reset=True)
        check_number("n_neighbors", self.n_neighbors, least=1)
        check_choice("how", self.how, ("mean", "kth"))
        self._check_enough(X)
        # One scale for all features changes no neighbour; it keeps squares of 1e308 and 1e-308 in range.
        self._standard = Standard.of(X)
        self._rows = self._standard(X)
        self._search = NearestNeighbors(n_jobs=self.n_jobs).fit(self._rows)
        self.__dict__.pop("scores_", None)
        return self

    @cached_property
    def scores_(self) -> Rows:
        """The scores of the fitted rows, (n,); found when they are first asked for."""
        check_is_fitted(self)
        return self._scored(self._rows, own=np.arange(len(self._rows)))

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d) by their distance to the fitted rows."""
        check_is_fitted(self)
        rows = self._standard(checked_rows(self, X, reset=False))
        return self._scored(rows, own=np.full(len(rows), -1))

    def parts(self, X: Any, own: NDArray[np.intp] | None = None) -> tuple[Rows, Rows]:
        """Take scores apart: the step from each neighbour and its direction, both (n, k, d).

        A score is the sum over neighbours and features of their products, so `explain` can say what each feature
        carried. `own` are the places of the rows among the fitted ones, where they are not new.
        """
        check_is_fitted(self)
        rows = self._standard(checked_rows(self, X, reset=False))
        squared = cdist(rows, self._rows, "sqeuclidean")
        if own is not None:
            squared[np.arange(len(rows)), own] = np.inf
        nearest = np.argsort(squared, axis=1, kind="stable")[:, : self.n_neighbors]  # (n, k)
        if self.how == "kth":
            nearest = nearest[:, -1:]
        steps = (rows[:, None, :] - self._rows[nearest]) * self._standard.scale
        lengths = np.linalg.norm(steps, axis=2, keepdims=True)
        # A row that lies on its neighbour is no step away, in no direction.
        return steps, steps / np.where(lengths > 0, lengths, 1.0) / nearest.shape[1]

    def _check_enough(self, X: Rows) -> None:
        if self.n_neighbors >= len(X):
            raise InputError(
                f"{self.n_neighbors} neighbours of each row were asked for, but X has n_samples = {len(X)}. "
                f"Use n_neighbors={len(X) - 1} or fewer, or give more rows."
            )

    def _scored(self, rows: Rows, own: NDArray[np.intp]) -> Rows:
        """Score rows; `own` is the place of each among the fitted rows, -1 for a new one."""
        self._check_enough(self._rows)  # the setting may have been changed since
        n_features = rows.shape[1]
        n_candidates = min(self.n_neighbors + 1 + SPARE, len(self._rows))
        quick = gen_batches(len(rows), max(1, CHUNK // (n_candidates * n_features)))
        squared, sure = zip(*[self._quick(rows[s], own[s], n_candidates) for s in quick], strict=True)
        nearest = np.concatenate(squared)  # (n, k)
        unsure = np.flatnonzero(~np.concatenate(sure))
        for some in np.array_split(unsure, -(-len(unsure) * len(self._rows) // CHUNK) or 1):
            nearest[some] = self._nearest(cdist(rows[some], self._rows, "sqeuclidean"), own[some, None], None)
        distances = np.sqrt(nearest)
        score = distances.mean(axis=1) if self.how == "mean" else distances[:, -1]
        with np.errstate(over="ignore"):
            # By its exponent: one unit of rows at 1e308 is beyond the range of doubles, and no unit of it is still 0.
            units = np.ldexp(score * self._standard.spread, self._standard.exponent)
            return np.asarray(np.minimum(units, np.finfo(np.float64).max))

    def _quick(self, rows: Rows, own: NDArray[np.intp], n_candidates: int) -> tuple[Rows, NDArray[np.bool_]]:
        """Find the k smallest squared distances (n, k), and whether surely no row was overlooked (n,)."""
        found, candidates = self._search.kneighbors(rows, n_candidates)  # (n, c) each, nearest first
        measured = np.empty(candidates.shape)
        for few in gen_batches(len(rows), max(1, CACHED // (n_candidates * rows.shape[1]))):
            steps = rows[few, None, :] - self._rows[candidates[few]]
            measured[few] = np.einsum("nkd,nkd->nk", steps, steps)
        nearest = self._nearest(measured, own[:, None], candidates)
        if n_candidates == len(self._rows):
            return nearest, np.ones(len(rows), dtype=bool)
        # A row overlooked though nearer than the k-th lies within |x| + d_k of the mean. So its quick
        # distance was off by no more than rounding of that size, and yet not below the last candidate's.
        length, kth = np.linalg.norm(rows, axis=1), nearest[:, -1]
        rounding = 4 * (rows.shape[1] + 4) * np.finfo(np.float64).eps
        error = rounding * (np.square(length) + np.square(length + np.sqrt(kth)))
        return nearest, kth * (1 - SLACK) + error <= np.square(found[:, -1])

    def _nearest(self, squared: Rows, own: NDArray[np.intp], columns: NDArray[np.intp] | None) -> Rows:
        """Keep the k smallest of squared distances (n, c), in order, without the row itself."""
        columns = np.arange(squared.shape[1])[None, :] if columns is None else columns
        squared = np.where(columns == own, np.inf, squared)
        return np.sort(np.partition(squared, self.n_neighbors - 1, axis=1)[:, : self.n_neighbors], axis=1)
