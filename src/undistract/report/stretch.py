"""A stretch of a clip around an alarm: at the left as it is, at the right what remains of it.

┌────────────┬────────────┐
│ as it is   │ what is    │
│            │ left of it │
├────────────┴────────────┤
│ ░░░░░░█████▏░░░░░░░░░░░ │   the alarm in colour, a cursor for now
└─────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from undistract.arrays import Floats
from undistract.extras import need
from undistract.report.clip_writer import TICKS, ClipWriter
from undistract.report.plots import AMBER, INK
from undistract.report.png import Picture, colour
from undistract.sets.videos import read_frames

CONTEXT, LONGEST = 2.0, 60.0  # seconds before and after the alarm, and of all
LARGEST_WIDTH, BAR, GAP = 640, 10, 4  # pixels of one side, of the bar below, between the sides
KEY_SECONDS = 0.5  # a browser leaps to any half second at once
FASTEST = 30  # frames in a second; of faster clips some are left out
TRACK = np.uint8(214)

Beside = Callable[[int, Picture], Picture]  # the row at hand and its frame → what stands at the right, as large


def stretch_rows(times: Floats, start: int, stop: int, peak: int) -> tuple[int, int]:
    """Say which rows are shown of an alarm: some seconds around it, or around its peak where it is long.

    Parameters
    ----------
    times : (n,) array
        When each row was seen, in seconds and in order.
    start, stop, peak : int
        The rows of the alarm.

    Returns
    -------
    first, last : int
        Both are shown.

    Examples
    --------
    >>> stretch_rows(np.arange(1000) / 10, 300, 310, 305)
    (280, 329)
    >>> stretch_rows(np.arange(10000) / 10, 100, 9000, 8000)
    (7700, 8300)
    """
    times = steady(times)
    since, until = times[start] - CONTEXT, times[stop - 1] + CONTEXT
    if until - since > LONGEST:
        since = float(np.clip(times[peak] - LONGEST / 2, since, until - LONGEST))
        until = since + LONGEST
    first = int(np.searchsorted(times, since - 0.5 / TICKS))
    return first, max(first, int(np.searchsorted(times, until + 0.5 / TICKS, side="right")) - 1)


def steady(times: Floats) -> Floats:
    """Set a clock right that leaps, as that of a damaged clip may, by changing as few times as can be.

    Examples
    --------
    >>> steady(np.array([0.0, 0.1, 9.0, 0.3, 0.4])).tolist()
    [0.0, 0.1, 0.3, 0.3, 0.4]
    """
    ways: tuple[Floats, ...] = np.maximum.accumulate(times), np.minimum.accumulate(times[::-1])[::-1]
    return min(ways, key=lambda way: int((way != times).sum()))


def write_stretch(
    path: str | Path,
    times: Floats,
    start: int,
    stop: int,
    peak: int,
    *,
    save: str | Path,
    beside: Beside | None = None,
    codec: str | None = None,
) -> Path:
    """Write the stretch of a clip around an alarm as an mp4 that a browser plays and can leap in.

    The time in it is that of the clip since the first row of `stretch_rows`. A damaged clip gives what can be read.

    Parameters
    ----------
    path : path
        The clip.
    times, start, stop, peak
        As in `stretch_rows`.
    save : path
        The mp4 file; it appears whole or not at all.
    beside : callable, optional
        Makes the right side of a row and its frame (height, width, 3); without it there is the left side alone.
    codec : str, optional
        By default the best that there is.

    Examples
    --------
    >>> write_stretch("match.mp4", scores.times, 300, 310, 305, save="alarm.mp4")  # doctest: +SKIP
    PosixPath('alarm.mp4')
    """
    av = need("av", extra="video", to="Writing videos")
    first, last = stretch_rows(times, start, stop, peak)
    shown = steady(times)[first : last + 1]
    bar: _Bar | None = None
    with TemporaryDirectory(dir=Path(save).parent) as scratch:
        part = Path(scratch, "part.mp4")
        with av.open(str(part), "w", options={"movflags": "faststart"}) as container:
            for frame, now in _frames(path, float(shown[0]), float(shown[-1])):
                row = first + max(0, int(np.searchsorted(shown, now + 0.5 / TICKS, side="right")) - 1)
                picture = _side_by_side(frame, None if beside is None else beside(row, frame))
                if bar is None:
                    bar = _Bar.drawn(picture.shape[1], shown, start - first, stop - first)
                    size = picture.shape[1], len(picture) + BAR
                    writer = ClipWriter.opened(av, container, *size, key_seconds=KEY_SECONDS, hurried=True, codec=codec)
                writer.write(np.concatenate([picture, bar.at(now)]), now - float(shown[0]))
            writer.close()
        part.replace(save)
    return Path(save)


def fitted(frame: Picture) -> Picture:
    """Bring a frame to a width that fits: large ones are averaged, small ones enlarged by a whole number."""
    height, width = frame.shape[:2]
    if width <= LARGEST_WIDTH:
        times = LARGEST_WIDTH // width
        return frame.repeat(times, axis=0).repeat(times, axis=1)
    cv2 = need("cv2", extra="video", to="Writing videos")
    size = LARGEST_WIDTH, max(1, round(height * LARGEST_WIDTH / width))
    smaller: Picture = cv2.resize(np.ascontiguousarray(frame), size, interpolation=cv2.INTER_AREA)
    return smaller


def _frames(path: str | Path, since: float, until: float) -> Iterator[tuple[Picture, float]]:
    """Read the frames, fitted, and not more of them than a browser shows."""
    due = -np.inf
    for frames, seconds in read_frames(path, between=(since - 0.5 / TICKS, until + 0.5 / TICKS)):
        for frame, now in zip(frames, seconds.tolist(), strict=True):
            if now + 0.5 / TICKS >= due:
                due = now + 1 / FASTEST
                yield fitted(frame), now


def _side_by_side(frame: Picture, other: Picture | None) -> Picture:
    if other is None:
        return frame
    return np.hstack([frame, np.full((len(frame), GAP, 3), 255, np.uint8), other])


@dataclass(frozen=True)
class _Bar:
    """The bar below, drawn once; only the cursor moves."""

    picture: Picture
    first: float
    seconds: float

    @classmethod
    def drawn(cls, width: int, shown: Floats, start: int, stop: int) -> _Bar:
        step = float(np.median(np.diff(shown))) if len(shown) > 1 else 1.0
        made = cls(np.full((BAR, width, 3), TRACK), float(shown[0]), float(shown[-1] - shown[0]) + step)
        # An alarm that is longer than the stretch goes on beyond its borders.
        begin = shown[max(start, 0)]
        end = shown[stop] if stop < len(shown) else shown[-1] + step
        made.picture[:, made.column(begin) : max(made.column(end), made.column(begin) + 2)] = colour(AMBER[0])
        return made

    def column(self, now: Any) -> int:
        return int(np.clip((now - self.first) / self.seconds, 0.0, 1.0) * self.picture.shape[1])

    def at(self, now: float) -> Picture:
        below = self.picture.copy()
        place = min(self.column(now), below.shape[1] - 3)
        below[:, place : place + 3] = colour(INK)
        return below
