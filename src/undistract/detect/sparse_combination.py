"""Sparse combinations: a normal row is rebuilt well by one of a few small bases.

    score = min over k of ‖x - B_k B_kᵀ x‖²,     B_k (d, s) orthonormal, x centred

In the spirit of Lu, Shi and Jia (ICCV 2013), whose K small dictionaries replace a search for sparse codes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from undistract.arrays import TINY
from undistract.attempt import all_or_nothing
from undistract.detect.rows import Rows, Standard, check_number, checked_rows
from undistract.errors import InputError


class SparseCombinationDetector(BaseEstimator):  # type: ignore[misc]
    """Scores rows by the squared error of the best of K small bases, learned from normal rows.

    Each basis starts from a row that the bases before it rebuild badly and the rows most aligned with it;
    then, in turns, every row goes to the basis that rebuilds it best and every basis is fitted anew to its
    rows, until no row moves. The best of several such starts is kept.

    Parameters
    ----------
    n_bases : int, default=10
        K, how many bases.
    size : int, default=3
        s, the directions of each basis; fewer than the features.
    n_starts : int, default=5
        How often to start; the start with the smallest total error wins.
    max_turns : int, default=100
        The most turns of one start.
    random_state : int, RandomState or None
        Fixes the starts.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows, in units of their mean variance. High is strange.
    bases_ : ndarray of shape (K, d, s)
        The orthonormal bases, about the fitted mean.

    Examples
    --------
    >>> along = np.linspace(-1, 1, 20)
    >>> X = np.r_[np.c_[along, 0 * along], np.c_[0 * along, along]]  # a cross
    >>> found = SparseCombinationDetector(n_bases=2, size=1, random_state=0).fit(X)
    >>> found.anomaly_score([[0.7, 0.0], [0.0, -0.4], [0.5, 0.5]]).round(2)
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

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the bases from the normal rows X (n, d); `y` is ignored."""
        X = checked_rows(self, X, reset=True)
        for name in ("n_bases", "size", "n_starts", "max_turns"):
            check_number(name, getattr(self, name), least=1)
        n_rows, n_features = X.shape
        if self.size >= n_features:
            raise InputError(
                f"A basis of {self.size} directions rebuilds every row without error, as X has "
                f"n_features = {n_features}. Use size={n_features - 1} or less, or more features."
            )
        if n_rows <= self.n_bases * self.size:
            raise InputError(
                f"{self.n_bases} bases of {self.size} directions rebuild any {self.n_bases * self.size} rows "
                f"without error, and X has n_samples = {n_rows}. Use fewer or smaller bases, or more rows."
            )
        random = check_random_state(self.random_state)
        self._standard = Standard.of(X)
        rows = self._standard(X)
        starts = [self._learned(rows, random) for _ in range(self.n_starts)]
        totals = [_errors(rows, bases).min(axis=1).sum() for bases in starts]
        self.bases_ = starts[int(np.argmin(totals))]
        self.scores_ = _errors(rows, self.bases_).min(axis=1)
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d) by the error of the basis that rebuilds each best."""
        check_is_fitted(self)
        rows = self._standard(checked_rows(self, X, reset=False))
        return np.asarray(_errors(rows, self.bases_).min(axis=1))

    def _learned(self, rows: Rows, random: np.random.RandomState) -> Rows:
        bases = self._started(rows, random)
        owner = _best(rows, bases)
        for _ in range(self.max_turns):
            for k in range(self.n_bases):
                if (owner == k).any():
                    bases[k] = _leading(rows[owner == k], self.size)
            before, owner = owner, _best(rows, bases)
            if (owner == before).all():
                break
        return bases

    def _started(self, rows: Rows, random: np.random.RandomState) -> Rows:
        """Start the bases (K, d, s): each from a badly rebuilt row and the rows most aligned with it."""
        n_rows, n_features = rows.shape
        n_aligned = max(2 * self.size, n_rows // (4 * self.n_bases))
        lengths = np.maximum(np.linalg.norm(rows, axis=1), TINY)
        error = np.square(lengths)
        bases = np.zeros((self.n_bases, n_features, self.size))
        for k in range(self.n_bases):
            chances = error if error.sum() > 0 else np.ones(n_rows)
            seed = random.choice(n_rows, p=chances / chances.sum())
            aligned = np.argsort(-np.abs(rows @ rows[seed]) / lengths, kind="stable")[:n_aligned]
            bases[k] = _leading(rows[aligned], self.size)
            error = np.minimum(error, _errors(rows, bases[k : k + 1])[:, 0])
        return bases


def _leading(rows: Rows, size: int) -> Rows:
    """Find the orthonormal directions (d, s) that rebuild rows (n, d) best."""
    n_rows, n_features = rows.shape
    if n_rows >= n_features:
        return np.asarray(np.linalg.eigh(rows.T @ rows)[1][:, : -size - 1 : -1])
    directions = np.linalg.svd(rows, full_matrices=False)[2].T[:, :size]  # (d, at most n)
    # Fewer rows than directions: the basis is only as large as they are, the rest stays zero.
    return np.pad(directions, ((0, 0), (0, size - directions.shape[1])))


def _best(rows: Rows, bases: Rows) -> NDArray[np.intp]:
    """Find the basis (n,) that catches most of each row, and so leaves the least error."""
    n_bases, n_features, size = bases.shape
    readings = rows @ bases.transpose(1, 0, 2).reshape(n_features, n_bases * size)
    return np.asarray(np.square(readings).reshape(len(rows), n_bases, size).sum(axis=2).argmax(axis=1))


def _errors(rows: Rows, bases: Rows) -> Rows:
    """Measure the squared error (n, K) of each row in each basis."""
    # By the difference itself: |x|² - |Bᵀx|² has no digits left where a basis fits well.
    return np.column_stack([np.square(rows - rows @ basis @ basis.T).sum(axis=1) for basis in bases])
