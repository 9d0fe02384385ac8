"""Names for the arrays that are passed around, and the check at the doors where rows come in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[Any]  # (n, d) numbers of any real dtype; widened to float64 block by block


def as_rows(rows: Any, owner: str = "X", *, check_finite: bool = True, n_before: int = 0) -> Rows:
    """Return `rows` as a finite, numeric array of shape (n, d), or say what is wrong with it.

    `n_before` rows of the same owner came before these: a row is told by its place among all.

    Examples
    --------
    >>> as_rows([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> as_rows([1.0, 2.0], "set 'a'")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: set 'a' has shape (2,), expected (rows, features)...
    """
    if hasattr(rows, "toarray"):
        raise InputError(f"{owner} is sparse; a projection fills it anyway. Call .toarray() on it first.")
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise InputError(f"{owner} has rows of different lengths; give every row the same features.") from error
    if array.ndim != 2:
        raise InputError(
            f"{owner} has shape {array.shape}, expected (rows, features). "
            "Use .reshape(-1, 1) for one feature, .reshape(1, -1) for one row."
        )
    if array.dtype == object:
        # Frames of nullable columns come as objects; they are numbers all the same.
        with suppress(TypeError, ValueError):
            array = array.astype(np.float64)
    if array.dtype.kind not in "buif":
        raise InputError(f"{owner} has dtype {array.dtype}, expected real numbers. Encode or drop such features.")
    if 0 in array.shape:
        raise InputError(f"{owner} is empty: shape {array.shape}. Leave it out, or give it rows.")
    if check_finite and array.dtype.kind == "f":
        _check_finite(array, owner, n_before)
    return array


def _check_finite(array: Rows, owner: str, n_before: int) -> None:
    # Block by block: an answer for every number of a long array would be an array as long.
    step = max(1, 2**20 // array.shape[1])
    for start in range(0, len(array), step):
        finite = np.isfinite(array[start : start + step])
        if not finite.all():
            row, feature = np.argwhere(~finite)[0] + [start, 0]
            raise InputError(
                f"{owner} holds {array[row, feature]} at row {n_before + row}, feature {feature}. "
                "Drop such rows or impute them first."
            )


# Variances outside of this leave no room for products: squares of 1e155 overflow, squares of 1e-162 vanish.
SMALLEST, LARGEST = 1e-290, 1e290
# The least that can be divided by without losing digits: for what may be zero, and then stands below a zero.
TINY = float(np.finfo(np.float64).tiny)


def quiet() -> np.errstate:
    """Let numbers overflow without a word; `check_range` says it better."""
    return np.errstate(over="ignore", under="ignore", invalid="ignore")


# Kernels of some BLAS touch what lies beside a small matrix, and flag what they find there; their results are right.
multiplying = np.errstate(invalid="ignore")


def check_range(variances: Floats, moved: Bools) -> None:
    """Refuse rows so large that their squares overflow, or so small that these vanish.

    Parameters
    ----------
    variances : (d,) array
        Of the features, in any weighting.
    moved : (d,) array of bool
        Whether a feature varied at all.
    """
    outside = ~(variances <= LARGEST) | (moved & (variances < SMALLEST))  # NaN is outside
    if outside.any():
        feature = int(np.argmax(outside))
        raise InputError(
            f"Feature {feature} varies on a scale whose squares leave the range of numbers (beyond 1e145, or below "
            "1e-145). Bring the features to a common scale first, for example with sklearn.preprocessing.RobustScaler."
        )


def same_features(here: int, there: int, other: str) -> None:
    """Refuse to join rows of different width."""
    if here != there:
        raise InputError(f"{other} has {there} features, the others have {here}. Every set needs the same features.")


def listed(names: Sequence[Hashable]) -> str:
    """Name the first few of many, for a message.

    Examples
    --------
    >>> listed("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
