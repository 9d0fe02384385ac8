"""Sparse-combination detector: a normal row is reconstructed well by one of a few small bases.

    score = min over k of ‖x - B_k B_kᵀ x‖²,     B_k (d, s) orthonormal, x centred

After Lu, Shi and Jia (ICCV 2013), whose K small dictionaries replace a search for sparse codes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from undistract._arrays import TINY, check_number
from undistract._rollback import restores_on_error
from undistract._schema import UNIT, array, saveable
from undistract.detect.base import COMMON_FIELDS, CommonScaler, Rows, check_widths, validate_rows
from undistract.errors import InputError


@saveable(
    {**COMMON_FIELDS, "bases_": array("K", "d", "s", low=-UNIT, high=UNIT)},
    validate=lambda detector: check_widths(detector, detector.bases_.shape[1]),
)
class SparseCombinationDetector(BaseEstimator):  # type: ignore[misc]
    """Score rows by the squared reconstruction error of the best of K small bases, fitted to normal rows.

    Each basis is initialised with a row of large error under the bases before it and the rows most aligned with it.
    Then two steps alternate, as in k-means, until no row changes its basis: assign every row to the basis with the
    smallest error, and refit every basis to its rows. The best of several starts is kept.

    Parameters
    ----------
    n_bases : int, default=10
        K, the number of bases.
    size : int, default=3
        s, the number of directions of each basis; fewer than the features.
    n_starts : int, default=5
        The number of starts; the one with the smallest total error is kept.
    max_turns : int, default=100
        The maximum number of iterations of one start.
    random_state : int, RandomState or None
        Seed of the starts.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows, in units of their mean variance. High is anomalous.
    bases_ : ndarray of shape (K, d, s)
        The orthonormal bases, for centred rows.

    Examples
    --------
    >>> along = np.linspace(-1, 1, 20)
    >>> X = np.r_[np.c_[along, 0 * along], np.c_[0 * along, along]]  # a cross
    >>> detector = SparseCombinationDetector(n_bases=2, size=1, random_state=0).fit(X)
    >>> detector.anomaly_score([[0.7, 0.0], [0.0, -0.4], [0.5, 0.5]]).round(2)
    array([0.  , 0.  , 1.36])
    """

    def __init__(
        self,
        *,
        n_bases: int = 10,
        size: int = 3,
        n_starts: int = 5,
        max_turns: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_bases = n_bases
        self.size = size
        self.n_starts = n_starts
        self.max_turns = max_turns
        self.random_state = random_state

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the bases to the normal rows X (n, d); `y` is ignored."""
        X = validate_rows(self, X, reset=True)
        for name in ("n_bases", "size", "n_starts", "max_turns"):
            check_number(name, getattr(self, name), least=1)
        n_rows, n_features = X.shape
        if self.size >= n_features:
            raise InputError(
                f"A basis of {self.size} directions reconstructs every row without error, because X has "
                f"n_features = {n_features}. Use size={n_features - 1} or less, or more features."
            )
        if n_rows <= self.n_bases * self.size:
            raise InputError(
                f"{self.n_bases} bases of {self.size} directions reconstruct any {self.n_bases * self.size} rows "
                f"without error, and X has n_samples = {n_rows}. Use fewer or smaller bases, or more rows."
            )
        random = check_random_state(self.random_state)
        self._standard = CommonScaler.of(X)
        rows = self._standard(X)
        starts = [self._fit_bases(rows, random) for _ in range(self.n_starts)]
        totals = [_errors(rows, bases).min(axis=1).sum() for bases in starts]
        self.bases_ = starts[int(np.argmin(totals))]
        self.scores_ = _errors(rows, self.bases_).min(axis=1)
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d) by the smallest error of all bases."""
        check_is_fitted(self)
        rows = self._standard(validate_rows(self, X, reset=False))
        return np.asarray(_errors(rows, self.bases_).min(axis=1))

    def _fit_bases(self, rows: Rows, random: np.random.RandomState) -> Rows:
        bases = self._initial_bases(rows, random)
        assigned = _best_basis(rows, bases)
        for _ in range(self.max_turns):
            for k in range(self.n_bases):
                if (assigned == k).any():
                    bases[k] = _leading(rows[assigned == k], self.size)
            previous = assigned
            assigned = _best_basis(rows, bases)
            if (assigned == previous).all():
                break
        return bases

    def _initial_bases(self, rows: Rows, random: np.random.RandomState) -> Rows:
        """Initialise the bases (K, d, s): each from a row with large error and the rows most aligned with it."""
        n_rows, n_features = rows.shape
        n_aligned = max(2 * self.size, n_rows // (4 * self.n_bases))
        lengths = np.maximum(np.linalg.norm(rows, axis=1), TINY)
        error = np.square(lengths)
        bases = np.zeros((self.n_bases, n_features, self.size))
        for k in range(self.n_bases):
            # As in k-means++, draw the next seed with probability proportional to its error.
            weights = error if error.sum() > 0 else np.ones(n_rows)
            seed = random.choice(n_rows, p=weights / weights.sum())
            aligned = np.argsort(-np.abs(rows @ rows[seed]) / lengths, kind="stable")[:n_aligned]
            bases[k] = _leading(rows[aligned], self.size)
            error = np.minimum(error, _errors(rows, bases[k : k + 1])[:, 0])
        return bases


def _leading(rows: Rows, size: int) -> Rows:
    """Return the orthonormal directions (d, s) with the smallest reconstruction error of rows (n, d)."""
    n_rows, n_features = rows.shape
    if n_rows >= n_features:
        return np.asarray(np.linalg.eigh(rows.T @ rows)[1][:, : -size - 1 : -1])
    directions = np.linalg.svd(rows, full_matrices=False)[2].T[:, :size]  # (d, at most n)
    # With fewer rows than directions, the missing directions are zero.
    return np.pad(directions, ((0, 0), (0, size - directions.shape[1])))


def _best_basis(rows: Rows, bases: Rows) -> NDArray[np.intp]:
    """Return the basis (n,) with the longest projection of each row, and so the smallest error."""
    n_bases, n_features, size = bases.shape
    coordinates = rows @ bases.transpose(1, 0, 2).reshape(n_features, n_bases * size)
    return np.asarray(np.square(coordinates).reshape(len(rows), n_bases, size).sum(axis=2).argmax(axis=1))


def _errors(rows: Rows, bases: Rows) -> Rows:
    """Return the squared error (n, K) of each row in each basis."""
    # Compute the difference itself: |x|² - |Bᵀx|² has no digits left if a basis fits well.
    return np.column_stack([np.square(rows - rows @ basis @ basis.T).sum(axis=1) for basis in bases])
