"""Clips of what alarmed: the stretch of a video, and beside it what remains without what distracts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import numpy as np

from undistract.arrays import Floats, Rows
from undistract.errors import InputError
from undistract.report.overlay import overlaid, taken_off
from undistract.report.stretch import Beside, stretch_rows, write_stretch
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.carried import kept_deviation
from undistract.workflow.item_kinds import frame_map, frame_shape, kind_of, last_image
from undistract.workflow.model import Model

KEPT_CLIPS = 20


def stretch(
    model: Model,
    one: FeatureSet,
    rows: Rows,
    start: int,
    stop: int,
    peak: int,
    save: str | Path,
    *,
    usual: Floats | None = None,
) -> Path:
    """Write the stretch of a video around an alarm as an mp4: as it is, and beside it without what distracts.

    Where features are pixels, what is ignored is taken off each frame. Where they lie in places, what is kept of each
    frame's deviation is laid over it. Else the frames stand alone.

    Parameters
    ----------
    model, one, rows, usual
        As in `item_picture`.
    start, stop, peak : int
        The rows of the alarm.
    save : path
        The file; it appears whole or not at all.

    Examples
    --------
    >>> stretch(model, match, match.rows, 60, 90, 71, "alarm.mp4")  # doctest: +SKIP
    PosixPath('alarm.mp4')
    """
    times = one.times
    if kind_of(model, one) != "video" or times is None or not 0 <= start <= peak < stop <= len(rows):
        raise InputError(f"Rows {start} to {stop - 1} of set {one.name!r} are no stretch of a video; expected some.")
    assert one.source is not None
    first, last = stretch_rows(times, start, stop, peak)
    shown = np.asarray(rows[first : last + 1], dtype=np.float64)
    beside = _beside(model, shown, slice(max(start - first, 0), stop - first), rows, usual)
    right = None if beside is None else lambda row, frame: beside(row - first, frame)
    return write_stretch(one.source, times, start, stop, peak, save=save, beside=right)


class KeptClips:
    """The newest clips, in a folder that goes when it is closed; threads may share it, and wait for one another.

    Examples
    --------
    >>> kept = KeptClips()
    >>> kept.found(["0-60-90-1"], lambda path: path.write_bytes(b"a clip") and None).read_bytes()
    b'a clip'
    >>> kept.close()
    """

    def __init__(self) -> None:
        self._folder, self._lock = TemporaryDirectory(prefix="undistract-"), Lock()

    def found(self, names: Sequence[str], write: Callable[[Path], None]) -> Path:
        """Return the first of these clips that is there; else let the last be written."""
        with self._lock:
            folder = Path(self._folder.name)
            paths = [folder / f"{name}.mp4" for name in names]
            for path in paths:
                if path.exists():
                    return path
            for old in sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)[:-KEPT_CLIPS]:
                old.unlink()
            write(paths[-1])
            return paths[-1]

    def close(self) -> None:
        """Delete them all."""
        self._folder.cleanup()


def _beside(model: Model, shown: Floats, alarm: slice, rows: Rows, usual: Floats | None) -> Beside | None:
    """Say how the right side of each row that is shown is made of its frame."""
    shape = frame_shape(model, shown.shape[1])
    if shape is not None and model.reading.features is not None:  # grey from 0 to 1, as the frames are read
        taken = shown - model.focus.denoise(shown)
        return lambda row, frame: taken_off(frame, last_image(taken[row], shape))
    usual = np.median(rows, axis=0) if usual is None else usual
    maps = frame_map(model, kept_deviation(model, shown, usual) ** 2)
    if maps is None:
        return None
    top = float(maps[alarm].max())  # one scale for the whole stretch
    return lambda row, frame: overlaid(frame, maps[row], top)
