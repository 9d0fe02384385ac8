"""Missing values (NaN) in tables and arrays: raise an error, drop the row, or impute the mean of the column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undistract._arrays import Floats, ignore_fp_warnings
from undistract.errors import InputError
from undistract.sources.source import Source, TimedRows, times_at


def handle_missing(source: Source, missing: str = "error") -> Source:
    """Return the source without missing values; rows are still read on demand.

    Parameters
    ----------
    source : Source
    missing : {"error", "drop", "impute"}
        Raise an error, drop rows with missing values, or replace them by the mean of the column in this source.

    Examples
    --------
    >>> gappy = Source("mon", [[1.0, 2.0], [np.nan, 4.0], [3.0, 6.0]], feature_names=["load", "heat"])
    >>> handle_missing(gappy, "impute").rows.tolist()
    [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]
    >>> len(handle_missing(gappy, "drop"))
    2
    >>> handle_missing(gappy).rows
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Source 'mon' has a missing value in column 'load' at row 1, counted from 0...
    """
    if missing not in POLICIES:
        raise InputError(f"missing must be one of {', '.join(POLICIES)}, got {missing!r}.")
    n_rows = source.known_length
    row_names = source.row_names
    if missing == "drop":
        n_rows = row_names = None  # known only after reading
    return Source.from_reader(
        source.name,
        lambda: POLICIES[missing](source),
        origin=source.origin,
        n_rows=n_rows,
        feature_names=source.feature_names,
        row_names=row_names,
    )


def _require_complete(source: Source) -> Iterator[TimedRows]:
    n_before = 0
    for rows, times in source.timed_chunks(check_finite=False):
        is_missing = np.isnan(rows)
        if is_missing.any():
            row, feature = np.argwhere(is_missing)[0]
            raise InputError(
                f"Source {source.name!r} has a missing value in column {_column(source, feature)} at row "
                f"{n_before + row}, counted from 0. Drop such rows with missing='drop' (--drop-missing), fill "
                "the gaps with missing='impute' (--impute), or choose other columns (--columns)."
            )
        n_before += len(rows)
        yield rows, times


def _drop(source: Source) -> Iterator[TimedRows]:
    n_rows = n_complete = 0
    for rows, times in source.timed_chunks(check_finite=False):
        is_complete = ~np.isnan(rows).any(axis=1)
        n_rows += len(rows)
        n_complete += int(is_complete.sum())
        yield rows[is_complete], times_at(times, is_complete)
    if not n_complete:
        raise InputError(
            f"All {n_rows} rows of source {source.name!r} have missing values. Choose other columns (--columns), or "
            "fill the gaps with missing='impute' (--impute)."
        )


def _impute(source: Source) -> Iterator[TimedRows]:
    means = _means(source)
    for rows, times in source.timed_chunks(check_finite=False):
        yield np.where(np.isnan(rows), means, rows).astype(rows.dtype, copy=False), times


def _means(source: Source) -> Floats:
    """Return the mean of the values that are present, (d,)."""
    # Sums are relative to the first value of each column: a large offset would cost digits.
    origin = np.full(source.n_features, np.nan)
    sums, counts = np.zeros((2, source.n_features))
    for rows, _ in source.timed_chunks(check_finite=False):
        is_present = ~np.isnan(rows)
        first = rows[is_present.argmax(axis=0), np.arange(source.n_features)]
        origin = np.where(np.isnan(origin), first, origin)
        with ignore_fp_warnings():  # infinite and huge values are reported when the rows are used
            sums += np.where(is_present, rows - origin, 0.0).sum(axis=0)
        counts += is_present.sum(axis=0)
    if not counts.all():
        raise InputError(
            f"Source {source.name!r} has no values in column {_column(source, int(counts.argmin()))}, so "
            "there is no mean to impute. Choose other columns (--columns), or skip the source (--ignore)."
        )
    return origin + sums / counts


def _column(source: Source, feature: int) -> str:
    return str(feature) if source.feature_names is None else repr(source.feature_names[feature])


POLICIES = {"error": _require_complete, "drop": _drop, "impute": _impute}
