"""Nearest-neighbour detector: a row is anomalous if even its nearest fitted rows are far away.

score = mean of the k smallest ‖x - x_i‖ over the fitted rows x_i,  or the k-th smallest
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

from undistract._arrays import check_choice, check_number
from undistract._rollback import restores_on_error
from undistract._schema import array, require, saveable
from undistract.detect.base import (
    COMMON_FIELDS,
    MAX_ABS,
    CommonScaler,
    Rows,
    check_widths,
    validate_rows,
)
from undistract.errors import InputError

# Neighbours are found by |x|² - 2xy + |y|², which is fast but loses digits. So SPARE more candidates than needed are
# measured again by their differences. SLACK is the accepted relative error of a squared distance.
SPARE = 4
SLACK = 1e-10
# Number of values in memory at a time, about 64 MB.
CHUNK = 2**23
# Number of values that fit into a processor's cache.
CACHED = 2**17


def _validate(detector: NearestDetector) -> None:
    check_widths(detector, detector._rows.shape[1])
    check_number("n_neighbors", detector.n_neighbors, least=1)
    check_choice("aggregate", detector.aggregate, ("mean", "kth"))
    require(detector.n_neighbors < len(detector._rows), f"{len(detector._rows)} rows have fewer neighbours")


def _decode(fields: dict[str, Any]) -> dict[str, Any]:
    return {"_search": NearestNeighbors(n_jobs=fields["settings"].get("n_jobs")).fit(fields["rows"])}


@saveable({**COMMON_FIELDS, "_rows": array("n", "d", low=-MAX_ABS, high=MAX_ABS)}, validate=_validate, decode=_decode)
class NearestDetector(BaseEstimator):  # type: ignore[misc]
    """Score rows by the Euclidean distance to their nearest fitted rows.

    A fitted row is not its own neighbour in `scores_`. Distances are accurate to ten digits and do not depend on the
    other rows of the batch: neighbours are found by a fast search and measured again by differences. If the fast
    search is not accurate enough (near-duplicates far from the mean), all distances of the row are measured this way.

    Parameters
    ----------
    n_neighbors : int, default=10
        k, the number of neighbours.
    aggregate : {"mean", "kth"}, default="mean"
        The mean of the k distances, or the largest of them.
    n_jobs : int, optional
        Threads of scikit-learn's neighbour search.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows, in the units of X. High is anomalous.

    Examples
    --------
    >>> detector = NearestDetector(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]])
    >>> detector.scores_
    array([1.5, 1. , 1.5, 7.5])
    >>> detector.anomaly_score([[0.0], [-3.0]])
    array([0.5, 3.5])
    """

    def __init__(self, *, n_neighbors: int = 10, aggregate: str = "mean", n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.aggregate = aggregate
        self.n_jobs = n_jobs

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the rows X (n, d); `y` is ignored."""
        X = validate_rows(self, X, reset=True)
        check_number("n_neighbors", self.n_neighbors, least=1)
        check_choice("aggregate", self.aggregate, ("mean", "kth"))
        self._check_enough(X)
        # One scale for all features does not change the neighbours; it keeps squares of 1e308 and 1e-308 in range.
        self._standard = CommonScaler.of(X)
        self._rows = self._standard(X)
        self._search = NearestNeighbors(n_jobs=self.n_jobs).fit(self._rows)
        self.__dict__.pop("scores_", None)
        return self

    @cached_property
    def scores_(self) -> Rows:
        """The scores of the fitted rows, (n,); computed on first access."""
        check_is_fitted(self)
        return self._score_rows(self._rows, self_index=np.arange(len(self._rows)))

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d) by their distance to the fitted rows."""
        check_is_fitted(self)
        rows = self._standard(validate_rows(self, X, reset=False))
        return self._score_rows(rows, self_index=np.full(len(rows), -1))

    def decompose(self, X: Any, self_index: NDArray[np.intp] | None = None) -> tuple[Rows, Rows]:
        """Decompose scores: the displacement from each neighbour and its dual vector, both (n, k, d).

        A score is the sum over neighbours and features of their products, so `explain` can compute the contribution of
        each feature. `self_index` are the indices of X among the fitted rows, if X is not new.
        """
        check_is_fitted(self)
        rows = self._standard(validate_rows(self, X, reset=False))
        squared = cdist(rows, self._rows, "sqeuclidean")
        if self_index is not None:
            squared[np.arange(len(rows)), self_index] = np.inf
        nearest = np.argsort(squared, axis=1, kind="stable")[:, : self.n_neighbors]  # (n, k)
        if self.aggregate == "kth":
            nearest = nearest[:, -1:]
        steps = (rows[:, None, :] - self._rows[nearest]) * self._standard.scale
        lengths = np.linalg.norm(steps, axis=2, keepdims=True)
        # A row equal to its neighbour has displacement 0 and dual 0: divide by 1 instead of 0.
        return steps, steps / np.where(lengths > 0, lengths, 1.0) / nearest.shape[1]

    def _check_enough(self, X: Rows) -> None:
        if self.n_neighbors >= len(X):
            raise InputError(
                f"n_neighbors must be smaller than the number of rows, got {self.n_neighbors}, but X has n_samples = "
                f"{len(X)}. Use n_neighbors={len(X) - 1} or fewer, or more rows."
            )

    def _score_rows(self, rows: Rows, self_index: NDArray[np.intp]) -> Rows:
        """Score rows; `self_index` is the index of each among the fitted rows, -1 for a new one."""
        self._check_enough(self._rows)  # n_neighbors may have changed since the fit
        n_features = rows.shape[1]
        n_candidates = min(self.n_neighbors + 1 + SPARE, len(self._rows))
        batches = gen_batches(len(rows), max(1, CHUNK // (n_candidates * n_features)))
        results = [self._search_batch(rows[batch], self_index[batch], n_candidates) for batch in batches]
        nearest = np.concatenate([squared for squared, _ in results])  # (n, k)
        uncertain = np.flatnonzero(~np.concatenate([is_certain for _, is_certain in results]))
        all_columns = np.arange(len(self._rows))[None, :]
        for batch in np.array_split(uncertain, -(-len(uncertain) * len(self._rows) // CHUNK) or 1):
            squared = cdist(rows[batch], self._rows, "sqeuclidean")
            nearest[batch] = self._k_smallest(squared, self_index[batch, None], all_columns)
        distances = np.sqrt(nearest)
        score = distances.mean(axis=1) if self.aggregate == "mean" else distances[:, -1]
        with np.errstate(over="ignore"):
            # Scale by the exponent: the scale of rows at 1e308 overflows, and a score of 0 must stay 0 (not 0 · inf).
            units = np.ldexp(score * self._standard.spread, self._standard.exponent)
            return np.asarray(np.minimum(units, np.finfo(np.float64).max))

    def _search_batch(
        self, rows: Rows, self_index: NDArray[np.intp], n_candidates: int
    ) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the k smallest squared distances (n, k), and whether it is certain that no row was missed (n,)."""
        approximate, candidates = self._search.kneighbors(rows, n_candidates)  # (n, c) each, nearest first
        measured = np.empty(candidates.shape)
        for batch in gen_batches(len(rows), max(1, CACHED // (n_candidates * rows.shape[1]))):
            steps = rows[batch, None, :] - self._rows[candidates[batch]]
            measured[batch] = np.einsum("nkd,nkd->nk", steps, steps)
        nearest = self._k_smallest(measured, self_index[:, None], candidates)
        if n_candidates == len(self._rows):
            return nearest, np.ones(len(rows), dtype=bool)
        # A missed row that is nearer than the k-th has a norm of at most |x| + d_k. So the rounding error of its
        # approximate distance is bounded by that size, and yet it was not below the last candidate's.
        length = np.linalg.norm(rows, axis=1)
        kth = nearest[:, -1]
        rounding = 4 * (rows.shape[1] + 4) * np.finfo(np.float64).eps
        error = rounding * (np.square(length) + np.square(length + np.sqrt(kth)))
        return nearest, kth * (1 - SLACK) + error <= np.square(approximate[:, -1])

    def _k_smallest(self, squared: Rows, self_index: NDArray[np.intp], columns: NDArray[np.intp]) -> Rows:
        """Return the k smallest squared distances of (n, c), ascending, without the row itself."""
        squared = np.where(columns == self_index, np.inf, squared)
        return np.sort(np.partition(squared, self.n_neighbors - 1, axis=1)[:, : self.n_neighbors], axis=1)
