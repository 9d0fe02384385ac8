"""Moments of sets that lie anywhere, gathered by many workers.

sets ─► pieces ─► leaves ─► branches ─► Moments
                  └ summed up by the workers ┘ └ joined here, in order
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from undistract.algebra import Moments
from undistract.algebra.prior import Prior, Weights
from undistract.arrays import Rows
from undistract.errors import InputError
from undistract.parallel.checkpoint import Checkpoint
from undistract.parallel.lazy import is_lazy, is_lazy_array
from undistract.parallel.leaf import Piece, Watcher
from undistract.parallel.mixed import Source, bag_sources, labelled_sources, mixed_pieces, parquet_sources
from undistract.parallel.one_by_one import set_pieces
from undistract.parallel.part import Part, folded, in_order, join, refusing, renamed
from undistract.parallel.plan import Branch, branches
from undistract.parallel.run import Here, OnCluster, Task, runner
from undistract.progress import watched
from undistract.sets.feature_set import FeatureSet


class Gathered(NamedTuple):
    """Moments, and what was noted of each set on the way."""

    moments: Moments
    noted: list[Rows]


def gather(
    sets: Any,
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
    """Sum up sets on the workers of a Dask cluster; only sums travel.

    The result has the same bits however many workers there are and whichever of them die, and is that of `Moments.of`
    to 1e-12.

    Parameters
    ----------
    sets : iterable, pair or Dask collection
        Sets one by one: a mapping or an iterable of FeatureSets, arrays, or pairs of a name and rows, a Dask array or a
        Delayed that gives rows. Paths of files, which the workers read themselves. A Dask array, with `labels` or as
        the pair (array, labels). A Dask bag of (name, rows). For tables with a column that names the set, see
        `gather_parquet`.
    client : distributed.Client, optional
        Else the one that is open in this process; without any, all is done here, in the same steps.
    labels : (n,) array or Dask array, optional
        Which set each row of a Dask array belongs to.
    prior : {"uniform", "by_size"}, mapping or sequence
        How much each set counts, as in `Moments.of`.
    split_every : int
        So many leaves are joined by the workers before a sum comes back.
    retries : int
        How often a task is tried again when it fails or its worker dies.
    timeout : float, optional
        Seconds in which the next sum must come back.
    progress : bool or None
        True shows on a terminal how far we are, None only when it takes long.
    checkpoint : path, optional
        A folder in which sums are kept: a second run computes only what is missing there.

    Raises
    ------
    InputError
        Where rows cannot be used; it names their set.
    ClusterError
        Where the cluster does not do its work; it says how to go on.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> days = {day: rng.normal(size=(20, 3)) + shift for shift, day in enumerate(["mon", "tue", "wed"])}
    >>> moments = gather(days)
    >>> moments.names, moments.n_rows
    (('mon', 'tue', 'wed'), 60)
    """
    if labels is None and isinstance(sets, tuple) and len(sets) == 2 and is_lazy_array(sets[0]):
        sets, labels = sets
    run = runner(client, retries=retries, timeout=timeout)
    keep = None if checkpoint is None else Checkpoint(checkpoint)
    if labels is not None:
        sources = labelled_sources(sets, labels)
        return _gather_mixed(sources, run, prior, split_every, progress, keep, np.shape(sets)[1])
    if is_lazy(sets) and hasattr(type(sets), "to_delayed") and not is_lazy_array(sets):
        return _gather_mixed(bag_sources(sets), run, prior, split_every, progress, keep)
    return gather_noting(sets, run, prior=prior, split_every=split_every, progress=progress, keep=keep).moments


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
    """Sum up tables with a column that names the set; rows of one set may lie anywhere, in any of them.

    The workers read the files themselves, some row groups at a time.

    Parameters
    ----------
    folder : path or iterable of paths
        A folder of .parquet files, or these.
    group : str
        The column that says which set a row belongs to.
    client, prior, split_every, retries, timeout, progress, checkpoint
        As in `gather`.
    columns : sequence of str, or "numeric", optional
        The features; else every other column.

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
    run = runner(client, retries=retries, timeout=timeout)
    keep = None if checkpoint is None else Checkpoint(checkpoint)
    return _gather_mixed(parquet_sources(folder, group, columns), run, prior, split_every, progress, keep)


