"""A checkpoint: what `learn` has summed up so far, in a file; a second run goes on where the first was killed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from undistract.algebra import Moments, SetMoments
from undistract.algebra.prior import Weights
from undistract.arrays import Rows, listed
from undistract.errors import FileError, InputError
from undistract.sets.feature_set import FeatureSet
from undistract.sets.identity import contents_of, names_of
from undistract.storage import load, save
from undistract.version import __version__
from undistract.workflow.reading import Reading
from undistract.workflow.summing import Sums, sample_of, sum_up

# Seconds from one writing to the next; longer where a writing takes more than a tenth of that.
SECONDS = 5.0
ANEW = "Go on with the same sets and settings, or delete the file to begin anew."


def sum_up_with_checkpoint(
    sets: Sequence[FeatureSet],
    path: str | Path,
    *,
    prior: Weights,
    n_known: int | None,
    reading: Reading,
    progress: bool | None = False,
) -> Sums:
    """Sum up sets as `sum_up` does, and write down now and then how far it is; go on from a file that is there.

    Parameters
    ----------
    sets, prior, n_known, progress
        As in `sum_up`.
    path : path
        Of the checkpoint. When all is summed up it holds that, and stays until somebody deletes it.
    reading : Reading
        How rows are made: with another one, they are other rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=(50, 3))) for day in range(4)]
    >>> how = {"prior": "uniform", "n_known": None, "reading": Reading()}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sums.checkpoint")
    ...     sums = sum_up_with_checkpoint(days, path, **how)
    ...     sum_up_with_checkpoint(days[:3], path, **how)
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: ...sums.checkpoint is of 4 sets, now there are 3. Go on with the same sets...
    """
    about = _about(sets, prior, n_known, reading)
    path = Path(path)
    start = _resumed(path, about, sets, n_known) if path.exists() else Sums()
    writer = _Writer(path, about)
    done = start.n_sets == len(sets)
    sums = sum_up(sets, prior=prior, n_known=n_known, start=start, keep=writer.keep, progress=progress)
    if not done:
        writer.write(sums)
    return sums


class _Writer:
    """Writes down how far it is, every few seconds."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self._path, self._about = path, about
        self._next = monotonic() + SECONDS

    def keep(self, sums: Sums) -> None:
        """Write, if the last time is long ago."""
        begun = monotonic()
        if begun >= self._next:
            self.write(sums)
            ended = monotonic()
            self._next = ended + max(SECONDS, 10 * (ended - begun)) if SECONDS else ended  # zero: at every chance

    def write(self, sums: Sums) -> None:
        """Write all, at once: killed meanwhile, the file from before stays."""
        parts: dict[str, Any] = {"kind": "checkpoint", "about": self._about, "n_sets": sums.n_sets}
        parts |= {"n_chunks": sums.n_chunks, "total": sums.total, "piece": sums.piece}
        parts["sample"] = None if sums.sample is None else sums.sample.state()
        # Rows of one dtype lie together: a file of thousands of small arrays is slow.
        parts["known"] = [[len(rows), rows.dtype.name] for rows in sums.known]
        for dtype in {rows.dtype.name for rows in sums.known}:
            parts[f"rows {dtype}"] = np.concatenate([rows for rows in sums.known if rows.dtype.name == dtype])
        save(parts, self._path)


def _about(sets: Sequence[FeatureSet], prior: Weights, n_known: int | None, reading: Reading) -> dict[str, Any]:
    """Give all that the sums depend on."""
    weights = prior if isinstance(prior, str) else np.array([float(one) for one in _in_order(prior, sets)])
    return {
        "names": names_of(sets),
        "contents": contents_of(sets),
        "prior": weights,
        "n_known": n_known,
        "reading": reading.as_json(),
        "version": __version__,
    }


def _in_order(prior: Any, sets: Sequence[FeatureSet]) -> list[Any]:
    return [prior.get(one.name, np.nan) for one in sets] if hasattr(prior, "keys") else list(prior)


def _resumed(path: Path, about: dict[str, Any], sets: Sequence[FeatureSet], n_known: int | None) -> Sums:
    """Read a checkpoint; refuse one of other sets, settings or files."""
    try:
        found = load(path)
    except FileError as error:
        raise FileError(f"{error} If it is a checkpoint, delete it: what it held is summed up anew.") from error
    if not isinstance(found, Mapping) or found.get("kind") != "checkpoint":
        raise InputError(f"{path} is no checkpoint, and is left as it is. Choose another name for the checkpoint.")
    try:
        _check_same(path, found["about"], about, sets)
        return _put_together(found, len(sets), n_known)
    except InputError:
        raise
    # A file that somebody changed and signed anew can be wrong in any way.
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise FileError(f"{path} cannot be used: {error!r:.80}. Delete it to begin anew.") from error


def _put_together(found: Mapping[str, Any], n_sets: int, n_known: int | None) -> Sums:
    known, places = [], dict.fromkeys((dtype for _, dtype in found["known"]), 0)
    for n_rows, dtype in found["known"]:
        rows: Rows = found[f"rows {dtype}"][places[dtype] : places[dtype] + n_rows]
        known.append(rows)
        places[dtype] += n_rows
    sums = Sums(found["n_sets"], found["total"], known, found["n_chunks"], found["piece"])
    n_summed = sums.total.n_sets if isinstance(sums.total, Moments) else 0
    if n_summed != sums.n_sets or not isinstance(sums.piece, SetMoments | None):
        raise ValueError("its parts do not fit together")
    if found["sample"] is not None:
        sums.sample = sample_of(sums.n_sets, n_sets, n_known, found["sample"])
    return sums


def _check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any], sets: Sequence[FeatureSet]) -> None:
    if len(before["names"]) != len(sets):
        raise InputError(f"{path} is of {len(before['names'])} sets, now there are {len(sets)}. {ANEW}")
    other = np.flatnonzero(before["names"] != now["names"]).tolist()
    if other:
        raise InputError(f"{path} is of other sets: new are {listed([sets[place].name for place in other])}. {ANEW}")
    changed = np.flatnonzero(before["contents"] != now["contents"]).tolist()
    if changed:
        raise InputError(
            f"What was summed up in {path} has changed since: {listed([sets[place].name for place in changed])}. "
            "Delete the checkpoint to begin anew, or bring the old files back."
        )
    for name in ("prior", "n_known", "reading", "version"):
        if not np.array_equal(before[name], now[name]):
            words = "other weights" if isinstance(now[name], np.ndarray) else f"{now[name]!r}"
            raise InputError(f"{path} was made with {name}={before[name]!r:.80}, now it is {words}. {ANEW}")
