"""Export for other programs: tables, arrays, ONNX; and opening of saved models and scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import Rows
from undistract._io import AtomicFile, atomic_write, refuse_overwriting_inputs
from undistract._optional import import_optional
from undistract.errors import InputError
from undistract.pipeline.model import Model
from undistract.pipeline.scoring import ScoreResult
from undistract.storage import describe_file, export_onnx

HEADER_BYTES = 128  # of a .npy file; enough for any number of rows
DTYPES = ("float32", "float64")
SCORE_FORMATS = (".csv", ".parquet", ".npz")
MODEL_FORMATS = (".onnx", ".npz")
TABLE_FORMATS = (".csv", ".tsv", ".parquet")
# Values of the basis of the kept subspace, 1 GB; a larger one is left out.
LARGEST_BASIS = 2**27


def format_csv(
    tables: Iterable[Mapping[str, Any]], *, delimiter: str = ",", decimal: str = ".", header: bool = True
) -> Iterator[str]:
    r"""Yield the text of a table that comes in parts, each a mapping of columns (lists or arrays).

    Examples
    --------
    >>> "".join(format_csv([{"name": ["a", None], "value": np.array([0.5, 1.0])}, {"name": ["b"], "value": [2]}]))
    'name,value\na,0.5\n,1.0\nb,2\n'
    """
    for number, columns in enumerate(tables):
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        if header and not number:
            writer.writerow(columns)
        writer.writerows(zip(*(_cells(values, decimal) for values in columns.values()), strict=True))
        yield text.getvalue()


def _cells(values: Any, decimal: str) -> list[Any]:
    if isinstance(values, list):
        return values
    if values.dtype.kind == "M":
        return list(np.datetime_as_string(values).tolist())
    numbers: list[Any] = values.tolist()
    if decimal == ".":
        return numbers
    return [str(value).replace(".", decimal) for value in numbers]


def write_table(
    tables: Iterable[Mapping[str, Any]],
    path: Path,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
) -> Path:
    r"""Write a table that comes in parts as .csv, .tsv or .parquet, atomically.

    Parameters
    ----------
    tables : iterable of mappings
        Name → column, a list or an array; all parts have the same columns.
    path : path
    delimiter : str, optional
        By default a tab in .tsv, a semicolon if `decimal` is a comma, else a comma.
    decimal, header
        Of .csv and .tsv.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = write_table([{"load": np.array([0.5, 0.7])}], Path(folder, "all.csv"), decimal=",")
    ...     path.read_text()
    'load\n0,5\n0,7\n'
    """
    if path.suffix.lower() != ".parquet":
        if delimiter is None and path.suffix.lower() == ".tsv":
            delimiter = "\t"
        elif delimiter is None and decimal == ",":
            delimiter = ";"
        with AtomicFile(path) as file:
            for text in format_csv(tables, delimiter=delimiter or ",", decimal=decimal, header=header):
                file.write(text.encode())
        return path
    arrow = import_optional("pyarrow", extra="tables", to="Writing .parquet")
    parquet = import_optional("pyarrow.parquet", extra="tables", to="Writing .parquet")

    def write(temporary: Path) -> None:
        writer = None
        try:
            for columns in tables:
                table = arrow.table(dict(columns))
                writer = writer or parquet.ParquetWriter(temporary, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()

    return atomic_write(path, write)


@dataclass
class DtypePolicy:
    """The dtype of an output file: the requested one, or that of the first rows; all other rows follow.

    Examples
    --------
    >>> DtypePolicy().apply("mon", np.array([[1, 2]])).dtype
    dtype('float64')
    """

    requested: npt.DTypeLike | None = None
    dtype: np.dtype[Any] | None = None
    n_rows: int = 0

    def __post_init__(self) -> None:
        if self.requested is not None:
            self.dtype = np.dtype(self.requested)
            if self.dtype.name not in DTYPES:
                raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {self.requested!r}.")

    def apply(self, name: Hashable, rows: Rows) -> Rows:
        """Return the rows of a source: float32 stays float32, other types become float64."""
        own: np.dtype[Any] = np.dtype(np.float64)
        if rows.dtype == np.float32:
            own = rows.dtype
        self.dtype = self.dtype or own
        if self.requested is None and own != self.dtype:
            raise InputError(f"{name!r} has dtype {own}, the rows before have {self.dtype}. Choose one: dtype=.")
        self.n_rows += len(rows)
        return rows.astype(own, copy=False)


def write_array(path: Path, chunks: Iterable[Rows], policy: DtypePolicy, n_columns: int) -> Path:
    """Write a .npy file; the number of rows need not be known in advance.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> policy = DtypePolicy("float32")
    >>> with TemporaryDirectory() as folder:
    ...     chunks = (policy.apply("mon", np.array([row])) for row in ([1.0, 2.0], [3.0, 4.0]))
    ...     np.load(write_array(Path(folder, "mon.npy"), chunks, policy, 2))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    n_rows = 0
    with AtomicFile(path) as file:
        file.write(bytes(HEADER_BYTES))
        for rows in chunks:
            file.write(np.ascontiguousarray(rows.astype(policy.dtype, copy=False)))
            n_rows += len(rows)
        # The header has the number of rows, which is known only now. Version 1.0 of the format: magic, length of the
        # header as two bytes, a dict padded with spaces, a newline.
        assert policy.dtype is not None
        header = f"{{'descr': {policy.dtype.str!r}, 'fortran_order': False, 'shape': {(n_rows, n_columns)}, }}"
        magic = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
        file.write(magic + header.encode().ljust(HEADER_BYTES - 11) + b"\n", at=0)
    return path


