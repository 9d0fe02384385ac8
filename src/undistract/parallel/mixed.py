"""Rows of many sets that lie mixed: a Dask array with labels, a bag of pairs, a folder of tables.

first reading    which sets are in which piece, by their labels alone
second reading   the rows; a set is closed once all of its pieces are in
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from undistract.algebra.prior import Prior
from undistract.algebra.store import few
from undistract.arrays import as_rows
from undistract.errors import InputError
from undistract.extras import need
from undistract.parallel.blend import n_sums
from undistract.parallel.lazy import dask_part, is_lazy
from undistract.parallel.leaf import Blended, Counted, LabelledRows, Mixed, PairedRows, Piece, TableRows, sets_in
from undistract.parallel.plan import leaf_rows
from undistract.sets.arrow_tables import open_parquet
from undistract.sets.paths import set_paths
from undistract.sets.table_columns import choose_columns

# What runs functions with what Dask makes before, and gives their results in order.
Run = Callable[[Iterable[tuple[Callable[..., Any], tuple[Any, ...]]]], Iterator[Any]]
# A source, what Dask makes before (all of it, and what the labels alone need), and its mark.
Source = tuple[Mixed, Any, tuple[Any, ...], Callable[[], str | None]]


def mixed_pieces(
    sources: Sequence[Source], run: Run, prior: Prior, width: int | None = None
) -> tuple[tuple[Hashable, ...], list[Piece]]:
    """Look which sets are in which source; return the names of all sets in order of appearance, and the pieces."""
    found: list[Counted] = list(run((partial(sets_in, source), labels) for source, _, labels, _ in sources))
    numbers: dict[Hashable, int] = {}
    rows_of, pieces_of = Counter[Hashable](), Counter[Hashable]()
    for names, counts, wide in found:
        width = width or wide
        for name, count in zip(names, counts.tolist(), strict=True):
            numbers.setdefault(name, len(numbers))
            rows_of[name] += count
            pieces_of[name] += 1
    every = tuple(numbers)
    totals = np.array([rows_of[name] for name in every], dtype=np.int64)
    prior.check_length(len(every))
    weights = prior.weights(every, totals)
    # Few rows are kept as they are, set by set; of many, sets that stay open are summed up together.
    together = width is not None and len(every) > 0 and not few(int(totals.sum()), width)
    sums = n_sums(prior.kind, totals, weights) if together else 0
    made = []
    for (source, rows, _, mark), (names, counts, _) in zip(sources, found, strict=True):
        if names:
            places = [numbers[name] for name in names]
            known = Blended(tuple(totals[places].tolist()), tuple(weights[places].tolist()), sums) if together else None
            cut = [pieces_of[name] for name in names]
            made.append(Piece(source, names, places, cut, int(counts.sum()), width, mark, rows, known))
    return every, made


def labelled_sources(X: Any, labels: Any) -> list[Source]:
    """Cut a Dask array and its labels where the array is cut."""
    if not is_lazy(X):
        X = dask_part("dask.array").from_array(
            as_rows(X, check_finite=False), chunks=(leaf_rows(np.shape(X)[1]), -1), name=False
        )
    if X.ndim != 2:
        raise InputError(f"X has shape {X.shape}, expected (rows, features).")
    X, delayed = X.rechunk({1: -1}), dask_part().delayed
    sizes = X.chunks[0]
    blocks = X.to_delayed().ravel()
    if is_lazy(labels):
        if not np.isnan(sizes).any() and not np.isnan(labels.shape[0]):
            _same_length(labels.shape, X.shape[0])
            labels = labels.rechunk((sizes,))
        some = labels.to_delayed().ravel()
        if len(some) != len(blocks):
            raise InputError(
                f"X lies in {len(blocks)} blocks of unknown length, labels in {len(some)}: cut them alike."
            )
    else:
        if np.isnan(sizes).any():
            raise InputError("Nobody knows how long the blocks of X are. Call X.compute_chunk_sizes() first.")
        held = labels if hasattr(labels, "__array__") else list(labels)
        _same_length((len(held),), X.shape[0])
        bounds = np.cumsum([0, *sizes]).tolist()
        some = [
            np.asarray(held[start:stop]) if hasattr(held, "__array__") else held[start:stop]
            for start, stop in pairwise(bounds)
        ]
    return [
        (
            LabelledRows(),
            delayed(_both, pure=False, traverse=False)(block, _whole(delayed, label)),
            (_whole(delayed, label),),
            partial(_mark_of_block, block, label),
        )
        for block, label in zip(blocks, some, strict=True)
    ]


def bag_sources(bag: Any) -> list[Source]:
    """Take each partition of a bag of (name, rows) as it is."""
    return [(PairedRows(), one, (one,), partial(str, one.key)) for one in bag.to_delayed()]


def parquet_sources(folder: Any, group: str, columns: Sequence[str] | str | None) -> list[Source]:
    """Take some row groups of each .parquet file at a time; only their numbers travel."""
    parquet = need("pyarrow.parquet", extra="tables", to="Reading .parquet files")
    paths = [path for path in set_paths(folder).values() if path.suffix.lower() == ".parquet"]
    if not paths:
        raise InputError(f"There is no .parquet file in {folder}. Give a folder of them, or their paths.")
    features = tuple(choose_columns([open_parquet(path) for path in paths], columns, group=group))
    found: list[Source] = []
    for path in paths:
        with parquet.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
        told, start = path.stat(), 0
        for stop in range(1, len(sizes) + 1):
            n_rows = sum(sizes[start:stop])
            if n_rows and (n_rows >= leaf_rows(len(features)) or stop == len(sizes)):
                source = TableRows(Path(path).resolve(), tuple(range(start, stop)), features, group)
                mark = f"{source} {told.st_size} {told.st_mtime_ns}"
                found.append((source, None, (), partial(str, mark)))
                start = stop
    return found


def _both(rows: Any, labels: Any) -> tuple[Any, Any]:
    return rows, labels


def _whole(delayed: Any, labels: Any) -> Any:
    """Wrap labels that lie here, so that Dask does not look into each of them."""
    return labels if is_lazy(labels) else delayed(labels, pure=False, traverse=False)


def _same_length(shape: tuple[int, ...], n_rows: int) -> None:
    if shape != (n_rows,):
        raise InputError(f"labels has shape {shape} for {n_rows} rows; give one label per row.")


def _mark_of_block(block: Any, labels: Any) -> str:
    told = labels.key if is_lazy(labels) else dask_part("dask.base").tokenize(labels)
    return f"{block.key} {told}"
