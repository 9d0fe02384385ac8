"""Evidence for an alarm that a person can look at: values, pictures and clips.

video     the seconds of its clip, and the available pictures
image     the available pictures
window    a curve per column: measured, denoised, and the median
row       a cell per column: value, denoised value, median, share of the score

features                  before       after                             taken
pixels of an image        the image    the denoised image                the removed part (signed)
cells of a frame          the frame    with contributions to the score   with the removed part
anything else             the frame    -                                 -
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import numpy as np

from undistract._arrays import Floats, Ints, Rows
from undistract.detect import FocusDetector, explain
from undistract.errors import InputError
from undistract.pipeline.model import Model
from undistract.pipeline.rows import feature_names, frame_map, frame_shape, last_image, row_pictures, row_type
from undistract.pipeline.verdicts import Verdict, deviation
from undistract.report.figures import AMBER, BLUE
from undistract.report.images import Picture, blend, downscale, png, subtract
from undistract.report.video import (
    LARGEST_WIDTH,
    ComparisonPanel,
    monotonic_times,
    resize_to_fit,
    stretch_rows,
    write_stretch,
)
from undistract.review.payloads import (
    Cell,
    Evidence,
    ImageEvidence,
    RowEvidence,
    Series,
    VideoEvidence,
    WindowEvidence,
)
from undistract.sources.images import read_image
from undistract.sources.source import Source
from undistract.sources.videos import read_frames

MAX_VARIANTS = 2048  # variants of a row for explanations by occlusion; more features are grouped
VIEWS = ("before", "after", "taken")
N_CLIPS = 20  # in the cache
N_SHOWN = 40  # cells or curves; a person does not read more
# A calm range becomes a group: it needs at least two rows, and its rows are stored in the log.
MAX_CALM_ROWS = 2000


def verdict_evidence(rows: Rows, median: Floats, verdict: Verdict) -> Floats | None:
    """Return the evidence of a verdict on rows (n, d) with this median: some rows, a deviation, or None.

    Examples
    --------
    >>> verdict = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "match.mp4", 1, 3, 2, "anomaly")
    >>> verdict_evidence(np.array([[1.0, 2.0], [1.0, 2.0], [4.0, 2.0]]), np.array([1.0, 2.0]), verdict)
    array([3., 0.])
    """
    if verdict.answer == "unsure":
        return None
    if verdict.answer != "calm":
        return deviation(rows, median, verdict.peak)
    n_rows = verdict.stop - verdict.start
    if not 2 <= n_rows <= MAX_CALM_ROWS:
        raise InputError(f"A calm range must have 2 to {MAX_CALM_ROWS} rows, got {n_rows}.")
    calm_rows: Floats = rows[verdict.start : verdict.stop].astype(np.float64)
    return calm_rows


def evidence_view(
    model: Model, source: Source, start: int, stop: int, peak: int, *, median: Floats | None = None
) -> Evidence:
    """Return what a person can look at to judge an alarm.

    Cells and curves with the largest share of the score come first; "left_out" is the number of omitted ones. A number
    that is not finite is None. `median` (d,) is that of the rows, computed if it is not known already.
    """
    rows = source.rows
    if not 0 <= start <= peak < stop <= len(rows):
        raise InputError(
            f"An alarm must have 0 <= start <= peak < stop <= {len(rows)}, got start {start}, peak {peak}, stop {stop} "
            f"for {source.name!r}."
        )
    kind = row_type(model, source)
    if kind == "video":
        return _video(model, source, start, stop, peak)
    if kind == "image":
        image: ImageEvidence = {"kind": "image", "pictures": views_of(model, source)}
        shape = frame_shape(model, rows.shape[1])
        if shape is not None:
            image["size"] = list(shape[:2])
        return image
    if median is None:
        median = np.median(rows, axis=0)
    row = np.asarray(rows[peak], dtype=np.float64)
    variants = np.stack([row, model.focus.denoise(row[None, :])[0], median])  # (3, d)
    shares = score_contributions(model, rows, peak, median)
    if kind == "window":
        return _window(model, source, variants, shares)
    return _row(model, source, variants, shares)


def _video(model: Model, source: Source, start: int, stop: int, peak: int) -> VideoEvidence:
    times = source.times
    has_clip = source.origin is not None and Path(source.origin).is_file() and times is not None
    evidence: VideoEvidence = {"kind": "video", "clip": has_clip, "pictures": views_of(model, source)}
    if times is not None:
        seconds = monotonic_times(times)
        # Seconds of the whole video; the clip starts at the first of them.
        evidence["seconds"] = [float(seconds[row]) for row in stretch_rows(times, start, stop, peak)]
        evidence["peak_second"] = float(seconds[peak])
    return evidence


def _window(model: Model, source: Source, variants: Floats, shares: Floats) -> WindowEvidence:
    steps = model.reading.window
    curves = variants.reshape(3, steps, -1)  # (3, steps, columns)
    columns, left_out = _top_features(shares.reshape(steps, -1).sum(axis=0))
    names = _names(model, source)[-curves.shape[2] :]  # the names of the last step have no suffix
    series: list[Series] = []
    for column in columns:
        measured, denoised, median = (_rounded(curve) for curve in curves[..., column])
        series.append({"name": names[column], "values": measured, "after": denoised, "usual": median})
    return {"kind": "window", "series": series, "steps": steps, "left_out": left_out}


def _row(model: Model, source: Source, variants: Floats, shares: Floats) -> RowEvidence:
    names = _names(model, source)
    columns, left_out = _top_features(shares)
    cells: list[Cell] = []
    for column in columns:
        value, denoised, median, part = _rounded(np.append(variants[:, column], shares[column]))
        cells.append({"name": names[column], "value": value, "after": denoised, "usual": median, "part": part})
    return {"kind": "row", "cells": cells, "left_out": left_out}


def _top_features(shares: Floats) -> tuple[Ints, int]:
    """Return the columns with the largest shares, and the number of the others."""
    order = np.argsort(-shares, kind="stable")
    return order[:N_SHOWN], max(0, len(order) - N_SHOWN)


def _names(model: Model, source: Source) -> tuple[str, ...]:
    if model.feature_names is None and source.feature_names is not None:
        return source.feature_names
    return feature_names(model)


def _rounded(values: Floats) -> list[float | None]:
    """Return numbers with six digits, more than a person reads; None for NaN and infinity."""
    numbers: list[float | None] = []
    for value in values.tolist():
        numbers.append(float(f"{value:.6g}") if np.isfinite(value) else None)
    return numbers


def denoised_deviation(model: Model, rows: Rows, median: Floats) -> Floats:
    """Return the deviation of rows (n, d) from a median (d,), without the distracting part."""
    # Denoise both sides: denoising is affine, so the difference of the results is the kept deviation.
    stacked = np.vstack([rows, median[None, :]]).astype(np.float64)
    clean = model.focus.denoise(stacked)
    return np.asarray(clean[:-1] - clean[-1])


def score_contributions(model: Model, rows: Rows, row: int, median: Floats) -> Floats:
    """Return the share of a row's score that each feature contributes, (d,).

    Without a detector, use the share of the squared kept deviation. `rows` (n, d) are all rows of the scored source,
    and `median` (d,) is their median.
    """
    detector = model.detector
    if not isinstance(detector, FocusDetector):
        squares = denoised_deviation(model, rows[row][None, :], median)[0] ** 2
        return np.asarray(squares / (squares.sum() or 1.0))
    context = rows
    index = row
    if not detector.adapt:
        # Reference rows are the measure: three rows with the right median replace the whole source.
        context = np.stack([median, median, rows[row]])
        index = 2
    groups: list[Ints] | None = None
    n_features = rows.shape[1]
    if n_features > MAX_VARIANTS:
        groups = np.array_split(np.arange(n_features), MAX_VARIANTS)
    reason = explain(detector, context, [index], feature_groups=groups)[0]  # type: ignore[arg-type]
    return np.asarray(reason.contributions / (abs(reason.score) or 1.0))


def views_of(model: Model, source: Source) -> list[str]:
    """Return the views that `item_picture` can draw: "before", "after", "taken"."""
    kind = row_type(model, source)
    if kind not in ("video", "image"):
        return []
    if frame_shape(model, source.n_features) is not None:
        return list(VIEWS)
    # Without pixels in the rows, the original frame is read again.
    if source.origin is None or not Path(source.origin).exists():
        return []
    if kind == "image" and source.row_names is None:
        return []
    if frame_map(model, np.zeros(source.n_features)) is None:
        return ["before"]
    return list(VIEWS)


def item_picture(
    model: Model, source: Source, row: int, view: str = "before", *, median: Floats | None = None
) -> bytes | None:
    """Draw a row of a source as a PNG; return None if there is nothing to draw.

    A frame that can no longer be read raises `InputError`. `median` (d,) is computed if it is not known already.
    """
    rows = source.rows
    if view not in VIEWS or not 0 <= row < len(rows):
        raise InputError(
            f"The view must be one of {', '.join(VIEWS)} and the row from 0 to {len(rows) - 1}, "
            f"got view {view!r} of row {row}."
        )
    if view not in views_of(model, source):
        return None
    pictures = row_pictures(model, rows[row])
    if pictures:
        picture = pictures[VIEWS.index(view)]
        return png(downscale(picture.pixels, LARGEST_WIDTH), limits=picture.limits, signed=picture.signed)
    frame = _frame(source, row)
    if view == "before":
        return png(frame)
    if median is None:
        median = np.median(rows, axis=0)
    if view == "after":
        values = np.maximum(score_contributions(model, rows, row, median), 0.0)
        color = AMBER[0]
    else:
        values = (rows[row] - median - denoised_deviation(model, rows[row][None, :], median)[0]) ** 2
        color = BLUE[0]
    overlay = frame_map(model, values)
    assert overlay is not None  # checked by views_of
    return png(blend(frame, overlay, float(overlay.max()), color))


def pattern_picture(model: Model, direction: Floats) -> bytes | None:
    """Draw a direction (d,) as a PNG with colors around zero; return None if features have no position."""
    shape = frame_shape(model, len(direction))
    # Features of one cell are summed, and their signs are unrelated: draw absolute values.
    image = frame_map(model, np.abs(direction)) if shape is None else last_image(direction, shape)
    if image is None:
        return None
    if image.ndim == 3:
        image = image.mean(axis=2)
    return png(downscale(image, LARGEST_WIDTH), signed=True)


def _frame(source: Source, row: int) -> Picture:
    """Read the frame or the image file of a row."""
    assert source.origin is not None
    path = Path(source.origin)
    if source.row_names is not None and path.is_dir():
        image = downscale(read_image(path / source.row_names[row]), LARGEST_WIDTH)
        return np.asarray(image, dtype=np.uint8)
    seconds = 0.0 if source.times is None else float(source.times[row])
    # If a damaged file has lost the frame, take the next one within a second.
    frames, _ = next(iter(read_frames(path, between=(seconds - 0.0005, seconds + 1.0))))
    return resize_to_fit(frames[0])


def write_item_clip(
    model: Model,
    source: Source,
    start: int,
    stop: int,
    peak: int,
    save: str | Path,
    *,
    median: Floats | None = None,
) -> Path:
    """Write the part of a video around an alarm as an mp4: the original, and to its right the denoised version.

    If features are pixels, the ignored part is subtracted from each frame. If they belong to cells of the frame, the
    kept part of each frame's deviation is drawn over it. Otherwise there is only the original.
    """
    rows = source.rows
    times = source.times
    if row_type(model, source) != "video" or times is None or not 0 <= start <= peak < stop <= len(rows):
        raise InputError(f"Rows {start} to {stop - 1} of {source.name!r} must be a part of a video.")
    assert source.origin is not None
    first, last = stretch_rows(times, start, stop, peak)
    clip_rows = np.asarray(rows[first : last + 1], dtype=np.float64)
    draw = _right_side(model, clip_rows, slice(max(start - first, 0), stop - first), rows, median)
    right = None if draw is None else lambda row, frame: draw(row - first, frame)
    return write_stretch(source.origin, times, start, stop, peak, save=save, panel=right)


def _right_side(
    model: Model, clip_rows: Floats, alarm: slice, rows: Rows, median: Floats | None
) -> ComparisonPanel | None:
    """Return the function that draws the right side of a row from its frame; None if there is nothing to draw."""
    shape = frame_shape(model, clip_rows.shape[1])
    if shape is not None and model.reading.features is not None:  # grey from 0 to 1, as frames are read
        removed = clip_rows - model.focus.denoise(clip_rows)
        return lambda row, frame: subtract(frame, last_image(removed[row], shape))
    if median is None:
        median = np.median(rows, axis=0)
    maps = frame_map(model, denoised_deviation(model, clip_rows, median) ** 2)
    if maps is None:
        return None
    top = float(maps[alarm].max())  # one scale for the whole clip
    return lambda row, frame: blend(frame, maps[row], top)


class ClipCache:
    """Cache of the newest clips, in a temporary folder; safe to share between threads."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="undistract-")
        self._lock = Lock()

    def get(self, names: Sequence[str], write: Callable[[Path], None]) -> Path:
        """Return the first of these clips that exists; otherwise write the last one."""
        with self._lock:
            folder = Path(self._folder.name)
            paths = [folder / f"{name}.mp4" for name in names]
            for path in paths:
                if path.exists():
                    return path
            for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-N_CLIPS]:
                old.unlink()
            write(paths[-1])
            return paths[-1]

    def close(self) -> None:
        """Delete all clips."""
        self._folder.cleanup()
