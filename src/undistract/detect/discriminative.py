"""The detector of the paper's experiment: a row is anomalous if a classifier separates it easily from the others.

    score = a / (1 - a),    a = mean of σ(vᵀ[1; x]) over all windows and shuffles in which x was positive

v are the coefficients of a ridge logistic regression of a window against the rows before it (Del Giorno, Bagnell and
Hebert, ECCV 2016).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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

from undistract._arrays import TINY, check_choice, check_number
from undistract._progress import track
from undistract._rollback import restores_on_error
from undistract._schema import UNIT, array, instance_of, optional, require, saveable
from undistract.algebra.projection import check_strength
from undistract.algebra.shrinkage import ShrinkageFilter
from undistract.detect._logistic import (
    add_intercept,
    class_weights,
    gram,
    lift_coefficients,
    newton_step_from_zero,
    newton_with_gram,
    orthobasis,
    ridge_solve,
)
from undistract.detect.base import (
    COMMON_FIELDS,
    MAX_ABS,
    MIN_RIDGE,
    CommonScaler,
    Rows,
    check_widths,
    validate_rows,
)
from undistract.errors import InputError
from undistract.penalty import make_penalty_filter

Order = NDArray[np.intp]
Span = tuple[int, int]


def _encode(detector: DiscriminativeDetector) -> dict[str, Any]:
    coefficients, orders = zip(*detector._models, strict=True)
    return {"coefficients": np.stack(coefficients), "orders": np.stack(orders).astype(np.int64)}


def _decode(fields: dict[str, Any]) -> dict[str, Any]:
    orders = fields["orders"]
    require(len(orders) > 0 and (orders < len(fields["rows"])).all(), "its windows refer to missing rows")
    return {"_models": list(zip(fields["coefficients"], orders.astype(np.intp), strict=True))}


def _validate(detector: DiscriminativeDetector) -> None:
    basis = detector._basis
    widths = [len(detector._filter.directions)]
    n_columns = detector.n_features_in_
    if basis is not None:
        widths.append(len(basis))
        n_columns = basis.shape[1]
    check_widths(detector, *widths)
    require(detector._rows.shape[1] == 1 + n_columns, "its rows have too many columns")
    check_number("ridge", detector.ridge, least=MIN_RIDGE, whole=False)
    check_number("window", detector.window, least=1)
    check_choice("average", detector.average, ("probability", "margin"))
    require(detector.window < len(detector._models[0][1]), "a window has no rows before it")


@saveable(
    {
        **COMMON_FIELDS,
        "_filter": instance_of(ShrinkageFilter),
        "_basis": optional(array("d", "b", low=-UNIT, high=UNIT)),
        "_rows": array("n", "c", low=-(MAX_ABS**1.1), high=MAX_ABS**1.1),
        "coefficients": array("s", "c", low=-MAX_ABS, high=MAX_ABS),
        "orders": array("s", "t", dtype=np.int64, low=0),
        "probabilities_": array("n", nan=True),
        "margins_": array("n", nan=True),
        "counts_": array("n", dtype=np.int64, low=0),
    },
    validate=_validate,
    encode=_encode,
    decode=_decode,
)
class DiscriminativeDetector(BaseEstimator):  # type: ignore[misc]
    """Score rows by how easily a classifier separates them from the other rows, over many shuffles.

    The rows are shuffled; a window slides over them, and a ridge logistic regression separates the window (positive)
    from the rows before it (negative). The score of a row is its mean predicted probability over the fits in which it
    was positive, as odds. As in the paper, fit it on the rows to be searched and read `scores_`.

    For a new row, `anomaly_score` computes the score that it would have had as one more positive row of the last
    window of every shuffle: m' = m + h c₁ (1 - σ(m')), with its margin m and its leverage h = zᵀH⁻¹z in the fitted
    regression. (The fitted regressions alone carry no information about a new row: averaged over many shuffles they
    predict ½ for any row.) The score of a row does not depend on the other rows of its batch.

    Parameters
    ----------
    ridge : float, default=0.1
        ρ, the penalty on the coefficients and the bias.
    window, stride : int, default=100, 50
        The number of positive rows of one fit, and the step between windows. X needs two windows of rows.
    n_shuffles : int, default=10
        The number of shuffles. Scores converge slowly, more slowly with larger windows; their limit is
        `RidgeMahalanobis`, in closed form.
    block : int, default=1
        Shuffle blocks of `block` consecutive rows instead of single rows.
    buffer : int, optional
        Use only the last `buffer` rows of a window, positives included, in its fit.
    solver : {"newton", "one_step"}, default="newton"
        The exact fit, or one Newton step from zero on a running Gram matrix: about ten times faster, with nearly the
        same ranks if a window has more rows than features.
    average : {"probability", "margin"}, default="probability"
        The quantity to average. Probabilities saturate with about as many features as rows in a window; the margins
        vᵀ[1; x] still differ between rows then.
    permutations : array-like of shape (shuffles, n), optional
        Orders of the rows to use instead of random ones (`n_shuffles` and `block` are then not used).
    standardise : bool, default=True
        Shift the rows to mean zero and scale them, with one factor for all features, to mean variance one, because ρ
        depends on the scale. False uses the rows unchanged, as in the paper.
    cover : bool, default=True
        The first rows of each shuffle are never positive, so with few rows a row may be in no window. True fits extra
        windows for these rows, and only these, against all other rows, once per shuffle, so that every row has a
        score. False leaves them NaN, as in the paper.
    penalty : fitted Focus, optional
        Penalises the directions that the focus removes: ρ/2 vᵀ(I + γC)v instead of ρ/2 ‖v‖², with
        C = Σ f_i a_i a_iᵀ over the removed patterns at unit length, weighted by their distraction.
        If the detector will be cloned (a pipeline, a search), pass ``FrozenEstimator(focus)``.
    strength : float or "auto", default=1.0
        γ, the weight of that penalty; "auto" uses the weights that a soft removal would choose.
    n_jobs : int, optional
        Number of processes that fit shuffles in parallel; useful for runs of many seconds.
    progress : bool, optional
        A progress bar on a terminal: True always, False never, None on runs of more than two seconds.
    random_state : int, RandomState or None
        Seed of the shuffles.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The odds a/(1-a), or the mean margin. High is anomalous.
    probabilities_, margins_ : ndarray of shape (n,)
        The mean probability a, and the mean margin.
    counts_ : ndarray of shape (n,)
        The number of fits in which the row was positive.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[17] = 6.0
    >>> detector = DiscriminativeDetector(window=20, stride=10, random_state=0).fit(X)
    >>> int(detector.scores_.argmax())
    17
    >>> detector.anomaly_score([[0.0, 0.0, 0.0], [6.0, 6.0, 6.0]]).round(1)
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
        penalty: Any = None,
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

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Score the rows X (n, d) against each other; `y` is ignored."""
        X = validate_rows(self, X, reset=True)
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
        self._standard = CommonScaler.of(X) if self.standardise else CommonScaler.none(X)
        self._filter = make_penalty_filter(self.penalty, self.strength, n_features)
        # With more features than rows, use an orthonormal basis of the rows: then no array is d × d.
        self._basis = None
        if n_features > n_rows:
            self._basis = orthobasis(self._filter(self._standard(X)))  # (d, n)
        self._rows, _ = self._coordinates(X)

        # Small fits are fastest with one BLAS thread.
        with threadpool_limits(1 if self._rows.shape[1] < 256 else None, user_api="blas"):
            fits = self._run_orders(orders, windows, windows.spans(n_rows))
            total = reduce(add, [votes for votes, _ in fits])
            if self.cover and not total.count.all():
                missed = total.count == 0
                extra_orders = [extra for order in orders for extra in _move_missed_last(order, missed, self.window)]
                extra_fits = self._run_orders(extra_orders, windows, [windows.span(n_rows)])
                total = reduce(add, [votes.only(missed) for votes, _ in extra_fits], total)

        start, end = windows.spans(n_rows)[-1]
        self._models = [(last, order[start:end]) for (_, last), order in zip(fits, orders, strict=True)]
        self.counts_ = total.count
        nan_if_never = np.where(total.count == 0, np.nan, 1.0)
        self.probabilities_ = total.probability / np.maximum(total.count, 1) * nan_if_never
        self.margins_ = total.margin / np.maximum(total.count, 1) * nan_if_never
        self.scores_ = self._score(total.probability, total.complement, self.margins_) * nan_if_never
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d), each as one more positive row of the last window of every shuffle."""
        check_is_fitted(self)
        rows, outside = self._coordinates(validate_rows(self, X, reset=False))
        probability, complement, margins = np.zeros((3, len(rows)))
        for coefficients, order in self._models:
            margin = insert_as_positive(rows, outside, self._rows[order], self.window, coefficients, self.ridge)
            probability = probability + expit(margin)
            complement = complement + expit(-margin)
            margins = margins + margin
        return self._score(probability, complement, margins / len(self._models))

    def _check(self, n_rows: int) -> None:
        check_number("ridge", self.ridge, least=MIN_RIDGE, whole=False)
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
                f"Use window={n_rows // 2} or smaller, or more rows."
            )

    def _coordinates(self, X: Rows) -> tuple[Rows, Rows]:
        """Return rows z = [1; x], (n, q), and their squared length (n,) outside the span of the fitted rows."""
        filtered = self._filter(self._standard(X))
        outside = np.zeros(len(filtered))
        if self._basis is not None:
            inside = filtered @ self._basis
            outside = np.square(filtered - inside @ self._basis.T).sum(axis=1)
            filtered = inside
        return add_intercept(filtered), outside

    def _run_orders(self, orders: list[Order], windows: Windows, spans: list[Span]) -> list[tuple[WindowVotes, Rows]]:
        """Fit the windows of every order, several orders in parallel."""
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        results = jobs(delayed(WindowVotes.of)(self._rows, order, windows, spans) for order in orders)
        return list(track(results, total=len(orders), what="Shuffles", progress=self.progress))

    def _score(self, probability: Rows, complement: Rows, margins: Rows) -> Rows:
        if self.average == "margin":
            return margins
        return probability / np.maximum(complement, TINY)


