"""Write videos: a clip with its scores, and the part of a clip around an alarm.

render_video          ┌────────────────┐     write_stretch   ┌──────────┬──────────┐
                      │   the frame    │                     │ original │ cleaned  │
with a border         │                │                     │          │          │
during an alarm       ├────────────────┤                     ├──────────┴──────────┤
scores, threshold     │ ▁▁▂▁▁▆█▆▁▁ ╎   │                     │ ░░░░░█████▏░░░░░░░░ │  alarm and cursor
ignored shares        │ ▂▂▂▂▂▁▁▁▂▂ ╎   │                     └─────────────────────┘
                      └────────────────┘
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats, Ints
from undistract._optional import import_optional
from undistract.errors import EvidenceWarning, InputError
from undistract.report.images import AMBER, BLUE, FAINT, GREY, INK, Picture, colour
from undistract.sources.videos import read_frames

TICKS = 1000  # timestamps have a resolution of 1 ms
# The first codec that PyAV was built with is used, with its settings. All but the last play in a browser.
CODECS: Final[dict[str, dict[str, str]]] = {
    "libx264": {"crf": "20", "preset": "veryfast", "forced-idr": "1"},
    "libvpx-vp9": {"crf": "30", "b": "0", "deadline": "realtime", "cpu-used": "8"},
    "mpeg4": {},
}

# Of the part around an alarm:
CONTEXT = 2.0  # seconds before and after the alarm
LONGEST = 60.0  # seconds in total
LARGEST_WIDTH = 640  # pixels of the left or right side
BAR = 10  # height of the bar in pixels
GAP = 4  # pixels between the sides
KEY_SECONDS = 0.5  # a browser can jump to any half second
FASTEST = 30  # frames per second; frames of faster clips are skipped
BAR_GREY = np.uint8(214)

# Of a clip with its scores, in pixels:
MIN_WIDTH = 640
MARGIN = 8
CAPTION, SCORES, SHARE = 20, 72, 28  # heights of the panels
BORDER = 6

ComparisonPanel = Callable[[int, Picture], Picture]  # a row and its frame → the right side, of the same size


def write_clip(path: str | Path, frames: Picture, *, rate: float = 10.0) -> Path:
    """Write frames (n, height, width, 3) as an mp4 file with `rate` frames per second.

    Examples
    --------
    >>> write_clip("grey.mp4", np.full((20, 64, 96, 3), 128, dtype=np.uint8))  # doctest: +SKIP
    PosixPath('grey.mp4')
    """
    return _encode(path, ((frame, number / rate) for number, frame in enumerate(frames)))


def _encode(
    path: str | Path,
    frames: Iterable[tuple[Picture, float]],
    *,
    key_seconds: float = np.inf,
    fast: bool = False,
    codec: str | None = None,
) -> Path:
    """Write frames of one size with their times in seconds as an mp4 file that browsers can play, atomically.

    A player can jump to key frames, which are `key_seconds` apart. With `fast`, H.264 needs less time and more bytes.
    """
    av = import_optional("av", extra="video", to="Writing videos")
    codec = codec or next(name for name in CODECS if name in av.codecs_available)
    options = dict(CODECS[codec])
    if fast and codec == "libx264":
        options["preset"] = "ultrafast"
    with TemporaryDirectory(dir=Path(path).parent) as scratch:
        part = Path(scratch, "part.mp4")
        # faststart moves the index to the front, so that a browser can start before it has the whole file.
        with av.open(str(part), "w", options={"movflags": "faststart"}) as container:
            stream = container.add_stream(codec, rate=TICKS)
            stream.pix_fmt = "yuv420p"
            stream.codec_context.time_base = Fraction(1, TICKS)
            stream.options = options
            tick = -1
            key_tick = -np.inf
            for picture, seconds in frames:
                # yuv420p stores colours at half the resolution, so both sides must be even.
                height, width = picture.shape[:2]
                even = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
                if tick < 0:
                    stream.height, stream.width = even.shape[:2]
                frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(even), format="rgb24")
                # Timestamps must increase, even if those of a damaged clip do not.
                tick = max(tick + 1, round(seconds * TICKS))
                frame.pts = tick
                frame.time_base = Fraction(1, TICKS)
                if tick - key_tick >= key_seconds * TICKS:
                    frame.pict_type = av.video.frame.PictureType.I
                    key_tick = tick
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))  # the frames that the codec has buffered
        part.replace(path)
    return Path(path)


def stretch_rows(times: Floats, start: int, stop: int, peak: int) -> tuple[int, int]:
    """Return the rows around an alarm, or around its peak if the alarm is long.

    Parameters
    ----------
    times : (n,) array
        The time of each row in seconds, in order.
    start, stop, peak : int
        The rows of the alarm.

    Returns
    -------
    first, last : int
        Both inclusive.

    Examples
    --------
    >>> stretch_rows(np.arange(1000) / 10, 300, 310, 305)
    (280, 329)
    >>> stretch_rows(np.arange(10000) / 10, 100, 9000, 8000)
    (7700, 8300)
    """
    times = monotonic_times(times)
    since, until = times[start] - CONTEXT, times[stop - 1] + CONTEXT
    if until - since > LONGEST:
        since = float(np.clip(times[peak] - LONGEST / 2, since, until - LONGEST))
        until = since + LONGEST
    first = int(np.searchsorted(times, since - 0.5 / TICKS))
    return first, max(first, int(np.searchsorted(times, until + 0.5 / TICKS, side="right")) - 1)


def monotonic_times(times: Floats) -> Floats:
    """Make times non-decreasing by changing as few of them as possible. Times of damaged clips may jump.

    Examples
    --------
    >>> monotonic_times(np.array([0.0, 0.1, 9.0, 0.3, 0.4])).tolist()
    [0.0, 0.1, 0.3, 0.3, 0.4]
    """
    candidates: tuple[Floats, ...] = np.maximum.accumulate(times), np.minimum.accumulate(times[::-1])[::-1]
    return min(candidates, key=lambda candidate: int((candidate != times).sum()))


def write_stretch(
    path: str | Path,
    times: Floats,
    start: int,
    stop: int,
    peak: int,
    *,
    save: str | Path,
    panel: ComparisonPanel | None = None,
    codec: str | None = None,
) -> Path:
    """Write the part of a clip around an alarm as an mp4 file that a browser can play and seek.

    Time starts at the first row of `stretch_rows`. Of a damaged clip, the readable frames are written.

    Parameters
    ----------
    path : path
        The clip.
    times, start, stop, peak
        As in `stretch_rows`.
    save : path
        The mp4 file; it is written atomically.
    panel : callable, optional
        Returns the right side for a row and its frame (height, width, 3). Without it, there is only the left side.
    codec : str, optional
        By default the best available one.

    Examples
    --------
    >>> write_stretch("match.mp4", scores.times, 300, 310, 305, save="alarm.mp4")  # doctest: +SKIP
    PosixPath('alarm.mp4')
    """
    first, last = stretch_rows(times, start, stop, peak)
    frames = _stretch_frames(
        path, monotonic_times(times)[first : last + 1], first, (start - first, stop - first), panel
    )
    return _encode(save, frames, key_seconds=KEY_SECONDS, fast=True, codec=codec)


def _stretch_frames(
    path: str | Path, times: Floats, first: int, alarm: tuple[int, int], panel: ComparisonPanel | None
) -> Iterator[tuple[Picture, float]]:
    """Read the frames between the times of some rows, at most `FASTEST` per second, and draw panel and bar."""
    begin, end = float(times[0]), float(times[-1])
    bar: _Bar | None = None
    due = -np.inf
    for frames, seconds in read_frames(path, between=(begin - 0.5 / TICKS, end + 0.5 / TICKS)):
        for frame, second in zip(frames, seconds.tolist(), strict=True):
            if second + 0.5 / TICKS < due:
                continue
            due = second + 1 / FASTEST
            picture = resize_to_fit(frame)
            if panel is not None:
                gap = np.full((len(picture), GAP, 3), 255, np.uint8)
                picture = np.hstack([picture, gap, panel(first + max(0, _row_at(times, second)), picture)])
            bar = bar or _Bar.drawn(picture.shape[1], times, *alarm)
            yield np.concatenate([picture, bar.at(second)]), second - begin


def _row_at(times: Floats, second: float) -> int:
    """Return the row at a time; -1 before the first row."""
    return int(np.searchsorted(times, second + 0.5 / TICKS, side="right")) - 1


def _median_step(times: Floats) -> float:
    return float(np.median(np.diff(times))) if len(times) > 1 else 1.0


def resize_to_fit(frame: Picture) -> Picture:
    """Resize a frame to the maximum width: large ones are averaged, small ones enlarged by an integer factor."""
    height, width = frame.shape[:2]
    if width <= LARGEST_WIDTH:
        factor = LARGEST_WIDTH // width
        return frame.repeat(factor, axis=0).repeat(factor, axis=1)
    cv2 = import_optional("cv2", extra="video", to="Writing videos")
    size = LARGEST_WIDTH, max(1, round(height * LARGEST_WIDTH / width))
    smaller: Picture = cv2.resize(np.ascontiguousarray(frame), size, interpolation=cv2.INTER_AREA)
    return smaller


@dataclass(frozen=True)
class _Bar:
    """The bar below the frames. It is drawn once; only the cursor moves."""

    picture: Picture
    first: float
    seconds: float

    @classmethod
    def drawn(cls, width: int, times: Floats, start: int, stop: int) -> _Bar:
        step = _median_step(times)
        bar = cls(np.full((BAR, width, 3), BAR_GREY), float(times[0]), float(times[-1] - times[0]) + step)
        # A long alarm may start before and end after the rows of the clip.
        begin = bar.column(times[max(start, 0)])
        end = bar.column(np.append(times, times[-1] + step)[min(stop, len(times))])
        bar.picture[:, begin : max(end, begin + 2)] = colour(AMBER[0])
        return bar

    def column(self, second: float) -> int:
        return int(np.clip((second - self.first) / self.seconds, 0.0, 1.0) * self.picture.shape[1])

    def at(self, second: float) -> Picture:
        picture = self.picture.copy()
        column = min(self.column(second), picture.shape[1] - 3)
        picture[:, column : column + 3] = colour(INK)
        return picture


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
    """Write an mp4 file of the clip with its scores, alarms and ignored shares below the picture.

    Parameters
    ----------
    path : path
        The clip that was scored.
    times, scores : (n,) arrays
        The time of each row in seconds, in order, and its score; NaN for rows without a score.
    save : path
        The mp4 file; it is written atomically.
    threshold : float, optional
        Drawn as a line if it is finite.
    alarms : sequence of Alarm
        Their rows are drawn in colour, and the picture has a border meanwhile.
    ignored_share : (n,) array, optional
        From 0 to 1.

    Examples
    --------
    >>> render_video("match.mp4", scores.times, scores.values, save="out.mp4", alarms=alarms)  # doctest: +SKIP
    PosixPath('out.mp4')
    """
    rows = _checked(times, scores, ignored_share)
    if threshold is not None and not np.isfinite(threshold):
        threshold = None  # infinite if a single row cannot alarm: there is no line to draw
    is_alarm = np.zeros(len(rows.times), dtype=bool)
    for alarm in alarms:
        is_alarm[alarm.start : alarm.stop] = True
    return _encode(save, _rendered_frames(path, rows, is_alarm, threshold))


def _rendered_frames(
    path: str | Path, rows: _Rows, is_alarm: npt.NDArray[np.bool_], threshold: float | None
) -> Iterator[tuple[Picture, float]]:
    """Read the frames of a clip, and draw the panels below and the border during alarms."""
    strip: _Strip | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # scoring the clip has reported lost frames already
        for frames, seconds in read_frames(path):
            for frame, second in zip(frames, seconds.tolist(), strict=True):
                picture = _enlarged(frame)
                strip = strip or _Strip.drawn(picture.shape[1], rows, is_alarm, threshold)
                row = _row_at(rows.times, second)
                if row >= 0 and is_alarm[row]:
                    for side in (np.s_[:BORDER], np.s_[-BORDER:], np.s_[:, :BORDER], np.s_[:, -BORDER:]):
                        picture[side] = colour(AMBER[0])
                yield np.concatenate([picture, strip.at(second)]), second


@dataclass(frozen=True)
class _Rows:
    times: Floats
    scores: Floats
    share: Floats | None


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
    """Enlarge small frames by an integer factor, and crop to even sides, which the encoder needs."""
    factor = max(1, -(-MIN_WIDTH // frame.shape[1]))
    large = frame.repeat(factor, axis=0).repeat(factor, axis=1)
    return np.ascontiguousarray(large[: len(large) // 2 * 2, : large.shape[1] // 2 * 2])


@dataclass(frozen=True)
class _Strip:
    """The panels below the picture. They are drawn once; only the cursor moves."""

    picture: Picture
    first: float
    last: float

    @classmethod
    def drawn(cls, width: int, rows: _Rows, is_alarm: npt.NDArray[np.bool_], threshold: float | None) -> _Strip:
        share_height = 0 if rows.share is None else CAPTION + SHARE
        height = CAPTION + SCORES + MARGIN + share_height
        strip = np.full((height, width, 3), 255, dtype=np.uint8)
        inside = width - 2 * MARGIN
        first = float(rows.times[0])
        last = float(rows.times[-1]) + _median_step(rows.times)
        # The rows of each pixel column. If there are many, the highest score is drawn.
        edges = first + (last - first) * np.arange(inside + 1) / inside
        bounds = np.searchsorted(rows.times, edges + 1e-9, side="right") - 1
        spans = [(a, max(b, a + 1)) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
        values = np.array([np.nan_to_num(rows.scores[a:b], nan=-np.inf).max() for a, b in spans])
        finite = rows.scores[np.isfinite(rows.scores)]
        low = float(finite.min(initial=0.0))
        high = float(finite.max()) if len(finite) else 1.0
        if threshold is not None:
            high = max(high, threshold)
        unit = (SCORES - 2) / ((high - low) or 1.0)
        has_alarm = np.array([is_alarm[a:b].any() for a, b in spans])
        heights = np.where(np.isfinite(values), np.rint((values - low) * unit), 0).astype(int)
        top = CAPTION
        colours = np.where(has_alarm[:, None], colour(AMBER[0]), colour(GREY[1]))
        _bars(strip, heights, top, SCORES, colours)
        if threshold is not None:
            line = top + SCORES - 1 - round((threshold - low) * unit)
            strip[line, MARGIN:-MARGIN][np.arange(inside) % 8 < 5] = colour(INK)
        caption = "score" if threshold is None else "score, threshold dashed"
        _write(strip, caption, MARGIN, top - 6, FAINT)
        if is_alarm.any():
            _write(strip, "alarm", width - MARGIN - 44, top - 6, AMBER[1])
        if rows.share is not None:
            shares = np.array([np.nan_to_num(rows.share[a:b]).max() for a, b in spans])
            top += SCORES + CAPTION
            _bars(strip, np.rint(np.clip(shares, 0, 1) * SHARE).astype(int), top, SHARE, colour(BLUE[0]))
            _write(strip, "ignored share, 0 to 1", MARGIN, top - 6, FAINT)
        return cls(strip, first, last)

    def at(self, second: float) -> Picture:
        """Return the panels with the cursor at a time."""
        picture = self.picture.copy()
        inside = picture.shape[1] - 2 * MARGIN
        share = (second - self.first) / (self.last - self.first)
        column = MARGIN + int(np.clip(share * inside, 0, inside - 1))
        picture[CAPTION // 2 :, column : column + 2] = colour(INK)
        return picture


def _bars(strip: Picture, heights: Ints, top: int, height: int, colours: Any) -> None:
    filled = np.arange(height)[:, None] >= height - heights[None, :]  # (height, inside)
    panel = strip[top : top + height, MARGIN : MARGIN + len(heights)]
    panel[:] = np.where(filled[..., None], np.asarray(colours, dtype=np.uint8), np.uint8(244))


def _write(picture: Picture, text: str, x: int, baseline: int, ink: str) -> None:
    cv2 = import_optional("cv2", extra="video", to="Writing videos")
    tint = tuple(colour(ink).tolist())
    cv2.putText(picture, text, (x, baseline), cv2.FONT_HERSHEY_SIMPLEX, 0.42, tint, 1, cv2.LINE_AA)
