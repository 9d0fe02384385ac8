"""Which columns of tables are features: those chosen, or all of them if all are numbers."""

from __future__ import annotations

from collections.abc import Sequence

from undistract.arrays import listed
from undistract.errors import InputError
from undistract.sets.tables import Table

NUMERIC = "numeric"


def choose_columns(
    tables: Sequence[Table],
    columns: Sequence[str] | str | None = None,
    *,
    group: str | None = None,
    time: str | None = None,
) -> list[str]:
    """Return the names of the features, in the order of the first table; every table must have them as numbers.

    Parameters
    ----------
    tables : sequence of Table
    columns : sequence of str, or "numeric", optional
        The features by name, or all columns that hold numbers. Without it every column is a feature, and one that
        holds no numbers is an error.
    group, time : str, optional
        Columns that are no features.
    """
    first = tables[0]
    for role, name in {"group": group, "time": time}.items():
        for table in tables if name is not None else ():
            assert name is not None
            if name not in table.kinds:
                raise _unknown(table, name, role)
            if role == "time" and table.kinds[name] == "text":
                raise InputError(
                    f"Column {name!r} of {table.path.name} holds text; as time= are expected numbers, dates or times "
                    "such as 2024-05-01 12:30:00."
                )
    if columns is None or columns == NUMERIC:
        names = [name for name in first.kinds if name not in (group, time)]
        if columns == NUMERIC:
            names = [name for name in names if first.kinds[name] == "number"]
    else:
        names = [columns] if isinstance(columns, str) else list(dict.fromkeys(columns))
    for table in tables:
        _check(table, names, group, time, exactly=columns is None)
    if not names:
        raise InputError(
            f"No column of {first.path.name} is left as a feature; it has {listed(list(first.kinds))}. "
            "Choose some with columns= (--columns)."
        )
    return names


def _check(table: Table, names: Sequence[str], group: str | None, time: str | None, *, exactly: bool) -> None:
    for name in names:
        if name not in table.kinds:
            raise _unknown(table, name, "columns")
    more = [name for name in table.kinds if name not in (*names, group, time)]
    if exactly and more:
        raise InputError(
            f"{table.path.name} has columns that the first table has not: {listed(more)}. "
            "Choose the features with columns= (--columns)."
        )
    text = [name for name in names if table.kinds[name] != "number"]
    if text:
        numbers = ",".join(name for name in table.kinds if table.kinds[name] == "number" and name not in (group, time))
        kind = "text" if table.kinds[text[0]] == "text" else "times"
        raise InputError(
            f"Column {text[0]!r} of {table.path.name} holds {kind} (seen from row 0 on); features are numbers. Choose "
            f"them with columns= (--columns {numbers or 'a,b'}, or --columns numeric for all that are), or use it as "
            f"{'group= (--group)' if kind == 'text' else 'time= (--time)'}."
        )


def _unknown(table: Table, name: str, role: str) -> InputError:
    return InputError(
        f"{table.path.name} has no column {name!r}, which {role}= (--{role}) asks for; it has "
        f"{listed(list(table.kinds))}."
    )