def _move_missed_last(order: Order, missed: NDArray[np.bool_], window: int) -> list[Order]:
    """Return orders with up to one window of missed rows moved to the end; together they move all of them."""
    missed_rows = order[missed[order]]
    batches = np.split(missed_rows, range(window, len(missed_rows), window))
    return [np.concatenate([order[~np.isin(order, batch)], batch]) for batch in batches]


# Sliding windows over shuffled rows; a regression separates each window from the rows before it.
#
#     shuffled rows   0 ........ end - w | ....... end        end = 2w, 2w + stride, ... ≤ n
#                     negatives          | w positives
#
# With a buffer, only the last rows before the window are negatives.


@dataclass(frozen=True)
class Windows:
    """The positions of windows and the options of their fits; the names are those of `DiscriminativeDetector`."""

    size: int
    stride: int
    buffer: int | None
    ridge: float
    exact: bool

    def spans(self, n_rows: int) -> list[Span]:
        """Return the first row and the end of every window, negatives included."""
        return [self.span(end) for end in range(2 * self.size, n_rows + 1, self.stride)]

    def span(self, end: int) -> Span:
        """Return the first row and the end of the window with this end."""
        if self.buffer is None:
            return 0, end
        return max(0, end - self.buffer), end

    def fits(self, rows: Rows, spans: list[Span]) -> Iterator[Rows]:
        """Fit each window of the ordered rows (n, q); yield its coefficients (q,)."""
        n_features = rows.shape[1] - 1
        basis = None
        rotated = rows
        n_summed = 0
        running: Rows | None = None
        if spans[0][0] == 0 and spans[0][1] < n_features:
            # The first windows have fewer rows than features: rotated like this, they need as many columns as rows.
            basis = orthobasis(rows[:n_features, 1:])
            rotated = add_intercept(rows[:, 1:] @ basis)
        for start, end in spans:
            split = end - self.size
            if start == 0:
                # Negatives are only added, so their Gram matrix is updated.
                running = gram(rotated[n_summed:split], onto=running)
                n_summed = split
                window = rotated[:end, : end + 1]
                negative = running[: end + 1, : end + 1]
            else:
                # With a buffer rows also leave, so sum again: subtracting them would leave the rounding error of the
                # largest ones behind.
                window = rows[start:end]
                basis = None
                if end - start < n_features:
                    basis = orthobasis(window[:, 1:])
                    window = add_intercept(window[:, 1:] @ basis)
                negative = gram(window[: -self.size])
            positive = gram(window[-self.size :])
            if self.exact:
                v = newton_with_gram(window, self.size, self.ridge, negative, positive)
            else:
                v = newton_step_from_zero(negative, positive, split - start, self.size, self.ridge)
            if basis is not None:
                v = lift_coefficients(v, basis)
            yield v


