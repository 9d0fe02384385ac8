"""Array types, and the checks for rows at public entry points."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[Any]  # (n, d) numbers of any real dtype; widened to float64 block by block


def as_rows(rows: Any, owner: str = "X", *, check_finite: bool = True, n_before: int = 0) -> Rows:
    """Return `rows` as a finite, numeric array of shape (n, d), or raise an `InputError` that explains the problem.

    `owner` names the array in messages. If it arrives in chunks, `n_before` rows came before this chunk, so that a
    message gives the row number in the complete array.

    Examples
    --------
    >>> as_rows([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> as_rows([1.0, 2.0], "Group 'a'")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Group 'a' has shape (2,), expected (rows, features)...
    """
    if hasattr(rows, "toarray"):
        raise InputError(f"{owner} is sparse, but the projection makes it dense. Call .toarray() first.")
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise InputError(f"{owner} has rows of different lengths. Use the same features in every row.") from error
    if array.ndim != 2:
        raise InputError(
            f"{owner} has shape {array.shape}, expected (rows, features). "
            "Use .reshape(-1, 1) for one feature, .reshape(1, -1) for one row."
        )
    if array.dtype == object:
        # A data frame with nullable columns has dtype object although it holds numbers.
        with suppress(TypeError, ValueError):
            array = array.astype(np.float64)
    if array.dtype.kind not in "buif":
        raise InputError(f"{owner} has dtype {array.dtype}, expected real numbers. Encode or drop such features.")
    if 0 in array.shape:
        raise InputError(f"{owner} is empty: shape {array.shape}. Leave it out, or add rows.")
    if check_finite and array.dtype.kind == "f":
        _check_finite(array, owner, n_before)
    return array


def _check_finite(array: Rows, owner: str, n_before: int) -> None:
    # In blocks of about a million values, because the boolean mask of a long array would be as long as the array.
    step = max(1, 2**20 // array.shape[1])
    for start in range(0, len(array), step):
        finite = np.isfinite(array[start : start + step])
        if not finite.all():
            row, feature = np.argwhere(~finite)[0] + [start, 0]
            raise InputError(
                f"{owner} holds {array[row, feature]} at row {n_before + row}, feature {feature}. "
                "Drop such rows or impute them first."
            )


# Variances outside this range cannot be multiplied: squares of 1e155 overflow, squares of 1e-162 underflow to 0.
SMALLEST, LARGEST = 1e-290, 1e290
# The smallest normal number: a safe lower bound for a denominator that may be 0 (if it is, so is the numerator).
TINY = float(np.finfo(np.float64).tiny)


def ignore_fp_warnings() -> np.errstate:
    """Suppress floating-point warnings; `check_range` reports overflow explicitly."""
    return np.errstate(over="ignore", under="ignore", invalid="ignore")


# Some BLAS kernels read past the end of small matrices and set the invalid flag, although the result is correct.
ignore_blas_flags = np.errstate(invalid="ignore")


def check_range(variances: Floats, moved: Bools) -> None:
    """Raise `InputError` if squares of the rows overflow or underflow.

    Parameters
    ----------
    variances : (d,) array
        Variances of the features, in any weighting.
    moved : (d,) array of bool
        Whether a feature varied at all.
    """
    outside = ~(variances <= LARGEST) | (moved & (variances < SMALLEST))  # NaN counts as outside
    if outside.any():
        feature = int(np.argmax(outside))
        raise InputError(
            f"Feature {feature} varies on a scale whose squares leave the range of numbers (1e-145 to 1e145). "
            "Bring the features to a common scale first, for example with sklearn.preprocessing.RobustScaler."
        )


def check_same_n_features(expected: int, actual: int, name: str) -> None:
    """Raise `InputError` if rows of different width would be joined."""
    if expected != actual:
        raise InputError(
            f"{name} has {actual} features, the others have {expected}. Every group needs the same features."
        )


def check_number(name: str, value: Any, *, least: float = -np.inf, most: float = np.inf, whole: bool = True) -> None:
    """Raise an InputError unless an option is a finite number (a whole one by default) from `least` to `most`."""
    kind: Any = Integral if whole else Real
    if isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most and abs(value) < np.inf:
        return
    expected = "a whole number" if whole else "a number"
    limits = f"of at least {least:g}" if most == np.inf else f"from {least:.10g} to {most:.10g}"
    raise InputError(f"{name} must be {expected} {limits}, got {value!r}.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise an InputError unless an option is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
