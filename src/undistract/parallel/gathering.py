"""Compute the moments of groups on many workers.

One pass over groups one by one; for rows of many groups in mixed order (a Dask array with labels, a bag of pairs, a
folder of tables), a first pass over the labels finds the groups of each piece, so that a group is closed when all of
its pieces are read.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from undistract._arrays import Rows, as_rows
from undistract._optional import import_optional
from undistract._progress import track
from undistract.algebra import Moments
from undistract.algebra.groups import Prior, Weights, duplicate_group_error, is_pair
from undistract.detect.reservoir import ReservoirSample
from undistract.errors import FileError, InputError
from undistract.parallel.runners import (
    DaskRunner,
    LocalRunner,
    Task,
    catch_input_errors,
    import_dask,
    is_dask,
    is_dask_array,
    runner,
)
from undistract.parallel.tasks import (
    Group,
    GroupRows,
    LabelledRows,
    Leaf,
    PairedRows,
    Partial,
    Piece,
    TableRows,
    add_partials,
    describe,
    find_groups,
    join,
    key_of,
    leaf_rows,
    plan,
    rename,
    sort_groups,
)
from undistract.sources.arrow_tables import open_parquet
from undistract.sources.discover import ARRAY_READERS, discover_sources, source_files
from undistract.sources.options import ReadOptions
from undistract.sources.source import Source
from undistract.sources.tables import choose_columns
from undistract.storage import load, save

Runner = LocalRunner | DaskRunner


class MomentsAndSamples(NamedTuple):
    """Moments, and the samples of each group."""

    moments: Moments
    samples: list[Rows]


def gather(
    groups: Any,
    client: Any = None,
    *,
    labels: Any = None,
    prior: Weights = "uniform",
    split_every: int = 8,
    retries: int = 3,
    timeout: float | None = None,
    progress: bool | None = False,
    checkpoint: str | Path | None = None,
) -> Moments:
    """Compute the moments of groups on the workers of a Dask cluster; only sums are sent back.

    The result has the same bits for any number of workers, also if workers die, and equals `Moments.of` to 1e-12.

    Parameters
    ----------
    groups : iterable, pair or Dask collection
        A mapping or an iterable of FeatureSets, arrays, or pairs of a name and rows, a Dask array or a Delayed that
        returns rows; paths of files, which the workers read; a Dask array, with `labels` or as the pair (array,
        labels); or a Dask bag of (name, rows). For tables with a group column, see `gather_parquet`.
    client : distributed.Client, optional
        By default the open client of this process. Without any client, this process does the same steps itself.
    labels : (n,) array or Dask array, optional
        Group label of each row of a Dask array.
    prior : {"uniform", "by_size"}, mapping or sequence
        Weights of the groups, as in `Moments.of`.
    split_every : int
        Number of tasks whose results are joined on a worker before a sum is sent back.
    retries : int
        Number of retries if a task fails or its worker dies.
    timeout : float, optional
        Maximum seconds to wait for the next sum.
    progress : bool or None
        True shows a progress bar in a terminal, None only for long runs.
    checkpoint : path, optional
        A folder for finished sums; a second run computes only missing ones.

    Raises
    ------
    InputError
        If rows are invalid; the message names their group.
    ClusterError
        If the cluster fails; the message describes how to continue.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> days = {day: rng.normal(size=(20, 3)) + shift for shift, day in enumerate(["mon", "tue", "wed"])}
    >>> moments = gather(days)
    >>> moments.names, moments.n_rows
    (('mon', 'tue', 'wed'), 60)
    """
    if labels is None and isinstance(groups, tuple) and len(groups) == 2 and is_dask_array(groups[0]):
        groups, labels = groups
    run = Run(runner(client, retries=retries, timeout=timeout), prior, split_every, progress, checkpoint)
    if labels is not None:
        return run.sum_mixed(_labelled_pieces(groups, labels))
    if is_dask(groups) and hasattr(type(groups), "to_delayed") and not is_dask_array(groups):
        blocks = groups.to_delayed()
        return run.sum_mixed(
            [
                Piece(PairedRows(), fingerprint=partial(str, block.key), delayed=block, labels=(block,))
                for block in blocks
            ]
        )
    return run.sum_groups(groups).moments


def gather_parquet(
    folder: str | Path | Iterable[str | Path],
    group: str,
    client: Any = None,
    *,
    columns: Sequence[str] | str | None = None,
    prior: Weights = "uniform",
    split_every: int = 8,
    retries: int = 3,
    timeout: float | None = None,
    progress: bool | None = False,
    checkpoint: str | Path | None = None,
) -> Moments:
    """Compute the moments of tables with a group column; rows of a group may be anywhere in the files.

    The workers read the files themselves, a few row groups at a time.

    Parameters
    ----------
    folder : path or iterable of paths
        A folder of .parquet files, or the files.
    group : str
        The column with the group of each row.
    client, prior, split_every, retries, timeout, progress, checkpoint
        As in `gather`.
    columns : sequence of str, or "numeric", optional
        The features; by default every other column.

    Examples
    --------
    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for day in ("mon", "tue"):
    ...         table = pd.DataFrame({"machine": ["a", "b", "a"], "load": [1.0, 2.0, 3.0], "heat": [3.0, 5.0, 4.0]})
    ...         table.to_parquet(Path(folder, f"{day}.parquet"))
    ...     moments = gather_parquet(folder, group="machine")
    >>> moments.names, moments.counts
    (('a', 'b'), array([4, 2]))
    """
    run = Run(runner(client, retries=retries, timeout=timeout), prior, split_every, progress, checkpoint)
    return run.sum_mixed(_table_pieces(folder, group, columns))


def gather_with_samples(
    groups: Any,
    run: Runner,
    *,
    watch: Callable[[int], ReservoirSample] | None = None,
    prior: Weights = "uniform",
    progress: bool | None = False,
) -> MomentsAndSamples:
    """Compute moments group by group, and collect samples of each group while it is read.

    Parameters
    ----------
    groups : mapping or iterable
        As in `gather`; Sources if samples are collected.
    run : LocalRunner or DaskRunner
    watch : callable, optional
        Returns the sampler of group number n. Its ``rows`` are read after the group.
    prior, progress
        As in `gather`.
    """
    return Run(run, prior, progress=progress).sum_groups(groups, watch)


def map_groups(function: Callable[[Source], Any], groups: Iterable[Source], run: Runner) -> Iterator[Any]:
    """Apply a function to every group with `run`, and yield the results in order.

    Examples
    --------
    >>> from undistract.parallel.runners import LocalRunner
    >>> list(map_groups(len, [Source("mon", [[1.0], [2.0]]), Source("tue", [[3.0]])], LocalRunner()))
    [2, 1]
    """

    def sendable(source: Source) -> Source:
        if source.array is not None or run.is_picklable(source):
            return source
        names = {"feature_names": source.feature_names, "row_names": source.row_names}
        return Source(source.name, *source.load(), source.origin, **names)

    return run.run(
        Task([(partial(catch_input_errors, function, sendable(source)), ())], f"group {source.name!r}")
        for source in groups
    )


class Run:
    """One computation of moments: settings, and the checkpoint folder."""

    def __init__(
        self,
        run: Runner,
        prior: Weights = "uniform",
        split_every: int = 8,
        progress: bool | None = False,
        checkpoint: str | Path | None = None,
    ) -> None:
        if split_every < 1:
            raise InputError(f"split_every is {split_every}; expected at least 1.")
        self.runner = run
        self.prior = Prior.of(prior)
        self.split_every = split_every
        self.progress = progress
        self.folder: Path | None = None
        if checkpoint is not None:
            self.folder = Path(checkpoint)
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FileError(f"{checkpoint} cannot be used as a checkpoint folder: {error.strerror}.") from error

    def sum_groups(self, groups: Any, watch: Callable[[int], ReservoirSample] | None = None) -> MomentsAndSamples:
        """Return the moments (and samples) of groups one by one."""
        names: list[Hashable] = []
        samples: dict[int, Rows] = {}
        pieces = group_pieces(groups, names, samples, watch, self.runner)
        total = self._sum(pieces, isinstance(groups, Sized))
        samples |= total.samples
        return MomentsAndSamples(self._finish(total, names), [samples[number] for number in sorted(samples)])

    def sum_mixed(self, inputs: Sequence[Piece]) -> Moments:
        """Return the moments of rows in mixed order."""
        first_pass = (Task([(partial(find_groups, piece.rows), piece.labels)], "the group names") for piece in inputs)
        found: list[tuple[Hashable, ...]] = list(self.runner.run(first_pass))
        n_pieces = Counter(name for names in found for name in names)
        numbers = {name: number for number, name in enumerate(n_pieces)}  # in order of appearance
        self.prior.check_length(len(numbers))
        pieces = []
        for piece, names in zip(inputs, found, strict=True):
            if names:
                groups = tuple(Group(numbers[name], name, n_pieces[name]) for name in names)
                pieces.append(replace(piece, groups=groups))
        return self._finish(self._sum(pieces, True), tuple(numbers))

    def _sum(self, pieces: Iterable[Piece], is_sized: bool) -> Partial:
        branches = _batched(plan(pieces, self.prior), self.split_every)
        n_branches = None
        if is_sized and self.progress is not False:
            branches = list(branches)
            n_branches = len(branches)
        results = track(self._results(branches), total=n_branches, what="Gathering groups", progress=self.progress)
        total: Partial | None = None
        for result in results:  # in order, so that the bits do not depend on the workers
            total = result if total is None else add_partials([total, result])
        if total is None:
            raise InputError("There are no groups. Pass at least two groups of rows.")
        return total

    def _results(self, branches: Iterable[tuple[Leaf, ...]]) -> Iterator[Partial]:
        """Yield the sum of each branch; save those that are not in the checkpoint folder yet."""
        paths: list[Path | None] = []

        def tasks() -> Iterator[Task]:
            for leaves in branches:
                path = self._path(leaves)
                saved = _load(path)
                paths.append(path if saved is None else None)
                yield Task([leaf.call for leaf in leaves], describe(leaves), join, saved)

        for number, result in enumerate(self.runner.run(tasks())):
            path = paths[number]
            if path is not None:
                save({"key": path.stem, "sum": result}, path)
            yield result

    def _path(self, leaves: Sequence[Leaf]) -> Path | None:
        if self.folder is None:
            return None
        key = key_of(leaves)
        return None if key is None else self.folder / f"{key}.part"

    def _finish(self, total: Partial, names: Sequence[Hashable]) -> Moments:
        assert total.moments is not None
        assert not total.open_groups
        self.prior.check_length(total.moments.n_groups)
        return rename(sort_groups(total.moments), names)


def _batched(leaves: Iterator[Leaf], size: int) -> Iterable[tuple[Leaf, ...]]:
    while branch := tuple(islice(leaves, size)):
        yield branch


def _load(path: Path | None) -> Partial | None:
    """Return a saved sum, or None if it is missing or damaged: then it is computed again."""
    if path is None or not path.is_file():
        return None
    try:
        saved = load(path, kind=dict)
    except FileError:
        return None
    is_own = saved.get("key") == path.stem  # not a copy of another file
    return saved.get("sum") if is_own else None


# Groups one by one


def group_pieces(
    groups: Any,
    names: list[Hashable],
    samples: dict[int, Rows],
    watch: Callable[[int], ReservoirSample] | None,
    run: Runner,
) -> Iterator[Piece]:
    """Split groups into pieces, lazily; `names` and `samples` are filled with what is read in this process."""
    seen: set[Hashable] = set()
    for number, (name, content) in enumerate(_named(groups)):
        if name in seen:
            raise duplicate_group_error(name)
        seen.add(name)
        names.append(name)
        sampler = watch(number) if watch else None
        n_pieces, pieces = _split(name, content, sampler, run)
        for piece in pieces:
            yield replace(piece, groups=(Group(number, name, n_pieces),))
        if sampler is not None and len(sampler.rows):  # it was read in this process
            samples[number] = sampler.rows


def _named(groups: Any) -> Iterator[tuple[Hashable, Any]]:
    """Yield names and groups; paths are opened together, so that tables are compared with each other."""
    if isinstance(groups, str | Path):
        groups = [groups]
    if isinstance(groups, list | tuple) and groups and all(isinstance(item, str | Path) for item in groups):
        groups = discover_sources(groups)
    is_one = isinstance(groups, np.ndarray) and groups.ndim < 3
    if is_one or is_dask(groups) or hasattr(groups, "columns") or not isinstance(groups, Iterable):
        raise InputError(
            f"Groups came as one {type(groups).__name__}; expected a list of groups, pairs (name, rows), or paths. "
            "For one array of rows pass a label per row too: gather(X, labels=labels)."
        )
    items = groups.items() if hasattr(groups, "items") else groups
    for number, item in enumerate(items):
        if hasattr(item, "name") and hasattr(item, "chunks") and not is_dask(item):
            yield item.name, item
        elif isinstance(item, str | Path):
            raise InputError(f"{item} is a path among other groups. Pass a list of paths only, or use read_sources.")
        elif isinstance(item, tuple | list) and len(item) == 2 and (is_dask(item[1]) or is_pair(*item)):
            yield item[0], item[1]
        else:
            yield number, item


def _split(name: Hashable, content: Any, sampler: ReservoirSample | None, run: Runner) -> tuple[int, Iterator[Piece]]:
    """Return the number of parts of a group, and the parts."""
    if is_dask(content):
        return _dask_parts(name, content)
    if not isinstance(content, Source):
        if hasattr(content, "name") and hasattr(content, "chunks"):
            content = Source.from_reader(content.name, content.chunks)
        else:
            content = Source(name, as_rows(content, f"Group {name!r}", check_finite=False))
    if sampler is None and _is_large_file(content):
        # Workers read parts of an array file.
        spans = discover_sources([str(content.origin)], ReadOptions(split_every=leaf_rows(content.n_features)))
        return len(spans), (_read_part(span, None) for span in spans)
    if content.array is None and run.is_picklable(content):
        return 1, iter([_read_part(content, sampler)])
    step = leaf_rows(content.n_features)
    source = sampler.watch(content) if sampler else content
    return -(-len(content) // step), (_sent_part(name, rows) for rows in source.chunks(step))


def _is_large_file(source: Source) -> bool:
    is_array_file = source.origin is not None and Path(source.origin).suffix.lower() in ARRAY_READERS
    return is_array_file and len(source) > leaf_rows(source.n_features)


def _read_part(source: Source, sampler: ReservoirSample | None) -> Piece:
    n_features = source.known_width
    n_rows = source.known_length
    file = Path(source.origin or "")
    if n_rows is None and n_features is not None and file.is_file():
        n_rows = 1 + file.stat().st_size // (8 * n_features)
    return Piece(GroupRows(source, sampler), (), n_rows, n_features, partial(_file_fingerprint, source))


def _sent_part(name: Hashable, rows: Rows) -> Piece:
    # Dask copies what it sends; convert, so that a slice of a memory map does not include the complete map.
    source = Source(name, np.asarray(rows))
    return Piece(GroupRows(source), (), len(rows), rows.shape[1], partial(_rows_fingerprint, rows))


def _dask_parts(name: Hashable, content: Any) -> tuple[int, Iterator[Piece]]:
    if not is_dask_array(content):
        return 1, iter([Piece(GroupRows(), fingerprint=partial(str, content.key), delayed=content)])
    if content.ndim != 2:
        raise InputError(f"Group {name!r} has shape {content.shape}, expected (rows, features).")
    blocks = content.rechunk({1: -1}).to_delayed().ravel()
    width = content.shape[1]
    parts = zip(_sizes(content), blocks, strict=True)
    return len(blocks), (Piece(GroupRows(), (), size, width, partial(str, block.key), block) for size, block in parts)


def _sizes(array: Any) -> list[int | None]:
    """Return the number of rows of each block; None if unknown."""
    return [None if np.isnan(size) else int(size) for size in array.chunks[0]]


def _file_fingerprint(source: Source) -> str | None:
    """Return a fingerprint of a file (path, size, time) and of the way it is read."""
    file = Path(source.origin or "")
    if not file.is_file():
        return None
    status = file.stat()
    try:
        token = import_dask("dask.base").tokenize(source, ensure_deterministic=True)
    except Exception:  # without a fingerprint the result is computed again
        return None
    return f"{file.resolve()} {status.st_size} {status.st_mtime_ns} {token}"


def _rows_fingerprint(rows: Rows) -> str:
    return f"{rows.dtype.str} {rows.shape} {hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()}"


# Rows of many groups in mixed order


def _labelled_pieces(X: Any, labels: Any) -> list[Piece]:
    """Split a Dask array and its labels at the chunks of the array."""
    if not is_dask(X):
        chunks = (leaf_rows(np.shape(X)[1]), -1)
        X = import_dask("dask.array").from_array(as_rows(X, check_finite=False), chunks=chunks, name=False)
    if X.ndim != 2:
        raise InputError(f"X has shape {X.shape}, expected (rows, features).")
    X = X.rechunk({1: -1})
    blocks = X.to_delayed().ravel()
    delayed = partial(import_dask().delayed, pure=False, traverse=False)
    pieces = []
    for block, n_rows, part in zip(blocks, _sizes(X), _split_labels(X, labels, len(blocks)), strict=True):
        # Wrap labels in memory, so that Dask does not inspect each of them.
        lazy = part if is_dask(part) else delayed(part)
        fingerprint = partial(_block_fingerprint, block, part)
        both = delayed(_pair)(block, lazy)
        pieces.append(Piece(LabelledRows(), (), n_rows, X.shape[1], fingerprint, both, (lazy,)))
    return pieces


def _split_labels(X: Any, labels: Any, n_blocks: int) -> Any:
    sizes = X.chunks[0]
    if is_dask(labels):
        if not np.isnan(sizes).any() and not np.isnan(labels.shape[0]):
            _check_length(labels.shape, X.shape[0])
            labels = labels.rechunk((sizes,))
        parts = labels.to_delayed().ravel()
        if len(parts) != n_blocks:
            raise InputError(
                f"X has {n_blocks} blocks of unknown length, labels has {len(parts)}. Use the same chunks for both."
            )
        return parts
    if np.isnan(sizes).any():
        raise InputError("The chunk sizes of X are unknown. Call X.compute_chunk_sizes() first.")
    values = labels if hasattr(labels, "__array__") else list(labels)
    _check_length((len(values),), X.shape[0])
    parts = [values[start:stop] for start, stop in pairwise(np.cumsum([0, *sizes]).tolist())]
    if hasattr(values, "__array__"):
        parts = [np.asarray(part) for part in parts]
    return parts


def _table_pieces(folder: Any, group: str, columns: Sequence[str] | str | None) -> list[Piece]:
    """Return pieces of a few row groups of each .parquet file; only their numbers are sent."""
    parquet = import_optional("pyarrow.parquet", extra="tables", to="Reading .parquet files")
    paths = [path for path in source_files(folder).values() if path.suffix.lower() == ".parquet"]
    if not paths:
        raise InputError(f"There is no .parquet file in {folder}. Pass a folder of .parquet files, or their paths.")
    features = tuple(choose_columns([open_parquet(path) for path in paths], columns, group=group))
    pieces: list[Piece] = []
    for path in paths:
        with parquet.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
        status = path.stat()
        start = 0
        for stop in range(1, len(sizes) + 1):
            n_rows = sum(sizes[start:stop])
            if n_rows and (n_rows >= leaf_rows(len(features)) or stop == len(sizes)):
                rows = TableRows(Path(path).resolve(), tuple(range(start, stop)), features, group)
                text = f"{rows} {status.st_size} {status.st_mtime_ns}"
                pieces.append(Piece(rows, (), n_rows, len(features), partial(str, text)))
                start = stop
    return pieces


def _pair(rows: Any, labels: Any) -> tuple[Any, Any]:
    return rows, labels


def _check_length(shape: tuple[int, ...], n_rows: int) -> None:
    if shape != (n_rows,):
        raise InputError(f"labels has shape {shape} for {n_rows} rows; pass one label per row.")


def _block_fingerprint(block: Any, labels: Any) -> str:
    token = labels.key if is_dask(labels) else import_dask("dask.base").tokenize(labels)
    return f"{block.key} {token}"