@dataclass(frozen=True, eq=False)
class WindowVotes:
    """Sums over windows for their positive rows, each (n,); tallies of the same rows can be added."""

    count: NDArray[np.int64]
    probability: Rows
    complement: Rows
    margin: Rows

    @classmethod
    def of(cls, rows: Rows, order: Order, windows: Windows, spans: list[Span]) -> tuple[Self, Rows]:
        """Fit windows of the rows Z (n, q) in this order; return their tally and the coefficients of the last one."""
        n_rows = len(order)
        # Column-major order: the solvers' products with rows and with columns are then equally fast.
        ordered = np.asfortranarray(rows[order])
        tally = cls(np.zeros(n_rows, dtype=np.int64), *np.zeros((3, n_rows)))
        coefficients = np.zeros(rows.shape[1])
        for (_, end), coefficients in zip(spans, windows.fits(ordered, spans), strict=True):
            positive = order[end - windows.size : end]
            margin = ordered[end - windows.size : end] @ coefficients
            tally.count[positive] += 1
            tally.probability[positive] += expit(margin)
            # Summed separately: 1 - p has no digits left if p is nearly 1.
            tally.complement[positive] += expit(-margin)
            tally.margin[positive] += margin
        return tally, coefficients

    def __add__(self, other: WindowVotes) -> WindowVotes:
        return WindowVotes(
            self.count + other.count,
            self.probability + other.probability,
            self.complement + other.complement,
            self.margin + other.margin,
        )

    def only(self, keep: NDArray[np.bool_]) -> WindowVotes:
        """Return the tally of the selected rows, with zeros for the others."""
        return WindowVotes(self.count * keep, self.probability * keep, self.complement * keep, self.margin * keep)


