"""Which row belongs to which set: labels of any hashable kind become numbers 0 .. M-1."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from undistract.arrays import Ints
from undistract.errors import InputError


def sort_sets(labels: Any, n_rows: int) -> tuple[tuple[Hashable, ...], Ints, Ints | None]:
    """Find the order that puts the rows of one set side by side.

    Parameters
    ----------
    labels : sequence of hashables
        One label per row.
    n_rows : int
        How many there must be.

    Returns
    -------
    names : tuple of hashables
        The distinct labels, in order of appearance.
    counts : (M,) array of int
        How many rows each set has.
    order : (n_rows,) array of int, or None where rows of one set already stand side by side

    Examples
    --------
    >>> sort_sets(["tue", "mon", "tue"], 3)
    (('tue', 'mon'), array([2, 1]), array([0, 2, 1]))
    >>> sort_sets(np.array([7, 7, 3, 3]), 4)
    ((7, 3), array([2, 2]), None)
    """
    array = _checked(labels, n_rows)
    grouped = _grouped(array)
    if grouped is not None:
        return *grouped, None
    names, codes = _numbered(array)
    order = None if (np.diff(codes) >= 0).all() else np.argsort(codes, kind="stable")
    return names, np.bincount(codes, minlength=len(names)), order


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
    return _numbered(_checked(labels, n_rows))


def _checked(labels: Any, n_rows: int) -> Any:
    array = _one_dimensional(labels)
    if len(array) != n_rows:
        raise InputError(f"sets has {len(array)} labels for {n_rows} rows; give one label per row.")
    return array


def _numbered(array: Any) -> tuple[tuple[Hashable, ...], Ints]:
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


def _grouped(array: Any) -> tuple[tuple[Hashable, ...], Ints] | None:
    """Name and count labels that stand side by side, without sorting all of them; None where they do not."""
    if array.dtype.kind not in "biuSU" or not len(array):  # others may be missing, or equal and yet different
        return None
    bounds = np.concatenate([[0], np.flatnonzero(array[1:] != array[:-1]) + 1, [len(array)]])
    found = array[bounds[:-1]]
    names = _python_objects(found)
    rising = array.dtype.kind in "iu" and bool((found[1:] > found[:-1]).all())  # then none comes back
    return (names, np.diff(bounds)) if rising or len(set(names)) == len(names) else None


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