def write_scores(scored: ScoreResult, path: str | Path) -> Path:
    """Write one line per row: set, row, time, before, after, ignored, alarm.

    Parameters
    ----------
    scored : ScoreResult
    path : path
        Ends in .csv, .parquet or .npz; written atomically.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract.detect import Scores
    >>> from undistract.pipeline.scoring import SourceScores
    >>> day = SourceScores(Scores("day", [1.0, 9.0]), None, np.array([0.5, 0.25]))
    >>> with TemporaryDirectory() as folder:
    ...     print(write_scores(ScoreResult((day,), None, None), Path(folder, "day.csv")).read_text().strip())
    set,row,time,before,after,ignored,alarm
    day,0,,,1.0,0.5,
    day,1,,,9.0,0.25,
    """
    path = Path(path)
    if path.suffix.lower() not in SCORE_FORMATS:
        raise InputError(f"The file of scores must end in {', '.join(SCORE_FORMATS)}, got {path.name!r}.")
    refuse_overwriting_inputs(path, scored.read_from())
    columns = _score_columns(scored)
    if path.suffix.lower() != ".npz":
        return write_table([columns], path)
    arrays: dict[str, Any] = {}
    for name, values in columns.items():
        if any(value is not None for value in values):
            arrays[name] = np.array(values)
    return _write_npz(arrays, path)


def _score_columns(scored: ScoreResult) -> dict[str, list[Any]]:
    """Return the columns of the table; a missing value is None."""
    names = ("set", "row", "time", "before", "after", "ignored", "alarm")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for result in scored:
        n_rows = len(result.after)
        times: list[Any] = [None] * n_rows
        before: list[Any] = [None] * n_rows
        alarms: list[Any] = [None] * n_rows
        if result.after.times is not None:
            times = _cells(result.after.times, ".")
        if result.before is not None:
            before = result.before.values.tolist()
        if scored.threshold is not None:
            alarms = scored.threshold.alarms(result.after).tolist()
        columns["set"] += [str(result.after.name)] * n_rows
        columns["row"] += range(n_rows)
        columns["time"] += times
        columns["before"] += before
        columns["after"] += result.after.values.tolist()
        columns["ignored"] += result.ignored.tolist()
        columns["alarm"] += alarms
    return columns


def _write_npz(arrays: Mapping[str, Any], path: str | Path) -> Path:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return atomic_write(path, buffer.getvalue())


def open_file(path: str | Path) -> Model | ScoreResult:
    """Open a file of `Model.save` or `ScoreResult.save`.

    Examples
    --------
    >>> open_file("no-such.focus")
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: There is no file no-such.focus. Is the path right?
    """
    content = describe_file(path)["content"]
    if isinstance(content, dict) and content.get("kind") == "scores":
        return ScoreResult.load(path)
    return Model.load(path)


def load_model_and_scores(path: str | Path, model: str | Path | None = None) -> tuple[Model, ScoreResult | None]:
    """Open a model, or scores together with their model; `model` is its path, if it has moved.

    Examples
    --------
    >>> model, scored = load_model_and_scores("today.scores")  # doctest: +SKIP
    """
    content = open_file(path)
    if isinstance(content, Model):
        return content, None
    model_path = model or content.model
    if model_path is None:
        raise InputError(f"{Path(path).name} does not name its model. Pass the path: --with MODEL.")
    if not Path(model_path).exists():
        raise InputError(f"The model of {Path(path).name} is not at {model_path}. Pass its path: --with MODEL.")
    return Model.load(model_path), content


def convert(item: Model | ScoreResult, path: str | Path) -> Path:
    """Write a model or scores for other programs, in the format of the file extension.

    Parameters
    ----------
    item : Model or ScoreResult
        A model becomes .onnx (rows in, denoised rows out) or .npz (its arrays); scores become .csv, .parquet or .npz.
        With more than about 11 000 features, .npz has no `components`: the kept subspace is the orthogonal complement
        of `patterns`, and its basis takes more than 1 GB.
    path : path
        The extension selects the format.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract import Source, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> with TemporaryDirectory() as folder, np.load(convert(learn(days), Path(folder, "street.npz"))) as arrays:
    ...     arrays["patterns"].shape, arrays["components"].shape
    ((3, 1), (2, 3))
    """
    if isinstance(item, ScoreResult):
        return write_scores(item, path)
    extension = Path(path).suffix.lower()
    if extension == ".onnx":
        return export_onnx(item.focus, path)
    if extension == ".npz":
        return _write_arrays(item, path)
    raise InputError(f"The file of a model must end in {' or '.join(MODEL_FORMATS)}, got {Path(path).name!r}.")


def _write_arrays(model: Model, path: str | Path) -> Path:
    focus = model.focus
    arrays: dict[str, Any] = {
        "mean": focus.moments_.mean,
        "distraction": focus.distraction_,
        "patterns": focus.patterns_[:, : focus.n_removed_],
        "filters": focus.filters_[:, : focus.n_removed_],
        "feature_names": np.array(model.feature_names or ()),
    }
    if focus.n_features_in_**2 <= LARGEST_BASIS:
        arrays["components"] = focus.components_
    return _write_npz(arrays, path)
