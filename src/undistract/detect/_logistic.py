"""Exact ridge logistic regression with two classes, for many small fits in sequence.

    min over v of   ρ/2 ‖v‖² + Σ c_y log(1 + exp(-s vᵀz)),      s = ±1, z = [1; x]

The loss is a sum, the bias is one more penalised feature, and c₁ = |N|/(|N|+|P|), c₀ = |P|/(|N|+|P|), so that both
classes have the same total weight. Rows Z (t, q) have a first column of ones, negatives before positives. Of symmetric
matrices only the upper triangle is used.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, eigh, lapack
from scipy.special import expit

from undistract.detect.base import Rows

# A solver stops if the expected decrease of the loss is below this: probabilities are then accurate to 1e-7.
ENOUGH = 1e-14


def class_weights(n_negative: int, n_positive: int) -> tuple[float, float]:
    """Return the weights of one negative and one positive row: (c₀, c₁)."""
    n_rows = n_negative + n_positive
    return n_positive / n_rows, n_negative / n_rows


def add_intercept(X: Rows) -> Rows:
    """Add the constant 1 before the features: rows Z (n, d + 1), in column-major order."""
    return np.asfortranarray(np.column_stack([np.ones(len(X)), X]))


def orthobasis(X: Rows) -> Rows:
    """Return an orthonormal basis (d, r) of rows X (n, d); the first t rows need only its first t columns.

    The ridge penalty is invariant under rotation, so fits in these coordinates are the same fits, without d × d arrays.
    """
    return np.asarray(np.linalg.qr(X.T)[0])


def lift_coefficients(v: Rows, basis: Rows) -> Rows:
    """Map coefficients [bias; w] in the first coordinates of a basis (d, r) to the original features: (d + 1,)."""
    return np.concatenate([v[:1], basis[:, : len(v) - 1] @ v[1:]])


def gram(rows: Rows, onto: Rows | None = None) -> Rows:
    """Compute ZᵀZ of rows Z (t, q), upper triangle; with `onto`, add it in place to an earlier one."""
    if onto is None:
        return np.asarray(blas.dsyrk(1.0, rows, trans=1))
    return np.asarray(blas.dsyrk(1.0, rows, trans=1, beta=1.0, c=onto, overwrite_c=1))


def ridge_solve(matrix: Rows, right: Rows, ridge: float) -> Rows:
    """Solve (matrix + ridge·I) x = right for a positive semi-definite matrix."""
    ridged = _add_ridge(matrix, ridge)
    _, solution, failed = lapack.dposv(ridged, right)
    if failed:
        # The rows are so large that the ridge is lost in rounding. In exact arithmetic every eigenvalue is ≥ ridge.
        values, vectors = eigh(ridged, lower=False)
        solution = vectors / np.maximum(values, ridge) @ (vectors.T @ right)
    return np.asarray(solution)


def newton_step_from_zero(negative: Rows, positive: Rows, n_negative: int, n_positive: int, ridge: float) -> Rows:
    """Take one Newton step from zero, (q,), using only the Gram matrices of the two classes.

    At zero the curvature is at its maximum, c/4, so the step can fall short but never overshoots (Böhning and Lindsay,
    1988). The first feature is the constant 1, so the first row of a Gram matrix is the sum of the rows.
    """
    c0, c1 = class_weights(n_negative, n_positive)
    downhill = (c1 / 2) * positive[0] - (c0 / 2) * negative[0]  # (q,)
    return ridge_solve((c0 / 4) * negative + (c1 / 4) * positive, downhill, ridge)


# If the iteration diverges, it overflows silently, fails the gradient test, and `newton` solves the window.
@np.errstate(over="ignore", invalid="ignore")
def newton_with_gram(rows: Rows, n_positive: int, ridge: float, negative: Rows, positive: Rows) -> Rows:
    """Find the exact coefficients v (q,), given the Gram matrices of the two classes; faster than `newton`.

    Conjugate gradients on the objective (Daniel, 1967), preconditioned by its Hessian: first an approximation that
    gives every row the mean curvature of its class, which needs no pass over the rows, then the true one. A few steps,
    each with two matrix-vector products, replace as many Hessians. The stopping test uses the gradient, so the result
    is exact for any path; the rare window that does not converge is solved by `newton`.
    """
    n_negative = len(rows) - n_positive
    sizes = [n_negative, n_positive]
    target = np.repeat([0.0, 1.0], sizes)  # (t,)
    weight = np.repeat(class_weights(*sizes), sizes)  # (t,)
    v = newton_step_from_zero(negative, positive, n_negative, n_positive, ridge)
    start = v
    margin = rows @ v
    # A true Hessian costs about as much as q/16 steps, so with more features reuse it for longer.
    steps_per_hessian = max(6, len(v) // 16)
    for step in range(6 * steps_per_hessian):
        probability = expit(margin)
        curvature = weight * probability * (1 - probability)
        downhill = (weight * (target - probability)) @ rows - ridge * v
        if step == 0 or step % steps_per_hessian == steps_per_hessian // 3:
            if step == 0:
                hessian = curvature[:n_negative].mean() * negative + curvature[n_negative:].mean() * positive
            else:
                hessian = gram(rows * np.sqrt(curvature)[:, None])
            factor, failed = lapack.dpotrf(_add_ridge(hessian, ridge), clean=0, overwrite_a=1)
            # Restart: directions under another preconditioner are not conjugate.
            direction = np.zeros_like(v)
            previous_downhill = downhill
            previous_gain = np.inf
            if failed:
                break
        newton_step, _ = lapack.dpotrs(factor, downhill)
        gain = downhill @ newton_step
        if gain < ENOUGH:
            return np.asarray(v + newton_step)
        # Polak-Ribière with a restart if the factor is negative.
        direction = newton_step + max(0.0, (gain - previous_downhill @ newton_step) / previous_gain) * direction
        margin_step = rows @ direction
        curvature_along = ridge * (direction @ direction) + (curvature * margin_step) @ margin_step
        length = (downhill @ direction) / curvature_along
        v = v + length * direction
        margin = margin + length * margin_step
        previous_downhill = downhill
        previous_gain = gain
    return newton(rows, n_positive, ridge, start=start)


def newton(rows: Rows, n_positive: int, ridge: float, *, start: Rows | None = None) -> Rows:
    """Find the exact coefficients v (q,) by Newton's method with a line search; every step lowers the objective.

    Examples
    --------
    >>> rows = add_intercept(np.array([[-1.0], [1.0]]))
    >>> newton(rows, 1, ridge=1.0).round(4)  # no bias, by symmetry, and v = 1 - σ(v)
    array([0.    , 0.4011])
    """
    if len(rows) < rows.shape[1] - 1:
        basis = orthobasis(rows[:, 1:])
        return lift_coefficients(newton(add_intercept(rows[:, 1:] @ basis), n_positive, ridge), basis)
    sizes = [len(rows) - n_positive, n_positive]
    sign = np.repeat([-1.0, 1.0], sizes)  # (t,)
    weight = np.repeat(class_weights(*sizes), sizes)  # (t,)
    v = np.zeros(rows.shape[1])
    if start is not None:
        v = start
    margin = rows @ v
    value = ridge / 2 * (v @ v) + weight @ np.logaddexp(0.0, -sign * margin)
    for _ in range(200):
        wrong = expit(-sign * margin)  # (t,) the predicted probability of the other class
        downhill = (weight * sign * wrong) @ rows - ridge * v
        hessian = gram(rows * np.sqrt(weight * wrong * (1 - wrong))[:, None])
        step = ridge_solve(hessian, downhill, ridge)
        gain = downhill @ step
        if gain < ENOUGH:
            return v + step
        margin_step = rows @ step
        length = 1.0
        # Backtrack until the decrease is at least 1e-4 of the predicted one (Armijo's rule).
        while length > 1e-9:
            next_v = v + length * step
            next_margin = margin + length * margin_step
            next_value = ridge / 2 * (next_v @ next_v) + weight @ np.logaddexp(0.0, -sign * next_margin)
            if value - next_value >= 1e-4 * length * gain:
                break
            length /= 2
        else:
            return v  # rounding hides any further descent
        v = next_v
        margin = next_margin
        value = next_value
    return v


def _add_ridge(matrix: Rows, ridge: float) -> Rows:
    """Return a copy, in column-major order for LAPACK, with the ridge added to the diagonal."""
    ridged = np.array(matrix, order="F")
    ridged.ravel(order="K")[:: len(ridged) + 1] += ridge
    return ridged
