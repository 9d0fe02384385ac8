"""Learning: sets of normal rows become a model, and the models of several sites one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from sklearn.base import clone

from undistract.algebra import Moments
from undistract.detect import FocusDetector, Quantile
from undistract.detect.held_out import calibrated
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.progress import watched
from undistract.sets.feature_set import FeatureSet, listed_sets
from undistract.workflow.checkpoints import sum_up_with_checkpoint
from undistract.workflow.model import Model
from undistract.workflow.on_cluster import gather_on
from undistract.workflow.reading import Reading


def learn(
    sets: Iterable[FeatureSet],
    *,
    focus: Focus | None = None,
    detector: Any = "nearest",
    threshold: Any = None,
    n_known: int = 3000,
    keep_rows: bool = True,
    reading: Reading | None = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = False,
    cluster: Any = None,
) -> Model:
    """Learn from sets of normal rows what to ignore, what is usual, and when to alarm.

    Parameters
    ----------
    sets : iterable of FeatureSet
        Such as `read_sets` gives; each is read once, chunk by chunk.
    focus : Focus, optional
        With other settings than the default.
    detector : str or object
        Anything that `undistract.detector` takes.
    threshold : rule or float, optional
        How often a normal row may alarm; one in a hundred by default.
    n_known : int
        How many normal rows the model keeps, to compare new ones with.
    keep_rows : bool
        False: keep none; the model then holds sums alone, which can leave the house and be merged with those of others.
    reading : Reading, optional
        How the rows were made; kept in the model.
    checkpoint : path, optional
        Write down in this file, every few seconds, how far it is. Where the file is there, go on from it: the same bits
        as without a break. It stays when all is learned, so that a model that could not be saved is made again at once;
        delete it when the model is saved. Sets must have different names.
    progress : bool or None
        True shows on a terminal how many sets are done, None only when it takes long.
    cluster : distributed.Client or str, optional
        Let the workers of a Dask cluster read the sets and sum them up: a client, the address of a scheduler, or
        ``"local:2"`` for two processes on this machine (extra `dask`).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> light = np.linspace(-30, 30, 8)
    >>> days = [
    ...     FeatureSet(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
    ...     for day in range(20)
    ... ]
    >>> model = learn(days)
    >>> model.focus.n_removed_
    1
    """
    every = listed_sets(sets)
    if not every:
        raise InputError("There are no sets to learn from. Give at least two, each with the rows of one context.")
    wanted, how = focus or Focus(), reading or Reading()
    # Made now: a rate that is none is refused before hours of reading, not after.
    rule = threshold if callable(threshold) else Quantile() if threshold is None else Quantile(threshold)
    extractor = how.extractor()
    names = every[0].feature_names or (None if extractor is None or how.window > 1 else extractor.feature_names)
    shape = None if extractor is None or how.window > 1 else extractor.image_shape
    if checkpoint is not None and cluster is not None:
        raise InputError("A checkpoint is kept by one machine alone. Give a checkpoint or a cluster, not both.")
    gathered = None
    known = n_known if keep_rows else None
    if checkpoint is not None:
        found = sum_up_with_checkpoint(
            every, checkpoint, prior=wanted.prior, n_known=known, reading=how, progress=progress
        )
        gathered = found.moments, found.known
    elif cluster is not None:
        gathered = gather_on(cluster, every, prior=wanted.prior, n_known=known, progress=progress)
    if not keep_rows:
        shown = watched(every, total=len(every), what="Learning sets", progress=progress)
        sums = Moments.of(shown, wanted.prior) if gathered is None else gathered[0]
        return Model(wanted.fit_moments(sums.without_rows()), reading=how, feature_names=names, image_shape=shape)
    watch = FocusDetector(wanted, detector, threshold)
    if gathered is None:
        watch = watch.fit_sets(every, n_known=n_known, progress=progress)
    else:
        watch = watch.with_focus(clone(wanted).fit_moments(gathered[0]), gathered[1])
    plain, plain_threshold, _ = calibrated(detector, rule, watch.known_)
    return Model(watch, plain, plain_threshold, how, names, shape)


def merge(models: Sequence[Model], *, focus: Focus | None = None) -> Model:
    """Join what several sites learned, without sharing a row: the same as if all sets had been learned in one place.

    What people taught any of the models is taught to the merged one. Verdicts hold what the person saw: the deviation
    of a row, or the rows of a stretch that was called calm.

    Parameters
    ----------
    models : sequence of Model
        Made of the same features; no set may be in two of them.
    focus : Focus, optional
        With other settings than the models have, where they have the same.

    Returns
    -------
    Model
        Without known rows: it judges a set by its own rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(8)]
    >>> here, there = learn(days[:4], keep_rows=False), learn(days[4:], keep_rows=False)
    >>> merge([here, there]).focus.moments_.n_sets
    8
    """
    if len(models) < 2:
        raise InputError(f"{len(models)} model was given; merging takes at least two.")
    first = models[0]
    for model in models[1:]:
        if (model.reading, model.feature_names) != (first.reading, first.feature_names):
            raise InputError(
                "The models were made of different features. Learn them with the same settings and columns."
            )
        if focus is None and model.focus.get_params() != first.focus.get_params():
            raise InputError("The models have different settings of FOCUS. Say which hold for the merged one.")
    # What people taught is taught anew: calm sets of theirs are not among the sums then.
    sums = [model.focus.moments_ if model.training is None else model.training for model in models]
    seen: set[Hashable] = set()
    for part in sums:
        if again := [name for name in part.names if name in seen]:
            raise InputError(
                f"Set {again[0]!r} is in two of the models ({len(again)} sets in all), and a set counts once. Where "
                "they are different sets, learn from files whose names tell them apart, such as north-day1.csv."
            )
        seen.update(part.names)
    learned = clone(focus or first.focus).fit_moments(reduce(add, sums))
    merged = Model(learned, reading=first.reading, feature_names=first.feature_names, image_shape=first.image_shape)
    lessons = {one.verdict.key: one for model in models for one in model.lessons}
    return merged.taught(lessons.values()) if lessons else merged
