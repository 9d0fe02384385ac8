"""How a new row would have scored, had it been one more positive row of a fitted window.

    min over v' of  ½ (v' - v)ᵀH(v' - v) + c₁ log(1 + exp(-v'ᵀz))
    →  m' = m + h c₁ (1 - σ(m')),     h = zᵀH⁻¹z

The window's own objective is replaced by its parabola at the fit, the new row's loss is kept as it is. That
is one equation in one unknown for each row: none needs to know of another.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from undistract.arrays import TINY
from undistract.detect.logistic import class_weights, divided, gram
from undistract.detect.rows import Rows


def as_positive(rows: Rows, outside: Rows, fitted: Rows, n_positive: int, coefficients: Rows, ridge: float) -> Rows:
    """Find the margin m' (n,) that each new row would have among the positives of a fitted window.

    Parameters
    ----------
    rows : ndarray of shape (n, q)
        The new rows.
    outside : ndarray of shape (n,)
        Their squared length in directions that no fitted row has, where H is ρ.
    fitted : ndarray of shape (t, q)
        The rows of the window, the `n_positive` positive ones last.
    coefficients : ndarray of shape (q,)
    ridge : float
    """
    sizes = [len(fitted) - n_positive, n_positive]
    weights = class_weights(*sizes)
    margin = fitted @ coefficients
    curve = np.repeat(weights, sizes) * expit(margin) * expit(-margin)  # (t,)
    hessian = gram(fitted * np.sqrt(curve)[:, None])  # (q, q)
    leverage = np.einsum("nq,qn->n", rows, divided(hessian, rows.T, ridge)) + outside / ridge
    return risen(rows @ coefficients, np.maximum(leverage, TINY) * weights[1])


def risen(margin: Rows, reach: Rows) -> Rows:
    """Solve m' = m + reach · σ(-m') for m', with a positive reach.

    Newton's method on the logarithm, log(m' - m) + log(1 + exp(m')) = log(reach), which is nearly straight
    even for a reach of 1e200, inside a bracket that is halved where a step would leave it.

    Examples
    --------
    >>> risen(np.array([0.0]), np.array([2.0])).round(4)  # m' = 2 σ(-m')
    array([0.6748])
    """
    least = np.maximum(margin, 0)
    low = np.where(margin + reach / 2 >= 0, least, margin + reach / 2)
    high = now = np.minimum(margin + reach, least + np.log1p(reach))
    for _ in range(100):
        rise = np.maximum(now - margin, TINY)
        excess = np.log(rise) + np.logaddexp(0, now) - np.log(reach)
        low, high = np.where(excess < 0, now, low), np.where(excess > 0, now, high)
        step = now - excess / (1 / rise + expit(now))
        now, before = np.where((step > low) & (step < high), step, (low + high) / 2), now
        if np.all(np.abs(now - before) <= 1e-14 * (1 + np.abs(now))):
            break
    return np.asarray(now)
