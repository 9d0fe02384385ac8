"""Missing values (NaN): refused, dropped with their row, or set to the mean of their column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from undistract.arrays import Floats, quiet
from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet
from undistract.sets.row_stream import Piece

Missing = Literal["refuse", "drop", "impute"]


def without_missing(one: FeatureSet, missing: Missing = "refuse") -> FeatureSet:
    """Return the set without missing values, to be read as lazily as before.

    Parameters
    ----------
    one : FeatureSet
    missing : {"refuse", "drop", "impute"}
        An error; without the rows that lack something; or with the mean of the column in this set in their place.

    Examples
    --------
    >>> gappy = FeatureSet("mon", [[1.0, 2.0], [np.nan, 4.0], [3.0, 6.0]], feature_names=["load", "heat"])
    >>> without_missing(gappy, "impute").rows.tolist()
    [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]
    >>> len(without_missing(gappy, "drop"))
    2
    >>> without_missing(gappy).rows
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Set 'mon' lacks a value in column 'load' at row 1, counted from 0...
    """
    if missing not in get_args(Missing):
        raise InputError(f"missing is {missing!r}; expected one of {', '.join(get_args(Missing))}.")
    ways: dict[str, Callable[[FeatureSet], Iterator[Piece]]] = {"refuse": _refuse, "drop": _drop, "impute": _impute}
    return FeatureSet.reading(
        one.name,
        lambda: ways[missing](one),
        source=one.source,
        n_rows=None if missing == "drop" else one.known_length,
        feature_names=one.feature_names,
        row_names=None if missing == "drop" else one.row_names,
    )


def _refuse(one: FeatureSet) -> Iterator[Piece]:
    n_before = 0
    for rows, times in one.timed_chunks():
        gaps = np.isnan(rows)
        if gaps.any():
            row, feature = np.argwhere(gaps)[0]
            raise InputError(
                f"Set {one.name!r} lacks a value in column {_column(one.feature_names, feature)} at row "
                f"{n_before + row}, counted from 0. Leave such rows out with missing='drop' (--drop-missing), fill "
                "them with missing='impute' (--impute), or choose other columns (--columns)."
            )
        n_before += len(rows)
        yield rows, times


def _drop(one: FeatureSet) -> Iterator[Piece]:
    n_rows = n_whole = 0
    for rows, times in one.timed_chunks():
        whole = ~np.isnan(rows).any(axis=1)
        n_rows, n_whole = n_rows + len(rows), n_whole + int(whole.sum())
        yield rows[whole], None if times is None else times[whole]
    if not n_whole:
        raise InputError(
            f"Every one of the {n_rows} rows of set {one.name!r} lacks a value. Choose other columns (--columns), or "
            "fill the gaps with missing='impute' (--impute)."
        )


def _impute(one: FeatureSet) -> Iterator[Piece]:
    means = _means(one)
    for rows, times in one.timed_chunks():
        yield np.where(np.isnan(rows), means, rows).astype(rows.dtype, copy=False), times


def _means(one: FeatureSet) -> Floats:
    """Mean of the values that are there, (d,); summed relative to the first of each column, so that none are lost."""
    origin = np.full(one.n_features, np.nan)
    sums, counts = np.zeros((2, one.n_features))
    for rows in one.chunks():
        there = ~np.isnan(rows)
        first = rows[there.argmax(axis=0), np.arange(one.n_features)]
        origin = np.where(np.isnan(origin), first, origin)
        with quiet():  # what is infinite, or nearly so, is refused by whoever reads the rows
            sums += np.where(there, rows - origin, 0.0).sum(axis=0)
        counts += there.sum(axis=0)
    if not counts.all():
        raise InputError(
            f"Set {one.name!r} has no value at all in column {_column(one.feature_names, int(counts.argmin()))}: "
            "there is no mean to fill in. Choose other columns (--columns), or leave the set out (--ignore)."
        )
    return origin + sums / counts


def _column(names: Sequence[str] | None, feature: int) -> str:
    return repr(names[feature]) if names is not None else str(feature)
