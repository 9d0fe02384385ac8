"""Training: fit a model on groups of normal rows, with checkpoints, and merge the models of several sites."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone

from undistract._arrays import Rows
from undistract._progress import track
from undistract._text import format_names
from undistract.algebra import GroupMoments, Moments
from undistract.algebra.groups import Prior, Weights
from undistract.detect import FocusDetector, Quantile
from undistract.detect.calibration import fit_detector_and_threshold
from undistract.detect.reservoir import make_samplers
from undistract.errors import FileError, InputError
from undistract.focus import Focus
from undistract.pipeline.model import Model
from undistract.sources.cache import content_hashes, name_hashes
from undistract.sources.options import ReadOptions
from undistract.sources.source import Source, as_source_list
from undistract.storage import load, save
from undistract.version import __version__

# Seconds between two writes of a checkpoint; longer if a write takes more than a tenth of that.
CHECKPOINT_SECONDS = 5.0
START_AGAIN = "Use the same groups and settings, or delete the file to start again."
# Short groups are summed up together once they have this many rows, or values.
BATCH_ROWS = 2**14
BATCH_VALUES = 2**21


def learn(
    sources: Iterable[Source],
    *,
    focus: Focus | None = None,
    detector: Any = "nearest",
    threshold: Any = None,
    n_known: int = 3000,
    keep_rows: bool = True,
    reading: ReadOptions | None = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = False,
    cluster: Any = None,
) -> Model:
    """Fit focus, detector and alarm threshold on groups of normal rows.

    Parameters
    ----------
    sources : iterable of Source
        One source per group, for example from `read_sources`; each is read once, in chunks.
    focus : Focus, optional
        A focus with other settings than the default.
    detector : str or object
        Any argument of `undistract.detector`.
    threshold : rule or float, optional
        How often a normal row may alarm; by default one row in a hundred.
    n_known : int
        The number of reference rows that the model keeps to compare new rows with.
    keep_rows : bool
        False: keep no rows. The model then has aggregate statistics only; it can be shared, and merged with others.
    reading : Reading, optional
        The options that the rows were read with; saved in the model.
    checkpoint : path, optional
        Write the progress to this file every few seconds, and resume from an existing file with the same bits as
        without an interruption. The file stays at the end, so that a model that could not be saved is rebuilt at once;
        delete it when the model is saved. Sources must have different names.
    progress : bool or None
        True shows a progress bar on a terminal, None only if it takes long.
    cluster : distributed.Client or str, optional
        Read and sum up on the workers of a Dask cluster: a client, the address of a scheduler, or ``"local:2"`` for two
        processes on this machine (extra `dask`).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> light = np.linspace(-30, 30, 8)
    >>> days = [
    ...     Source(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
    ...     for day in range(20)
    ... ]
    >>> model = learn(days)
    >>> model.focus.n_removed_
    1
    """
    source_list = as_source_list(sources)
    if not source_list:
        raise InputError("There are no groups to train on. Pass at least two, each with the rows of one context.")
    if checkpoint is not None and cluster is not None:
        raise InputError("A checkpoint works on one machine only. Pass a checkpoint or a cluster, not both.")
    focus = focus or Focus()
    options = reading or ReadOptions()
    # Create the rule first: an invalid rate should raise before hours of reading.
    rule = threshold
    if threshold is None:
        rule = Quantile()
    elif not callable(threshold):
        rule = Quantile(threshold)
    names = source_list[0].feature_names or None
    shape: tuple[int, ...] | None = None
    extractor = options.extractor()
    if extractor is not None and options.window == 1:
        names = names or extractor.feature_names
        shape = extractor.image_shape
    n_reference = n_known if keep_rows else None
    sums: tuple[Moments, Sequence[Rows]] | None = None
    if checkpoint is not None:
        file = Checkpoint(checkpoint, source_list, focus.prior, n_reference, options)
        sums = sum_groups(source_list, focus.prior, n_reference, file, progress=progress)
    elif cluster is not None:
        sums = _sum_on_cluster(cluster, source_list, focus.prior, n_reference, progress)
    if not keep_rows:
        if sums is None:
            tracked = track(source_list, total=len(source_list), what="Learning groups", progress=progress)
            moments = Moments.of(tracked, focus.prior)
        else:
            moments, _ = sums
        fitted = focus.fit_moments(moments.without_rows())
        return Model(fitted, reading=options, feature_names=names, image_shape=shape)
    focus_detector = FocusDetector(focus, detector, threshold)
    if sums is None:
        focus_detector.fit_groups(source_list, n_known=n_known, progress=progress)
    else:
        moments, reference_rows = sums
        focus_detector = focus_detector.with_focus(clone(focus).fit_moments(moments), list(reference_rows))
    baseline, baseline_threshold, _ = fit_detector_and_threshold(detector, rule, focus_detector.known_)
    return Model(focus_detector, baseline, baseline_threshold, options, names, shape)


@dataclass(frozen=True, eq=False)
class Progress:
    """The moments of the first `n_done` groups, and a sample of the rows of each."""

    n_done: int = 0
    moments: Moments | None = None
    samples: tuple[Rows, ...] = ()


class Checkpoint:
    """A file with the progress of a training; a second run with the same groups and settings resumes from it.

    Only complete groups are in the file: the group that was being read is read again.

    Parameters
    ----------
    path : path
        At the end the file contains the result, and it stays until you delete it.
    sources : sequence of Source
    prior : as in `Focus`
    n_known : int, optional
    reading : ReadOptions
        How rows are read; a checkpoint of other options does not fit.
    """

    def __init__(
        self, path: str | Path, sources: Sequence[Source], prior: Weights, n_known: int | None, reading: ReadOptions
    ) -> None:
        self._path = Path(path)
        self._names = [source.name for source in sources]
        weights: Any = prior
        if isinstance(prior, Mapping):
            weights = np.array([float(prior.get(name, np.nan)) for name in self._names])
        elif not isinstance(prior, str):
            weights = np.array([float(weight) for weight in prior])
        # Everything that the sums depend on.
        self._about: dict[str, Any] = {
            "names": name_hashes(sources),
            "contents": content_hashes(sources),
            "prior": weights,
            "n_known": n_known,
            "reading": reading.to_dict(),
            "version": __version__,
        }
        self._next = monotonic() + CHECKPOINT_SECONDS

    def save(self, progress: Progress, *, force: bool = False) -> None:
        """Write the progress atomically, unless the last write is recent."""
        start = monotonic()
        if start < self._next and not force:
            return
        parts: dict[str, Any] = {"kind": "checkpoint", "about": self._about, "n_done": progress.n_done}
        parts["moments"] = progress.moments
        # One array per dtype: a file with thousands of small arrays is slow.
        parts["samples"] = [[len(rows), rows.dtype.name] for rows in progress.samples]
        for dtype in {rows.dtype.name for rows in progress.samples}:
            parts[f"rows {dtype}"] = np.concatenate([rows for rows in progress.samples if rows.dtype.name == dtype])
        save(parts, self._path)
        end = monotonic()
        self._next = end
        if CHECKPOINT_SECONDS:  # zero, in tests: write at every call
            self._next += max(CHECKPOINT_SECONDS, 10 * (end - start))

    def resume(self) -> Progress:
        """Return the progress in the file, if there is one; raise if it is of other groups, settings or files."""
        if not self._path.exists():
            return Progress()
        try:
            content = load(self._path)
        except FileError as error:
            raise FileError(f"{error} If it is a checkpoint, delete it to start again.") from error
        if not isinstance(content, Mapping) or content.get("kind") != "checkpoint":
            raise InputError(
                f"{self._path} is not a checkpoint and was not changed. Choose another name for the checkpoint."
            )
        try:
            self._check_same(content["about"])
            return _read_progress(content)
        except InputError:
            raise
        # The checksum proves that the file is complete, not that its content makes sense.
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise FileError(f"{self._path} cannot be used: {error!r:.80}. Delete it to start again.") from error

    def _check_same(self, stored: Mapping[str, Any]) -> None:
        if len(stored["names"]) != len(self._names):
            raise InputError(f"{self._path} has {len(stored['names'])} groups, got {len(self._names)}. {START_AGAIN}")
        new = self._differences(stored, "names")
        if new:
            raise InputError(f"{self._path} has other groups; not in it: {format_names(new)}. {START_AGAIN}")
        changed = self._differences(stored, "contents")
        if changed:
            raise InputError(
                f"Files have changed since {self._path} was written: {format_names(changed)}. "
                "Delete the checkpoint to start again, or restore the old files."
            )
        for name in ("prior", "n_known", "reading", "version"):
            value = self._about[name]
            if not np.array_equal(stored[name], value):
                text = "other weights" if isinstance(value, np.ndarray) else repr(value)
                raise InputError(
                    f"{self._path} was written with {name}={stored[name]!r:.80}, got {text}. {START_AGAIN}"
                )

    def _differences(self, stored: Mapping[str, Any], name: str) -> list[Hashable]:
        return [self._names[index] for index in np.flatnonzero(stored[name] != self._about[name]).tolist()]


def _read_progress(content: Mapping[str, Any]) -> Progress:
    samples: list[Rows] = []
    offsets = dict.fromkeys((dtype for _, dtype in content["samples"]), 0)
    for n_rows, dtype in content["samples"]:
        samples.append(content[f"rows {dtype}"][offsets[dtype] : offsets[dtype] + n_rows])
        offsets[dtype] += n_rows
    moments = content["moments"]
    n_groups = moments.n_groups if isinstance(moments, Moments) else 0
    if n_groups != content["n_done"] or (samples and len(samples) != n_groups):
        raise ValueError("inconsistent numbers of groups")
    return Progress(n_groups, moments, tuple(samples))


def sum_groups(
    sources: Sequence[Source],
    prior: Weights,
    n_known: int | None,
    checkpoint: Checkpoint,
    *,
    progress: bool | None = False,
) -> tuple[Moments, tuple[Rows, ...]]:
    """Return the moments of groups and a sample of the rows of each, with checkpoints.

    Short groups are summed up in batches. The batches depend on the rows only, never on the clock: with and without an
    interruption, the same numbers are added in the same order.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=(50, 3))) for day in range(4)]
    >>> with TemporaryDirectory() as folder:
    ...     file = Checkpoint(Path(folder, "sums.checkpoint"), days, "uniform", 20, ReadOptions())
    ...     moments, samples = sum_groups(days, "uniform", 20, file)
    ...     file.resume().n_done, moments.n_rows, [len(rows) for rows in samples]
    (4, 200, [5, 5, 5, 5])
    """
    names: dict[Hashable, None] = {}
    for source in sources:
        if source.name in names:
            raise InputError(f"Names must be unique, got {source.name!r} twice. Rename one of them.")
        names[source.name] = None
    if not isinstance(prior, str) and not hasattr(prior, "keys"):
        # Groups are added in batches, so weights in order become weights by name.
        Prior.of(prior).check_length(len(sources))
        prior = dict(zip(names, prior, strict=True))
    samplers = None if n_known is None else make_samplers(len(sources), n_known)
    done = checkpoint.resume()
    n_resumed = done.n_done
    batch: list[tuple[Hashable, Any]] = []  # short groups that are not added yet
    batch_samples: list[Rows] = []
    n_rows = 0

    def add_batch() -> None:
        nonlocal batch, batch_samples, n_rows, done
        if not batch:
            return
        moments = Moments.of(batch, prior)
        if done.moments is not None:
            moments = done.moments + moments
        done = Progress(done.n_done + len(batch), moments, (*done.samples, *batch_samples))
        batch = []
        batch_samples = []
        n_rows = 0
        checkpoint.save(done)

    numbers = range(n_resumed, len(sources))
    for number in track(numbers, total=len(numbers), what="Learning groups", progress=progress):
        source = sources[number]
        sampler = None if samplers is None else samplers(number)
        first: Rows | None = None
        group: GroupMoments | None = None
        for rows in source.chunks():
            if sampler is not None:
                sampler.add(rows)
            if first is None:
                first = rows
            elif group is None:  # a long group: the batch before it ends here
                add_batch()
                group = GroupMoments.of(first) + GroupMoments.of(rows)
            else:
                group = group + GroupMoments.of(rows)
        assert first is not None  # a source without rows raises
        batch.append((source.name, first if group is None else group))
        if sampler is not None:
            batch_samples.append(sampler.rows)
        n_rows += len(first)
        if group is not None or n_rows >= BATCH_ROWS or n_rows * first.shape[1] >= BATCH_VALUES:
            add_batch()
    add_batch()
    if n_resumed < len(sources):
        checkpoint.save(done, force=True)
    assert done.moments is not None
    return done.moments, done.samples


def _sum_on_cluster(
    cluster: Any, sources: Sequence[Source], prior: Weights, n_known: int | None, progress: bool | None
) -> tuple[Moments, Sequence[Rows]]:
    """Return the moments of groups and a sample of the rows of each; the workers of the cluster read the files."""
    from undistract.parallel import gather_with_samples, open_cluster, runner

    samplers = None if n_known is None else make_samplers(len(sources), n_known)
    with open_cluster(cluster) as client:
        return gather_with_samples(sources, runner(client), watch=samplers, prior=prior, progress=progress)


def merge(models: Sequence[Model], *, focus: Focus | None = None) -> Model:
    """Merge the models of several sites without sharing rows; equal to training on all groups at once.

    The merged model has the feedback of all models. Feedback contains what the person saw: the deviation of a row, or
    the rows of a calm range.

    Parameters
    ----------
    models : sequence of Model
        Of the same features; a group may be in one model only.
    focus : Focus, optional
        Settings of the merged model; by default those of the models, which must agree.

    Returns
    -------
    Model
        Without reference rows: it scores a source by its own rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(8)]
    >>> north = learn(days[:4], keep_rows=False)
    >>> south = learn(days[4:], keep_rows=False)
    >>> merge([north, south]).focus.moments_.n_groups
    8
    """
    if len(models) < 2:
        raise InputError(f"Merging needs at least two models, got {len(models)}.")
    first = models[0]
    for model in models[1:]:
        if (model.reading, model.feature_names) != (first.reading, first.feature_names):
            raise InputError("The models have different features. Train them with the same settings and columns.")
        if focus is None and model.focus.get_params() != first.focus.get_params():
            raise InputError("The models have different settings of FOCUS. Pass focus= for the merged model.")
    # Take the moments without calm groups of feedback: the feedback is applied again below.
    moments = []
    names: set[Hashable] = set()
    for model in models:
        own = model.focus.moments_ if model.training is None else model.training
        shared = [name for name in own.names if name in names]
        if shared:
            raise InputError(
                f"Group {shared[0]!r} is in two of the models ({len(shared)} groups in all), and a group counts once. "
                "If they are different groups, train on files with different names, such as north-day1.csv."
            )
        names.update(own.names)
        moments.append(own)
    fitted = clone(focus or first.focus).fit_moments(reduce(add, moments))
    merged = Model(fitted, reading=first.reading, feature_names=first.feature_names, image_shape=first.image_shape)
    feedback = {item.verdict.key: item for model in models for item in model.feedback}
    if not feedback:
        return merged
    return merged.with_feedback(feedback.values())
