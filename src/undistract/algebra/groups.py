"""Group labels and collections of groups. This is the only code that knows what they look like."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from undistract._arrays import Floats, Ints
from undistract._text import format_names
from undistract.errors import InputError

Weights = str | Mapping[Any, float] | Sequence[float]


def sort_groups(labels: Any, n_rows: int) -> tuple[tuple[Hashable, ...], Ints, Ints | None]:
    """Return the groups and the permutation that sorts rows by group.

    Parameters
    ----------
    labels : sequence of hashables
        One label per row.
    n_rows : int
        The expected number of labels.

    Returns
    -------
    names : tuple of hashables
        The distinct labels, in order of appearance.
    counts : (M,) array of int
        The number of rows of each group.
    order : (n_rows,) array of int, or None if rows are already sorted by group

    Examples
    --------
    >>> sort_groups(["tue", "mon", "tue"], 3)
    (('tue', 'mon'), array([2, 1]), array([0, 2, 1]))
    >>> sort_groups(np.array([7, 7, 3, 3]), 4)
    ((7, 3), array([2, 2]), None)
    """
    array = _label_array(labels, n_rows)
    # Labels that are already grouped need no sorting. Other types than these can be missing (NaN), or equal and yet
    # different objects (1 and True): they take the slow path.
    if array.dtype.kind in "biuSU" and len(array):
        bounds = np.concatenate([[0], np.flatnonzero(array[1:] != array[:-1]) + 1, [len(array)]])
        firsts = array[bounds[:-1]]
        names = tuple(firsts.tolist())
        # With 100 000 groups, the comparison is far faster than a set.
        rising = array.dtype.kind in "iu" and bool((firsts[1:] > firsts[:-1]).all())
        if rising or len(set(names)) == len(names):
            return names, np.diff(bounds), None
    names, codes = _number(array)
    counts = np.bincount(codes, minlength=len(names))
    if (np.diff(codes) >= 0).all():
        return names, counts, None
    return names, counts, np.argsort(codes, kind="stable")


def number_groups(labels: Any, n_rows: int) -> tuple[tuple[Hashable, ...], Ints]:
    """Assign numbers to the distinct labels, in order of appearance.

    Parameters
    ----------
    labels : sequence of hashables
        One label per row: strings, numbers, tuples, dates, or a mixture.
    n_rows : int
        The expected number of labels.

    Returns
    -------
    names : tuple of hashables
        The distinct labels, M of them.
    codes : (n_rows,) array of int
        For every row, the index of its label in `names`.

    Examples
    --------
    >>> number_groups(["tue", "mon", "tue"], 3)
    (('tue', 'mon'), array([0, 1, 0]))
    >>> number_groups([("cam", 1), 7, ("cam", 1)], 3)
    ((('cam', 1), 7), array([0, 1, 0]))
    """
    return _number(_label_array(labels, n_rows))


def _label_array(labels: Any, n_rows: int) -> Any:
    """Return labels as a one-dimensional array. A list becomes an object array: 1 and "1" are two labels."""
    if np.ma.isMaskedArray(labels) and np.ma.getmaskarray(labels).any():
        raise _missing(int(np.argmax(np.ma.getmaskarray(labels))))
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
    elif isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
        raise InputError(f"groups must have one label per row, such as a list, an array or a column, got {labels!r}.")
    else:
        objects = list(labels)
        array = np.empty(len(objects), dtype=object)
        for position, label in enumerate(objects):
            array[position] = label
    if array.ndim != 1:
        raise InputError(f"groups must have one label per row, shape (rows,), got shape {array.shape}.")
    if len(array) != n_rows:
        raise InputError(f"groups has {len(array)} labels for {n_rows} rows. Give one label per row.")
    return array


def _number(array: Any) -> tuple[tuple[Hashable, ...], Ints]:
    if array.dtype.kind in "biufSUMm":
        distinct, first, codes = np.unique(array, return_index=True, return_inverse=True)
        if distinct.dtype.kind in "fMm" and np.isnan(distinct[-1]):  # NaN and NaT sort last
            raise _missing(int(np.argmax(np.isnan(array))))
        appearance = np.argsort(first)
        distinct = distinct[appearance]
        if distinct.dtype.kind == "M":
            # numpy dates and Python dates name the same group. `tolist` turns datetime64[ns] into integers, so use
            # microseconds if this loses nothing.
            rounded = distinct.astype("datetime64[us]")
            if (rounded == distinct).all():
                distinct = rounded
        return tuple(distinct.tolist()), np.argsort(appearance)[codes]
    numbers: dict[Hashable, int] = {}
    try:
        codes = np.fromiter((numbers.setdefault(label, len(numbers)) for label in array), np.int64, len(array))
    except TypeError as error:
        raise InputError(f"A group label must be hashable, such as a string, a number or a tuple: {error}.") from error
    for name, number in numbers.items():
        if _is_missing(name):
            raise _missing(int(np.argmax(codes == number)))
    return tuple(numbers), codes


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)  # NaN and NaT of any library differ from themselves
    except TypeError:  # pandas.NA has no truth value
        return True


def _missing(row: int) -> InputError:
    return InputError(f"Row {row} has no group label (missing or NaN). Add a label, or drop the row.")


def iter_groups(groups: Any) -> Iterator[tuple[Hashable, Any]]:
    """Yield the name and the content of every group.

    Parameters
    ----------
    groups : mapping or iterable
        A mapping from name to content, or an iterable of (name, content) pairs, of rows (named 0, 1, …), or of objects
        with a ``name`` and a method ``chunks()``, such as a Source. The content is not touched: it may be an array, a
        frame, a lazy array, a GroupMoments, or such an object.

    Examples
    --------
    >>> list(iter_groups({"mon": [[1, 2]], "tue": [[3, 4], [5, 6]]}))
    [('mon', [[1, 2]]), ('tue', [[3, 4], [5, 6]])]
    >>> list(iter_groups([[[1, 2]], [[3, 4]]]))
    [(0, [[1, 2]]), (1, [[3, 4]])]
    """
    is_single = (isinstance(groups, np.ndarray) and groups.ndim < 3) or isinstance(groups, str | bytes)
    if is_single or hasattr(groups, "columns") or hasattr(groups, "toarray") or not isinstance(groups, Iterable):
        raise InputError(
            f"Expected several groups, such as a list of arrays or a mapping from name to rows, got one "
            f"{type(groups).__name__}. For one array of rows with a label per row use fit(X, groups=labels)."
        )
    if isinstance(groups, Mapping):
        yield from groups.items()
        return
    for number, item in enumerate(groups):
        if has_chunks(item):
            yield item.name, item
        elif isinstance(item, tuple | list) and len(item) == 2 and is_pair(*item):
            yield item[0], item[1]
        else:
            yield number, item


def has_chunks(content: Any) -> bool:
    """Return True for a Source: an object with a name and a method `chunks()` (Dask arrays have a tuple `chunks`)."""
    return hasattr(content, "name") and callable(getattr(content, "chunks", None))


def is_pair(first: Any, second: Any) -> bool:
    """Return True for a name and a content, False for a group that was written as two rows."""
    if isinstance(first, str | bytes):
        return True
    if not isinstance(first, Hashable):
        return False
    # A tuple and a sequence are either two rows, or a name and rows; rows have two dimensions.
    is_sequence = isinstance(second, tuple | list | np.ndarray)
    return not isinstance(first, tuple) or not is_sequence or np.ndim(second) == 2


def duplicate_group_error(name: Hashable) -> InputError:
    """Return the error for a group that occurs twice."""
    return InputError(
        f"Group {name!r} is already in these moments. Join its parts as GroupMoments first, then add the group once."
    )


@dataclass(frozen=True)
class Prior:
    """A rule that gives each group its weight; P_m is the weight divided by the sum of all weights.

    Examples
    --------
    >>> import numpy as np
    >>> Prior.of("by_size").weights(("mon", "tue"), np.array([10, 30]))
    array([10., 30.])
    >>> Prior.of({"mon": 2.0, "tue": 1.0}).weights(("tue",), np.array([30]))
    array([1.])
    """

    kind: str  # "uniform", "by_size" or "given"
    values: Mapping[Any, float] | Sequence[float] = ()

    @classmethod
    def of(cls, prior: Weights) -> Prior:
        """Parse a `prior` parameter: ``"uniform"``, ``"by_size"``, weights by group name, or weights in order."""
        if isinstance(prior, str):
            if prior not in ("uniform", "by_size"):
                raise InputError(f"prior must be 'uniform', 'by_size', or weights by name or in order, got {prior!r}.")
            return cls(prior)
        if hasattr(prior, "keys"):  # a mapping, or a pandas column indexed by group name
            prior = {name: prior[name] for name in prior.keys()}  # noqa: SIM118  iterating a column gives values
        elif isinstance(prior, Iterable) and not isinstance(prior, Set):
            prior = tuple(prior)
        values: Any = list(prior.values()) if isinstance(prior, dict) else prior
        try:
            numbers = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"prior must have a positive weight for every group, got {prior!r}.") from error
        # Weights get squared, which is safe within these bounds. Only their ratios matter.
        if numbers.ndim != 1 or not ((numbers >= 1e-100) & (numbers <= 1e100)).all():
            raise InputError("Every weight in prior must be a positive number (1e-100 to 1e100), one per group.")
        return cls("given", prior)

    def weights(self, names: Sequence[Hashable], counts: Ints, start: int | None = None) -> Floats:
        """Return the weight of each group, (M,).

        If these are not all groups, `start` is the number of groups before them; call `check_length` at the end.
        """
        if self.kind == "uniform":
            return np.ones(len(names))
        if self.kind == "by_size":
            return counts.astype(np.float64)
        if isinstance(self.values, Mapping):
            if absent := [name for name in names if name not in self.values]:
                raise InputError(f"prior has no weight for group {format_names(absent)}. Give every group a weight.")
            return np.array([self.values[name] for name in names], dtype=np.float64)
        if start is None:
            self.check_length(len(names))
            start = 0
        if start + len(names) > len(self.values):
            raise InputError(
                f"prior has {len(self.values)} weights, but there are more groups. Give one weight per group."
            )
        return np.array(self.values[start : start + len(names)], dtype=np.float64)

    def check_length(self, n_groups: int) -> None:
        """Raise if weights in order do not match the number of groups."""
        if self.kind == "given" and not isinstance(self.values, Mapping) and len(self.values) != n_groups:
            raise InputError(f"prior has {len(self.values)} weights for {n_groups} groups. Give one weight per group.")