def shuffles(
    n_rows: int, *, n_shuffles: int, block: int, permutations: Any, random: np.random.RandomState
) -> list[Order]:
    """Return several orders of the rows (n,): the given permutations, or random ones.

    Blocks of `block` consecutive rows stay together; the last block may be shorter.

    Examples
    --------
    >>> orders = shuffles(5, n_shuffles=1, block=2, permutations=None, random=np.random.RandomState(0))
    >>> orders[0]
    array([4, 2, 3, 0, 1])
    """
    if permutations is None:
        blocks = np.split(np.arange(n_rows), range(block, n_rows, block))
        return [np.concatenate([blocks[i] for i in random.permutation(len(blocks))]) for _ in range(n_shuffles)]
    try:
        orders = np.atleast_2d(np.asarray(permutations, dtype=np.intp))
    except (TypeError, ValueError) as error:
        raise InputError(f"permutations must be row numbers ({error}).") from error
    if (
        orders.ndim != 2
        or orders.shape[0] == 0
        or orders.shape[1] != n_rows
        or (np.sort(orders, axis=1) != np.arange(n_rows)).any()
    ):
        raise InputError(
            f"permutations must have shape (shuffles, {n_rows}), each row with 0 to {n_rows - 1} once, got shape "
            f"{orders.shape}."
        )
    return list(orders)


# Insert a new row into a fitted window: the margin it would have as one more positive row.
#
#     min over v' of  ½ (v' - v)ᵀH(v' - v) + c₁ log(1 + exp(-v'ᵀz))
#     →  m' = m + h c₁ (1 - σ(m')),     h = zᵀH⁻¹z
#
# The window's objective is replaced by its second-order expansion at the fit; the loss of the new row is kept exactly.
# This leaves one equation in one unknown per row, independent of the other rows.


def insert_as_positive(
    rows: Rows, outside: Rows, fitted: Rows, n_positive: int, coefficients: Rows, ridge: float
) -> Rows:
    """Return the margin m' (n,) that each new row would have as one more positive row of a fitted window.

    Parameters
    ----------
    rows : ndarray of shape (n, q)
        The new rows.
    outside : ndarray of shape (n,)
        Their squared length outside the span of the fitted rows. There H = ρI.
    fitted : ndarray of shape (t, q)
        The rows of the window, the `n_positive` positive ones last.
    coefficients : ndarray of shape (q,)
    ridge : float
    """
    sizes = [len(fitted) - n_positive, n_positive]
    weights = class_weights(*sizes)
    margin = fitted @ coefficients
    # σ(-m) instead of 1 - σ(m): the difference has no digits left if σ(m) is nearly 1.
    curvature = np.repeat(weights, sizes) * expit(margin) * expit(-margin)  # (t,)
    hessian = gram(fitted * np.sqrt(curvature)[:, None])  # (q, q)
    leverage = np.einsum("nq,qn->n", rows, ridge_solve(hessian, rows.T, ridge)) + outside / ridge
    return solve_margin(rows @ coefficients, np.maximum(leverage, TINY) * weights[1])


def solve_margin(margin: Rows, reach: Rows) -> Rows:
    """Solve m' = m + reach · σ(-m') for m', with a positive reach.

    Newton's method on the logarithm, log(m' - m) + log(1 + exp(m')) = log(reach), which is nearly linear even for a
    reach of 1e200. The solution is bracketed; if a step would leave the bracket, bisect instead.

    Examples
    --------
    >>> solve_margin(np.array([0.0]), np.array([2.0])).round(4)  # m' = 2 σ(-m')
    array([0.6748])
    """
    # Brackets: σ(-m') is 1/2 at 0 and at most exp(-m').
    positive_margin = np.maximum(margin, 0)
    low = np.where(margin + reach / 2 >= 0, positive_margin, margin + reach / 2)
    high = np.minimum(margin + reach, positive_margin + np.log1p(reach))
    current = high
    for _ in range(100):
        rise = np.maximum(current - margin, TINY)
        excess = np.log(rise) + np.logaddexp(0, current) - np.log(reach)
        low = np.where(excess < 0, current, low)
        high = np.where(excess > 0, current, high)
        step = current - excess / (1 / rise + expit(current))
        previous = current
        current = np.where((step > low) & (step < high), step, (low + high) / 2)
        if np.all(np.abs(current - previous) <= 1e-14 * (1 + np.abs(current))):
            break
    return np.asarray(current)
