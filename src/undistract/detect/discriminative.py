"""The detector of the paper's experiment: a row is strange when it is easily told from the others.

    score = a / (1 - a),    a = mean of σ(vᵀ[1; x]) over all windows and shuffles where x was positive

with v of a ridge logistic regression, a window against the rows before it (Del Giorno, Bagnell and Hebert,
ECCV 2016).
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from undistract.algebra.strength import check_strength
from undistract.arrays import TINY
from undistract.attempt import all_or_nothing
from undistract.detect.leave_in import as_positive
from undistract.detect.logistic import span, with_one
from undistract.detect.rows import LEAST_RIDGE, Rows, Standard, check_choice, check_number, checked_rows
from undistract.detect.soft_filter import Distraction, penalty_filter
from undistract.detect.windows import Order, Span, Tally, Windows, shuffles
from undistract.errors import InputError
from undistract.progress import watched


class DiscriminativeDetector(BaseEstimator):  # type: ignore[misc]
    """Scores rows by how easily a classifier tells them from the rest, over many shuffles.

    The rows are shuffled; a window slides over them, and a ridge logistic regression tells the window
    (positive) from the rows before it (negative). A row's score is the mean probability that the regressions
    gave it while it was positive, shown as odds. Fitted on the set to be searched, as in the paper, `scores_`
    is the answer.

    A new row (`anomaly_score`) gets the score it *would* have had, by itself, as one more positive row of the
    last window of every shuffle: m' = m + h c₁ (1 - σ(m')), with its margin m and its leverage h = zᵀH⁻¹z in
    the fitted regression. (The fitted regressions alone know nothing of a new row: over many shuffles they
    give ½ to any.) No row depends on another, so a row scores the same in any batch.

    Parameters
    ----------
    ridge : float, default=0.1
        ρ, the penalty on the coefficients and the bias.
    window, stride : int, default=100, 50
        The positive rows of one fit, and how far the window moves on. X needs two windows of rows.
    n_shuffles : int, default=10
        How often the rows are shuffled. Scores settle slowly, the more so the larger the window; their limit
        is `RidgeMahalanobis`, in closed form.
    block : int, default=1
        Blocks of so many consecutive rows are shuffled whole.
    buffer : int, optional
        Only the last so many rows of a window, positives included, take part in its fit.
    solver : {"newton", "one_step"}, default="newton"
        The exact fit, or one Newton step from zero on a running Gram matrix: some ten times faster, with
        nearly the same ranks while a window has more rows than features.
    average : {"probability", "margin"}, default="probability"
        What is averaged. Probabilities saturate when there are about as many features as rows in a window;
        the margins vᵀ[1; x] still tell rows apart then.
    permutations : array-like of shape (shuffles, n), optional
        Orders of the rows to use instead of random ones (`n_shuffles` and `block` are then not used).
    standardise : bool, default=True
        Shift the rows to mean zero and scale them, all features alike, to mean variance one, because ρ
        depends on the scale. False takes them as they are, as in the paper.
    cover : bool, default=True
        The first rows of each shuffle are never positive, so in small sets a row may miss every window. True
        gives those rows, and only those, windows of their own against all other rows, once for each shuffle;
        every row is scored. False leaves them NaN, as in the paper.
    penalty : fitted Focus, optional
        Carries what the training sets call distracting into the fit: ρ/2 vᵀ(I + γC)v instead of ρ/2 ‖v‖²,
        where C = Σ f_i a_i a_iᵀ over the removed patterns at unit length, weighted by their distraction.
        Where the detector will be cloned (a pipeline, a search), give ``FrozenEstimator(focus)``.
    strength : float or "auto", default=1.0
        γ, how much that counts; "auto" takes what a soft removal takes by itself.
    n_jobs : int, optional
        Shuffles fitted at the same time, in processes; worth it for runs of many seconds.
    progress : bool, optional
        A progress bar on a terminal: True always, False never, None on runs of more than two seconds.
    random_state : int, RandomState or None
        Fixes the shuffles.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The odds a/(1-a), or the mean margin. High is strange.
    probabilities_, margins_ : ndarray of shape (n,)
        The mean probability a, and the mean margin.
    counts_ : ndarray of shape (n,)
        In how many fits the row was positive.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[17] = 6.0
    >>> found = DiscriminativeDetector(window=20, stride=10, random_state=0).fit(X)
    >>> int(found.scores_.argmax())
    17
    >>> found.anomaly_score([[0.0, 0.0, 0.0], [6.0, 6.0, 6.0]]).round(1)
    array([1. , 4.3])
    """

    def __init__(
        self,
        *,
        ridge: float = 0.1,
        window: int = 100,
        stride: int = 50,
        n_shuffles: int = 10,
        block: int = 1,
        buffer: int | None = None,
        solver: str = "newton",
        average: str = "probability",
        permutations: ArrayLike | None = None,
        standardise: bool = True,
        cover: bool = True,
        penalty: Distraction | None = None,
        strength: float | str = 1.0,
        n_jobs: int | None = None,
        progress: bool | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.ridge = ridge
        self.window = window
        self.stride = stride
        self.n_shuffles = n_shuffles
        self.block = block
        self.buffer = buffer
        self.solver = solver
        self.average = average
        self.permutations = permutations
        self.standardise = standardise
        self.cover = cover
        self.penalty = penalty
        self.strength = strength
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Score the rows X (n, d) among themselves; `y` is ignored."""
        X = checked_rows(self, X, reset=True)
        n_rows, n_features = X.shape
        self._check(n_rows)
        windows = Windows(self.window, self.stride, self.buffer, self.ridge, self.solver == "newton")
        orders = shuffles(
            n_rows,
            n_shuffles=self.n_shuffles,
            block=self.block,
            permutations=self.permutations,
            random=check_random_state(self.random_state),
        )
        self._standard = Standard.of(X) if self.standardise else Standard.none(X)
        self._filter = penalty_filter(self.penalty, self.strength, n_features)
        # More features than rows: the rows span n directions at most, and turned into those nothing is d × d.
        filtered = self._filter(self._standard(X))
        self._basis = span(filtered) if n_features > n_rows else None  # (d, n)
        self._rows, _ = self._coordinates(X)

        # Small fits are fastest on one thread of the linear algebra library.
        with threadpool_limits(1 if self._rows.shape[1] < 256 else None, user_api="blas"):
            fits = self._many(orders, windows, windows.spans(n_rows))
            tally = reduce(add, [one for one, _ in fits])
            if self.cover and not tally.count.all():
                missed = tally.count == 0
                late = [moved for order in orders for moved in _missed_last(order, missed, self.window)]
                rest = self._many(late, windows, [windows.span(n_rows)])
                tally = reduce(add, [one.only(missed) for one, _ in rest], tally)

        start, end = windows.spans(n_rows)[-1]
        self._models = [(last, order[start:end]) for (_, last), order in zip(fits, orders, strict=True)]
        self.counts_ = tally.count
        never = np.where(tally.count == 0, np.nan, 1.0)
        self.probabilities_ = tally.probability / np.maximum(tally.count, 1) * never
        self.margins_ = tally.margin / np.maximum(tally.count, 1) * never
        self.scores_ = self._score(tally.probability, tally.complement, self.margins_) * never
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d) as each, by itself, would have scored in the windows of the fit."""
        check_is_fitted(self)
        rows, outside = self._coordinates(checked_rows(self, X, reset=False))
        right, wrong, margins = np.zeros((3, len(rows)))
        for coefficients, order in self._models:
            margin = as_positive(rows, outside, self._rows[order], self.window, coefficients, self.ridge)
            right, wrong, margins = right + expit(margin), wrong + expit(-margin), margins + margin
        return self._score(right, wrong, margins / len(self._models))

    def _check(self, n_rows: int) -> None:
        check_number("ridge", self.ridge, least=LEAST_RIDGE, whole=False)
        check_strength(self.strength)
        for name in ("window", "stride", "n_shuffles", "block"):
            check_number(name, getattr(self, name), least=1)
        if self.buffer is not None:
            check_number("buffer", self.buffer, least=self.window + 1)
        check_choice("solver", self.solver, ("newton", "one_step"))
        check_choice("average", self.average, ("probability", "margin"))
        if n_rows < 2 * self.window:
            raise InputError(
                f"Two windows of {self.window} need {2 * self.window} rows, but X has n_samples = {n_rows}. "
                f"Use window={n_rows // 2} or smaller, or give more rows."
            )

    def _coordinates(self, X: Rows) -> tuple[Rows, Rows]:
        """Give rows z = [1; x], (n, q), and their squared length (n,) outside the span of the fitted rows."""
        filtered = self._filter(self._standard(X))
        outside = np.zeros(len(filtered))
        if self._basis is not None:
            inside = filtered @ self._basis
            outside = np.square(filtered - inside @ self._basis.T).sum(axis=1)
            filtered = inside
        return with_one(filtered), outside

    def _many(self, orders: list[Order], windows: Windows, spans: list[Span]) -> list[tuple[Tally, Rows]]:
        """Tally every order, several at a time."""
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        results = jobs(delayed(Tally.of)(self._rows, order, windows, spans) for order in orders)
        return list(watched(results, total=len(orders), what="Shuffles", progress=self.progress))

    def _score(self, right: Rows, wrong: Rows, margins: Rows) -> Rows:
        if self.average == "margin":
            return margins
        return right / np.maximum(wrong, TINY)


def _missed_last(order: Order, missed: NDArray[np.bool_], window: int) -> list[Order]:
    """Move the missed rows to the end of an order, a window of them at a time, the rest as they were."""
    late = order[missed[order]]
    groups = np.split(late, range(window, len(late), window))
    return [np.concatenate([order[~np.isin(order, group)], group]) for group in groups]
