"""Which row belongs to which set: labels of any hashable kind become numbers 0 .. M-1."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from undistract.arrays import Ints
from undistract.errors import InputError


def number_sets(labels: Any, n_rows: int) -> tuple[tuple[Hashable, ...], Ints]:
    """Give each distinct label a number, in order of appearance.

    Parameters
    ----------
    labels : sequence of hashables
        One label per row: strings, numbers, tuples, dates, or a mixture of them.
    n_rows : int
        How many there must be.

    Returns
    -------
    names : tuple of hashables
        The distinct labels, M of them.
    codes : (n_rows,) array of int
        For every row the position of its label in `names`.

    Examples
    --------
    >>> number_sets(["tue", "mon", "tue"], 3)
    (('tue', 'mon'), array([0, 1, 0]))
    >>> number_sets([("cam", 1), 7, ("cam", 1)], 3)
    ((('cam', 1), 7), array([0, 1, 0]))
    """
    array = _one_dimensional(labels)
    if len(array) != n_rows:
        raise InputError(f"sets has {len(array)} labels for {n_rows} rows; give one label per row.")
    if array.dtype.kind in "biufSUMm":
        found, first, codes = np.unique(array, return_index=True, return_inverse=True)
        if found.dtype.kind in "fMm" and np.isnan(found[-1]):  # NaN and NaT sort last
            raise _missing(int(np.argmax(np.isnan(array))))
        appearance = np.argsort(first)
        return _python_objects(found[appearance]), np.argsort(appearance)[codes]
    numbers: dict[Hashable, int] = {}
    try:
        codes = np.fromiter((numbers.setdefault(label, len(numbers)) for label in array), np.int64, len(array))
    except TypeError as error:
        raise InputError(f"A set label must be hashable, such as a string, a number or a tuple: {error}.") from error
    for name, number in numbers.items():
        if _is_missing(name):
            raise _missing(int(np.argmax(codes == number)))
    return tuple(numbers), codes


def _one_dimensional(labels: Any) -> Any:
    """Keep arrays and columns as they are; a list stays a list of its own objects (1 and "1" are two labels)."""
    if np.ma.isMaskedArray(labels) and np.ma.getmaskarray(labels).any():
        raise _missing(int(np.argmax(np.ma.getmaskarray(labels))))
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
    elif isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
        raise InputError(f"sets is {labels!r}; expected one label per row, such as a list, an array or a column.")
    else:
        listed = list(labels)
        array = np.empty(len(listed), dtype=object)
        for position, label in enumerate(listed):
            array[position] = label
    if array.ndim != 1:
        raise InputError(f"sets has shape {array.shape}; expected one label per row, shape (rows,).")
    return array


def _python_objects(found: Any) -> tuple[Hashable, ...]:
    """Return labels as Python holds them: a day is one set whether it comes as numpy's or as Python's own."""
    if found.dtype.kind == "M":
        rounded = found.astype("datetime64[us]")  # numpy turns anything finer into bare integers
        found = rounded if (rounded == found).all() else found
    return tuple(found.tolist())


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)  # NaN and NaT, of any library, differ from themselves
    except TypeError:  # pandas' NA is neither equal nor different
        return True


def _missing(row: int) -> InputError:
    return InputError(f"Row {row} has no set label (missing or NaN). Name its set, or drop the row.")
