"""Scores for other programs: a table with a line for each row, as .csv, .parquet or .npz."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from undistract.errors import InputError
from undistract.extras import need
from undistract.files import keep_apart, write_whole
from undistract.workflow.scoring import Scored, ScoredSets

ENDINGS = (".csv", ".parquet", ".npz")


def write_scores(scored: ScoredSets, path: str | Path) -> Path:
    """Write a line for each row: set, row, time, before, after, ignored, alarm.

    Parameters
    ----------
    scored : ScoredSets
    path : path
        Ends in .csv, .parquet or .npz; it appears whole or not at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract.detect import Scores
    >>> day = Scored(Scores("day", [1.0, 9.0]), None, np.array([0.5, 0.25]))
    >>> with TemporaryDirectory() as folder:
    ...     print(write_scores(ScoredSets((day,), None, None), Path(folder, "day.csv")).read_text().strip())
    set,row,time,before,after,ignored,alarm
    day,0,,,1.0,0.5,
    day,1,,,9.0,0.25,
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"Scores cannot be written as {path.name!r}; end the name in {', '.join(ENDINGS)}.")
    keep_apart(path, scored.read_from())
    columns = _columns(scored)
    if ending == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        return write_whole(path, text.getvalue().encode())
    held = io.BytesIO()
    if ending == ".npz":
        kept = {name: values for name, values in columns.items() if any(value is not None for value in values)}
        np.savez_compressed(held, **{name: np.array(values) for name, values in kept.items()})  # type: ignore[arg-type]
    else:
        arrow = need("pyarrow", extra="tables", to="Writing .parquet")
        need("pyarrow.parquet", extra="tables", to="Writing .parquet").write_table(arrow.table(columns), held)
    return write_whole(path, held.getvalue())


def _columns(scored: ScoredSets) -> dict[str, list[Any]]:
    """Return the columns of the table; None where a value is not known."""
    columns: dict[str, list[Any]] = {name: [] for name in ("set", "row", "time", "before", "after", "ignored", "alarm")}
    for one in scored:
        n_rows = len(one.after)
        unknown = [None] * n_rows
        columns["set"] += [str(one.after.name)] * n_rows
        columns["row"] += range(n_rows)
        columns["time"] += unknown if one.after.times is None else _times(one)
        columns["before"] += unknown if one.before is None else one.before.values.tolist()
        columns["after"] += one.after.values.tolist()
        columns["ignored"] += one.ignored.tolist()
        columns["alarm"] += unknown if scored.threshold is None else scored.threshold.alarms(one.after).tolist()
    return columns


def _times(one: Scored) -> list[Any]:
    times = one.after.times
    assert times is not None
    plain = np.datetime_as_string(times) if times.dtype.kind == "M" else times
    return list(plain.tolist())