def gather_noting(
    sets: Any,
    run: Here | OnCluster,
    *,
    watch: Callable[[int], Watcher] | None = None,
    prior: Weights = "uniform",
    split_every: int = 8,
    progress: bool | None = False,
    keep: Checkpoint | None = None,
) -> Gathered:
    """Sum up sets one by one, and let something be noted of each while it is read.

    Parameters
    ----------
    sets : mapping or iterable
        As in `gather`; FeatureSets where something is to be noted.
    run : Here or OnCluster
    watch : callable, optional
        Makes the watcher of set number n. It is asked for its ``rows`` when the set was read.
    prior, split_every, progress, keep
        As in `gather`.
    """
    noted: dict[int, Rows] = {}
    names: list[Hashable] = []

    def pieces() -> Iterator[Piece]:
        for piece in set_pieces(sets, watch=watch, noted=noted, travels=run.travels):
            if piece.numbers[0] == len(names):
                names.extend(piece.names)
            yield piece

    part = _summed(pieces(), isinstance(sets, Sized), run, prior, split_every, progress, keep)
    noted |= part.noted
    return Gathered(_settled(part, names, prior), [noted[number] for number in sorted(noted)])


def in_turn(do: Callable[[FeatureSet], Any], sets: Iterable[FeatureSet], run: Here | OnCluster) -> Iterator[Any]:
    """Do something with every set where `run` runs, and give the results in order.

    Examples
    --------
    >>> from undistract.parallel.run import Here
    >>> list(in_turn(len, [FeatureSet("mon", [[1.0], [2.0]]), FeatureSet("tue", [[3.0]])], Here()))
    [2, 1]
    """

    def sent(one: FeatureSet) -> FeatureSet:
        if one.array is not None or run.travels(one):
            return one
        return FeatureSet(one.name, *one.whole(), one.source, feature_names=one.feature_names, row_names=one.row_names)

    return run.run(Task([(partial(refusing, do, sent(one)), ())], f"set {one.name!r}") for one in sets)


def _gather_mixed(
    sources: Sequence[Source],
    run: Here | OnCluster,
    prior: Weights,
    split_every: int,
    progress: bool | None,
    keep: Checkpoint | None,
    width: int | None = None,
) -> Moments:
    def run_all(calls: Any) -> Iterator[Any]:
        return run.run(Task([call], "the names of the sets") for call in calls)

    names, pieces = mixed_pieces(sources, run_all, Prior.of(prior), width)
    return _settled(_summed(pieces, True, run, prior, split_every, progress, keep), names, prior)


def _summed(
    pieces: Iterable[Piece],
    sized: bool,
    run: Here | OnCluster,
    prior: Weights,
    split_every: int,
    progress: bool | None,
    keep: Checkpoint | None,
) -> Part:
    if split_every < 1:
        raise InputError(f"split_every is {split_every}; expected at least 1.")
    made: Iterable[Branch] = branches(pieces, Prior.of(prior), split_every)
    total = None
    if sized and progress is not False:
        made = list(made)
        total = len(made)
    keys: list[str | None] = []  # of branches that are to be kept

    def tasks() -> Iterator[Task]:
        for branch in made:
            key = None if keep is None else branch.key
            found = None if keep is None else keep.load(key)
            keys.append(key if found is None else None)
            calls = [(leaf.sum_up, before) for leaf, before in branch.leaves]
            yield Task(calls, branch.describe(), join, found)

    def kept() -> Iterator[Part]:
        for number, part in enumerate(run.run(tasks())):
            key = keys[number]
            if keep is not None and key is not None:
                keep.save(key, part)
            yield part

    whole = folded(watched(kept(), total=total, what="Gathering sets", progress=progress))
    if whole is None:
        raise InputError("There are no sets. Give at least two, each with the rows of one context.")
    return whole


def _settled(part: Part, names: Sequence[Hashable], prior: Weights) -> Moments:
    assert part.moments is not None
    assert not part.opened
    Prior.of(prior).check_length(part.moments.n_sets)
    moments = in_order(part.moments)
    return renamed(moments if part.blend is None else part.blend.poured(moments), names)
