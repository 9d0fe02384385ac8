"""Tables become sets: one each, or one for every value of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet
from undistract.sets.row_stream import Piece
from undistract.sets.sorting import Labelled, sorted_sets
from undistract.sets.tables import Table


def table_set(table: Table, name: str, columns: Sequence[str], time: str | None = None) -> FeatureSet:
    """Make one set of a table, with NaN where a value is missing."""

    def read() -> Iterator[Piece]:
        return ((rows, times) for rows, times, _ in table.read(columns, time=time))

    return FeatureSet.reading(name, read, source=str(table.path), feature_names=columns)


def grouped_sets(
    tables: Sequence[Table], group: str, columns: Sequence[str], time: str | None = None
) -> list[FeatureSet]:
    """Make a set of every value of the column `group`; its rows may lie anywhere in any of the tables."""
    if time is not None:
        _check_times(tables, time)
    counts: Counter[str] = Counter()
    for table in tables:
        for _, _, groups in table.read([], group=group):
            assert groups is not None
            counts.update(groups.tolist())

    def read() -> Iterator[Labelled]:
        for table in tables:
            for rows, times, groups in table.read(columns, time=time, group=group):
                assert groups is not None
                yield rows, times, groups

    source = ", ".join(str(table.path) for table in tables)
    return sorted_sets(counts, read, source=source, feature_names=columns)


def _check_times(tables: Sequence[Table], time: str) -> None:
    """Refuse times that cannot be put in one order."""
    files = {table.kinds[time]: table.path.name for table in reversed(tables)}
    if len(files) > 1:
        raise InputError(
            f"Column {time!r} holds numbers in {files['number']} and times in {files['time']}; the rows of one set may "
            "lie in both. Write it alike in every file."
        )
