"""Ridge logistic regression of two classes, exactly, for many small fits in a row.

    min over v of   ρ/2 ‖v‖² + Σ c_y log(1 + exp(-s vᵀz)),      s = ±1, z = [1; x]

The loss is a sum, the bias is one more penalised feature, and c₁ = |N|/(|N|+|P|), c₀ = |P|/(|N|+|P|), so that
both classes weigh the same. Rows Z (t, q) come with a first column of ones, negatives before positives. Of
symmetric matrices only the upper triangle is kept.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, eigh, lapack
from scipy.special import expit

from undistract.detect.rows import Rows

# What is left to gain, in units of the loss, when a solver stops: probabilities are then right to 1e-7.
ENOUGH = 1e-14


def class_weights(n_negative: int, n_positive: int) -> tuple[float, float]:
    """Weigh one negative and one positive row: (c₀, c₁)."""
    n_rows = n_negative + n_positive
    return n_positive / n_rows, n_negative / n_rows


def with_one(X: Rows) -> Rows:
    """Put the constant 1 before the features: rows Z (n, d + 1), columns together in memory."""
    return np.asfortranarray(np.column_stack([np.ones(len(X)), X]))


def span(X: Rows) -> Rows:
    """Find an orthonormal basis (d, r) of rows X (n, d), whose first t need its first t columns only.

    The ridge does not see a rotation, so fits in these coordinates are the same fits, and nothing is d × d.
    """
    return np.asarray(np.linalg.qr(X.T)[0])


def unspan(v: Rows, basis: Rows) -> Rows:
    """Bring coefficients [bias; w] back from the first coordinates of a basis (d, r): (d + 1,)."""
    return np.concatenate([v[:1], basis[:, : len(v) - 1] @ v[1:]])


def gram(rows: Rows, onto: Rows | None = None) -> Rows:
    """Form ZᵀZ of rows Z (t, q); in place when added `onto` an earlier one."""
    if onto is None:
        return np.asarray(blas.dsyrk(1.0, rows, trans=1))
    return np.asarray(blas.dsyrk(1.0, rows, trans=1, beta=1.0, c=onto, overwrite_c=1))


def divided(matrix: Rows, right: Rows, ridge: float) -> Rows:
    """Solve (matrix + ridge·I) x = right for a positive semi-definite matrix."""
    eased = _eased(matrix, ridge)
    _, solution, failed = lapack.dposv(eased, right)
    if failed:
        # Rows so large that the ridge is lost in rounding: the exact matrix has no eigenvalue below it.
        values, vectors = eigh(eased, lower=False)
        solution = vectors / np.maximum(values, ridge) @ (vectors.T @ right)
    return np.asarray(solution)


def first_step(negative: Rows, positive: Rows, n_negative: int, n_positive: int, ridge: float) -> Rows:
    """Take one Newton step from zero, to (q,), out of the two classes' Gram matrices alone.

    At zero the curvature is at its largest, c/4, so the step can fall short but never overshoots
    (Böhning and Lindsay, 1988). The first feature is the constant 1: its row holds the sums of the rows.
    """
    c0, c1 = class_weights(n_negative, n_positive)
    downhill = (c1 / 2) * positive[0] - (c0 / 2) * negative[0]  # (q,)
    return divided((c0 / 4) * negative + (c1 / 4) * positive, downhill, ridge)


# A window that runs away overflows quietly here, fails the test of the gradient, and goes to `newton`.
@np.errstate(over="ignore", invalid="ignore")
def descend(rows: Rows, n_positive: int, ridge: float, negative: Rows, positive: Rows) -> Rows:
    """Find the exact coefficients v (q,), quickly, when the two classes' Gram matrices are at hand.

    Conjugate gradients on the objective itself (Daniel, 1967), seen through its Hessian: first one that gives
    every row of a class that class's mean curvature, which costs no pass over the rows, then the true one. A
    few steps, each of two products with a vector, replace as many Hessians. It stops on the gradient, so what
    it returns is right however it came there; the rare window that defeats it goes to `newton`.
    """
    n_negative = len(rows) - n_positive
    sizes = [n_negative, n_positive]
    target, weight = np.repeat([0.0, 1.0], sizes), np.repeat(class_weights(*sizes), sizes)  # (t,)
    start = v = first_step(negative, positive, n_negative, n_positive, ridge)
    margin = rows @ v
    # A true Hessian costs about as much as q/16 steps, so the wider the rows the longer it serves.
    every = max(6, len(v) // 16)
    for step in range(6 * every):
        probability = expit(margin)
        curve = weight * probability * (1 - probability)
        downhill = (weight * (target - probability)) @ rows - ridge * v
        if step == 0 or step % every == every // 3:
            if step == 0:
                hessian = curve[:n_negative].mean() * negative + curve[n_negative:].mean() * positive
            else:
                hessian = gram(rows * np.sqrt(curve)[:, None])
            factor, failed = lapack.dpotrf(_eased(hessian, ridge), clean=0, overwrite_a=1)
            direction, last, last_gain = np.zeros_like(v), downhill, np.inf
            if failed:
                break
        newton_step, _ = lapack.dpotrs(factor, downhill)
        gain = downhill @ newton_step
        if gain < ENOUGH:
            return np.asarray(v + newton_step)
        direction = newton_step + max(0.0, (gain - last @ newton_step) / last_gain) * direction
        moved = rows @ direction
        length = (downhill @ direction) / (ridge * (direction @ direction) + (curve * moved) @ moved)
        v, margin = v + length * direction, margin + length * moved
        last, last_gain = downhill, gain
    return newton(rows, n_positive, ridge, start=start)


def newton(rows: Rows, n_positive: int, ridge: float, *, start: Rows | None = None) -> Rows:
    """Find the exact coefficients v (q,) by Newton's method; every step lowers the objective, so it must end.

    Examples
    --------
    >>> rows = with_one(np.array([[-1.0], [1.0]]))
    >>> newton(rows, 1, ridge=1.0).round(4)  # no bias, by symmetry, and v = 1 - σ(v)
    array([0.    , 0.4011])
    """
    if len(rows) < rows.shape[1] - 1:
        basis = span(rows[:, 1:])
        return unspan(newton(with_one(rows[:, 1:] @ basis), n_positive, ridge), basis)
    sizes = [len(rows) - n_positive, n_positive]
    sign, weight = np.repeat([-1.0, 1.0], sizes), np.repeat(class_weights(*sizes), sizes)  # (t,)
    v = np.zeros(rows.shape[1]) if start is None else start
    margin = rows @ v
    value = ridge / 2 * (v @ v) + weight @ np.logaddexp(0.0, -sign * margin)
    for _ in range(200):
        wrong = expit(-sign * margin)  # (t,) the probability given to the other class
        downhill = (weight * sign * wrong) @ rows - ridge * v
        hessian = gram(rows * np.sqrt(weight * wrong * (1 - wrong))[:, None])
        step = divided(hessian, downhill, ridge)
        gain = downhill @ step
        if gain < ENOUGH:
            return v + step
        moved, length = rows @ step, 1.0
        while length > 1e-9:
            next_v, next_margin = v + length * step, margin + length * moved
            next_value = ridge / 2 * (next_v @ next_v) + weight @ np.logaddexp(0.0, -sign * next_margin)
            if value - next_value >= 1e-4 * length * gain:
                break
            length /= 2
        else:
            return v  # rounding hides any further descent
        v, margin, value = next_v, next_margin, next_value
    return v


def _eased(matrix: Rows, ridge: float) -> Rows:
    """Copy the matrix, in LAPACK's order, and add the ridge to its diagonal."""
    eased = np.array(matrix, order="F")
    eased.ravel(order="K")[:: len(eased) + 1] += ridge
    return eased
