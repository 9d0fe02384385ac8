"""A clip with its scores drawn below: what happened, how strange it was, and who was called.

┌────────────────┐
│   the frame    │   framed while an alarm lasts
├────────────────┤
│ ▁▁▂▁▁▆█▆▁▁ ╎   │   strangeness, the threshold, alarms in colour, a cursor for now
│ ▂▂▂▂▂▁▁▁▂▂ ╎   │   share of each frame's variation that was ignored
└────────────────┘
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.arrays import Floats, Ints
from undistract.errors import EvidenceWarning, InputError
from undistract.extras import need
from undistract.report.clip_writer import TICKS, ClipWriter
from undistract.report.plots import AMBER, BLUE, FAINT, GREY, INK
from undistract.report.png import Picture, colour
from undistract.sets.videos import read_frames

LEAST_WIDTH, MARGIN = 640, 8
TRACK, SHARE, CAPTION = 72, 28, 20  # heights in pixels


def render_video(
    path: str | Path,
    times: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    save: str | Path,
    threshold: float | None = None,
    alarms: Sequence[Any] = (),
    ignored_share: npt.ArrayLike | None = None,
) -> Path:
    """Write an mp4 of the clip with its score track, alarms and ignored share below the picture.

    Parameters
    ----------
    path : path
        The clip that was scored.
    times, scores : (n,) arrays
        When each row was seen, in seconds of the clip and in order, and how strange it was; NaN where not scored.
    save : path
        The mp4 file; it appears whole or not at all.
    threshold : float, optional
        Drawn as a line where it is finite.
    alarms : sequence of Alarm
        Their rows are drawn in colour, and the picture is framed meanwhile.
    ignored_share : (n,) array, optional
        From 0 to 1.

    Examples
    --------
    >>> render_video("match.mp4", scores.times, scores.values, save="out.mp4", alarms=alarms)  # doctest: +SKIP
    PosixPath('out.mp4')
    """
    av = need("av", extra="video", to="Writing videos")
    rows = _checked(times, scores, ignored_share)
    if threshold is not None and not np.isfinite(threshold):
        threshold = None  # no lone row can alarm, so there is nothing to draw
    alarmed = np.zeros(len(rows.times), dtype=bool)
    for alarm in alarms:
        alarmed[alarm.start : alarm.stop] = True
    save = Path(save)
    strip: _Strip | None = None
    with TemporaryDirectory(dir=save.parent) as scratch:
        part = Path(scratch, "part.mp4")
        with av.open(str(part), "w") as container:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EvidenceWarning)  # lost frames were told when the clip was scored
                for frames, seconds in read_frames(path):
                    for frame, now in zip(frames, seconds.tolist(), strict=True):
                        picture = _enlarged(frame)
                        if strip is None:
                            strip = _Strip.drawn(picture.shape[1], rows, alarmed, threshold)
                            writer = ClipWriter.opened(
                                av, container, picture.shape[1], len(picture) + len(strip.picture)
                            )
                        writer.write(_composed(picture, strip, rows, alarmed, now), now)
            writer.close()
        part.replace(save)
    return save


@dataclass(frozen=True)
class _Rows:
    times: Floats
    scores: Floats
    share: Floats | None

    def at(self, now: float) -> int:
        """Return the row that was seen last; -1 before the first."""
        return int(np.searchsorted(self.times, now + 0.5 / TICKS, side="right")) - 1


def _checked(times: npt.ArrayLike, scores: npt.ArrayLike, share: npt.ArrayLike | None) -> _Rows:
    seconds, values = np.asarray(times, dtype=float), np.asarray(scores, dtype=float)
    shares = None if share is None else np.asarray(share, dtype=float)
    if seconds.ndim != 1 or not len(seconds) or values.shape != seconds.shape or np.any(np.diff(seconds) < 0):
        raise InputError(
            f"times have shape {seconds.shape} and scores {values.shape}; expected one time per score, in order."
        )
    if shares is not None and shares.shape != seconds.shape:
        raise InputError(
            f"ignored_share has shape {shares.shape}; expected one value for each of {len(seconds)} scores."
        )
    return _Rows(seconds, values, shares)


def _enlarged(frame: Picture) -> Picture:
    """Enlarge small frames by a whole number, and cut to even sides, which the encoder asks for."""
    times = max(1, -(-LEAST_WIDTH // frame.shape[1]))
    large = frame.repeat(times, axis=0).repeat(times, axis=1)
    return np.ascontiguousarray(large[: len(large) // 2 * 2, : large.shape[1] // 2 * 2])


@dataclass(frozen=True)
class _Strip:
    """What stands below the picture, drawn once; only the cursor moves."""

    picture: Picture
    first: float
    last: float

    @classmethod
    def drawn(cls, width: int, rows: _Rows, alarmed: npt.NDArray[np.bool_], threshold: float | None) -> _Strip:
        heights = [CAPTION, TRACK] + ([] if rows.share is None else [CAPTION, SHARE])
        strip = np.full((sum(heights) + MARGIN, width, 3), 255, dtype=np.uint8)
        inside = width - 2 * MARGIN
        step = float(np.median(np.diff(rows.times))) if len(rows.times) > 1 else 1.0
        made = cls(strip, float(rows.times[0]), float(rows.times[-1]) + step)
        # The row under each column of pixels; where rows are many, the strangest of those that share it.
        edges = made.first + (made.last - made.first) * np.arange(inside + 1) / inside
        bounds = np.searchsorted(rows.times, edges + 1e-9, side="right") - 1
        spans = [(a, max(b, a + 1)) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
        values = np.array([np.nan_to_num(rows.scores[a:b], nan=-np.inf).max() for a, b in spans])
        known = rows.scores[np.isfinite(rows.scores)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        low, high = min(low, 0.0), max(high, threshold if threshold is not None else high)
        unit = (TRACK - 2) / ((high - low) or 1.0)
        called = np.array([alarmed[a:b].any() for a, b in spans])
        tall = np.where(np.isfinite(values), np.rint((values - low) * unit), 0).astype(int)
        top = CAPTION
        _bars(strip, tall, top, TRACK, np.where(called[:, None], colour(AMBER[0]), colour(GREY[1])))
        if threshold is not None:
            line = top + TRACK - 1 - round((threshold - low) * unit)
            strip[line, MARGIN:-MARGIN][np.arange(inside) % 8 < 5] = colour(INK)
        _write(strip, "strangeness" + ("" if threshold is None else ", threshold dashed"), MARGIN, top - 6, FAINT)
        if alarmed.any():
            _write(strip, "alarm", width - MARGIN - 44, top - 6, AMBER[1])
        if rows.share is not None:
            shares = np.array([np.nan_to_num(rows.share[a:b]).max() for a, b in spans])
            top += TRACK + CAPTION
            _bars(strip, np.rint(np.clip(shares, 0, 1) * SHARE).astype(int), top, SHARE, colour(BLUE[0]))
            _write(strip, "ignored share, 0 to 1", MARGIN, top - 6, FAINT)
        return made

    def column(self, now: float) -> int:
        """Return where the cursor stands."""
        inside = self.picture.shape[1] - 2 * MARGIN
        share = (now - self.first) / (self.last - self.first)
        return MARGIN + int(np.clip(share * inside, 0, inside - 1))


def _bars(strip: Picture, tall: Ints, top: int, height: int, colours: Any) -> None:
    filled = np.arange(height)[:, None] >= height - tall[None, :]  # (height, inside)
    panel = strip[top : top + height, MARGIN : MARGIN + len(tall)]
    panel[:] = np.where(filled[..., None], np.asarray(colours, dtype=np.uint8), np.uint8(244))


def _composed(picture: Picture, strip: _Strip, rows: _Rows, alarmed: npt.NDArray[np.bool_], now: float) -> Picture:
    below = strip.picture.copy()
    column, row = strip.column(now), rows.at(now)
    below[CAPTION // 2 :, column : column + 2] = colour(INK)
    picture = picture.copy()
    if row >= 0 and alarmed[row]:
        for side in (np.s_[:6], np.s_[-6:], np.s_[:, :6], np.s_[:, -6:]):
            picture[side] = colour(AMBER[0])
    return np.concatenate([picture, below])


def _write(picture: Picture, words: str, left: int, baseline: int, ink: str) -> None:
    cv2 = need("cv2", extra="video", to="Writing videos")
    tint = tuple(colour(ink).tolist())
    cv2.putText(picture, words, (left, baseline), cv2.FONT_HERSHEY_SIMPLEX, 0.42, tint, 1, cv2.LINE_AA)
