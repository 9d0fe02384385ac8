"""Read videos: frames with their times, and the rows that an extractor makes of them.

    file ─► packets ─► frames (n, height, width[, 3]) with times (n,) ─► extractor ─► rows

From a damaged clip, all readable frames are returned, with a report about the lost ones:

    expected   0 1 2 3 4 5 6 7 8 9
    read       0 1 2 . . 5 6 . . .         lost: 3-4 (cannot be decoded), 7-9 (the file ends early)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats, Ints, Rows
from undistract._optional import import_optional
from undistract.errors import EvidenceWarning, InputError
from undistract.sources.images import frame_rows
from undistract.sources.source import Source, TimedRows

Frames = npt.NDArray[np.uint8]

VIDEOS = (".mp4", ".avi", ".mkv", ".mov", ".webm")
# Containers for a single clip. Playlists are excluded, so that a file cannot make the reader open other files.
FORMATS = "mov,mp4,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,gif,mjpeg,h264,hevc,m4v,mxf,dv"
MAX_PIXELS = 2**24  # per frame: enough for 5.3K video, and a header cannot make the decoder allocate gigabytes
SPARE_PIXELS = 2**20  # decoders round sides up, so their own bound is higher; the exact limit is checked in this module
CHUNK_BYTES, CHUNK_FRAMES = 2**24, 64
MAX_ERRORS = 100  # errors of the container before the file is abandoned
MAX_STRAY_FRAMES = 2  # frames beyond `between` before reading stops: in damaged clips single frames have a wrong time


def read_frames(
    path: str | Path,
    *,
    grey: bool = False,
    size: tuple[int, int] | None = None,
    every: int = 1,
    between: tuple[float, float] | None = None,
    max_pixels: int = MAX_PIXELS,
    on_report: Callable[[VideoReport], None] | None = None,
) -> Iterator[tuple[Frames, Floats]]:
    """Yield chunks of frames of a video, with their times in seconds.

    Parameters
    ----------
    path : path
        A local file; nothing is downloaded, and no other file is opened.
    grey : bool
        One channel instead of three (red, green, blue).
    size : (width, height), optional
        Scale every frame to this size (area average).
    every : int
        Keep one frame in `every`.
    between : pair of float, optional
        First and last second to read; earlier frames are skipped by seeking if the container allows it. Lost frames
        are not reported then.
    max_pixels : int
        Raise an error for larger frames, before memory is allocated.
    on_report : callable, optional
        Called once with the `VideoReport` at the end. Without it, lost frames issue an `EvidenceWarning`.

    Yields
    ------
    frames : (n, height, width) or (n, height, width, 3) array of uint8
        Upright: the rotation in the metadata is applied.
    times : (n,) array
        Seconds, from the file; the frame rate may vary.

    Examples
    --------
    >>> for frames, times in read_frames("calm.mp4", grey=True):  # doctest: +SKIP
    ...     print(frames.shape, times[0], times[-1])
    (64, 240, 360) 0.0 6.3
    """
    if every < 1 or max_pixels < 1 or (size is not None and min(size) < 1):
        raise InputError(f"every, max_pixels and size must be at least 1, got {every}, {max_pixels} and {size}.")
    path = Path(path)
    av = import_optional("av", extra="video", to="Reading videos")
    with ExitStack() as files:
        container = files.enter_context(_open(av, path, max_pixels))
        stream = _video_stream(container, path, max_pixels)
        log = _decode_log(container, stream)
        shape: tuple[int, int] | None = None
        pending: list[tuple[Frames, float]] = []
        since, until = between or (-np.inf, np.inf)
        n_beyond = 0
        if between is not None and not seek_before(av, container, stream, since):
            container = files.enter_context(_open(av, path, max_pixels))
            stream = _video_stream(container, path, max_pixels)
        for number, (frame, time) in enumerate(_decode(av, container, stream, log, path, max_pixels)):
            n_beyond += 1
            if time <= until:
                n_beyond = 0
            if n_beyond > MAX_STRAY_FRAMES:
                break
            if number % every or not since <= time <= until:
                continue
            image = _image(frame, grey, size, shape)
            shape = image.shape[:2]
            pending.append((image, time))
            if len(pending) >= min(CHUNK_FRAMES, max(1, CHUNK_BYTES // image.nbytes)):
                yield _stacked(pending)
                pending = []
        if shape is None:
            span = f" from {since:.2f} s to {until:.2f} s" if between is not None else ""
            raise InputError(
                f"{path.name} has no readable frame{span}; expected a video with frames of at most "
                f"{max_pixels:,} pixels. Is the file complete, and can other programs play it?"
            )
        if pending:
            yield _stacked(pending)
        if between is not None:
            return
        if size is not None:
            shape = None  # report the size of the frames in the file, not of the scaled ones
        report = _report(path, stream, log, shape)
    if on_report is not None:
        on_report(report)
    elif report.lost:
        warnings.warn(str(report), EvidenceWarning, stacklevel=2)


def video_rows(path: str | Path, extract: Any, **reading: Any) -> Iterator[TimedRows]:
    """Yield the rows of a video in chunks, with the options of `read_frames`; rows do not depend on the chunks."""
    reading.setdefault("grey", bool(getattr(extract, "grey", False)))
    return frame_rows(read_frames(path, **reading), extract)


def video_source(path: str | Path, extract: Any, *, name: Hashable = None, cache: Any = None, **reading: Any) -> Source:
    """Return a video as a source with one row per frame; it is decoded on each read.

    Parameters
    ----------
    path : path
    extract : callable
        Turns frames into (n, d) rows; see `undistract.features.make_extractor`. Optional attributes: `context`, the
        number of earlier frames that a row uses, and `grey`, whether it needs grey frames.
    name : hashable, optional
        Default: the file name without its ending.
    cache : RowCache, optional
        Stores the rows, so that the next read does not decode the video.
    **reading
        As in `read_frames`.

    Examples
    --------
    >>> from undistract.features import make_extractor
    >>> calm = video_source("calm.mp4", make_extractor("pixels"))  # nothing is read yet
    >>> calm.name, calm.origin
    ('calm', 'calm.mp4')
    """
    path = Path(path)
    if name is None:
        name = path.stem
    read = partial(video_rows, path, extract, **reading)
    if cache is not None:
        read = partial(cache.rows, path, extract, **reading)
    feature_names = getattr(extract, "feature_names", None)
    return Source.from_reader(name, read, origin=str(path), feature_names=feature_names)


def _open(av: Any, path: Path, max_pixels: int) -> Any:
    if not path.is_file():
        raise InputError(f"There is no file {path}. Pass the path of a video.")
    options = {"protocol_whitelist": "file", "format_whitelist": FORMATS, "max_pixels": str(max_pixels + SPARE_PIXELS)}
    try:
        # `file:` keeps a name such as "http:x" from being read as an address.
        return av.open(f"file:{path}", options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError, MemoryError) as error:
        raise InputError(
            f"{path.name} cannot be opened as a video ({_reason(error)}). Expected a clip such as .mp4, .mkv or .avi: "
            "is it complete, and can other programs play it? If not, skip it with --ignore."
        ) from error


def _video_stream(container: Any, path: Path, max_pixels: int) -> Any:
    # The cover of an audio file is a video stream too, with one image.
    streams = [stream for stream in container.streams.video if "attached_pic" not in str(stream.disposition)]
    if not streams or streams[0].codec_context is None:
        kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
        raise InputError(f"{path.name} contains no video that can be decoded, only: {kinds}. Pass a video file.")
    stream = streams[0]
    _check_pixels(path, stream.codec_context.width, stream.codec_context.height, max_pixels)
    stream.codec_context.options = {"max_pixels": str(max_pixels + SPARE_PIXELS)}
    # Frame threads race when the decoder conceals a damaged frame: two reads could differ.
    stream.thread_type = "SLICE"
    return stream


def _check_pixels(path: Path, width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise InputError(
            f"{path.name} has frames of {width} x {height}, {width * height:,} pixels; the limit is {max_pixels:,}. "
            "If the size is right, raise max_pixels, or scale the video down first."
        )


def _decode_log(container: Any, stream: Any) -> DecodeLog:
    time_base = stream.time_base
    end = None
    if stream.duration is not None:
        end = float((stream.duration + (stream.start_time or 0)) * time_base)
    elif container.duration is not None and len(container.streams) == 1:
        end = (container.duration + (container.start_time or 0)) / 1e6
    rate = stream.average_rate or stream.guessed_rate or 25
    return DecodeLog(time_base, float(1 / rate), expected_frames=max(int(stream.frames), 0), expected_end=end)


def _decode(
    av: Any, container: Any, stream: Any, log: DecodeLog, path: Path, max_pixels: int
) -> Iterator[tuple[Any, float]]:
    """Yield decoded frames and their times; after an error, continue with the next packet."""
    errors = (av.FFmpegError, ValueError, MemoryError)
    packets = container.demux(stream)
    n_errors = 0
    time = -log.step
    while n_errors < MAX_ERRORS:
        try:
            packet = next(packets, None)
        except errors:
            log.had_errors = True
            n_errors += 1
            packets = container.demux(stream)  # the generator ended with its error
            continue
        if packet is None:
            return
        if packet.pts is not None and packet.size and not packet.is_discard:
            log.packets.append(packet.pts)
        try:
            frames = packet.decode()
        except errors:
            log.had_errors = True
            continue
        for frame in frames:
            if frame.is_corrupt:
                log.had_errors = True
                continue
            _check_pixels(path, frame.width, frame.height, max_pixels)
            log.n_frames += 1
            if frame.pts is None:
                time += log.step
            else:
                log.frames.append(frame.pts)
                time = float(frame.pts * log.time_base)
            yield frame, time


def _image(frame: Any, grey: bool, size: tuple[int, int] | None, shape: tuple[int, int] | None) -> Frames:
    """Return a frame as an upright array; if the size changes in mid-clip, scale to the size of the first frame."""
    turns = round(frame.rotation / 90) % 4
    if size is None and shape is not None:
        size = (shape[1], shape[0])
    if size is not None and turns % 2:
        size = (size[1], size[0])
    width, height = size or (frame.width, frame.height)
    pixel_format = "gray" if grey else "rgb24"
    image = frame.to_ndarray(format=pixel_format, width=width, height=height, interpolation="AREA")
    return np.rot90(image, turns)


def _stacked(pending: list[tuple[Frames, float]]) -> tuple[Frames, Floats]:
    images, times = zip(*pending, strict=True)
    return np.stack(images), np.array(times)


def _report(path: Path, stream: Any, log: DecodeLog, shape: tuple[int, int] | None) -> VideoReport:
    height, width = shape or (stream.codec_context.height, stream.codec_context.width)
    ticks = log.frames or [0]
    seconds = float((max(ticks) - min(ticks)) * log.time_base) + log.step
    return VideoReport(path.name, width, height, log.n_frames, seconds, log.lost())


def _reason(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


# Containers with an index by time and with times in their packets. Others are read from the start, because after a
# seek the number of the current frame would be unknown.
INDEXED = ("mov", "mp4", "matroska", "webm")


def seek_before(av: Any, container: Any, stream: Any, moment: float) -> bool:
    """Seek to the last key frame before a time in seconds, or to the start; return False if the seek failed.

    After a failed seek the container is in an undefined state and must be opened again.

    Examples
    --------
    >>> with av.open("match.mp4") as container:  # doctest: +SKIP
    ...     seek_before(av, container, container.streams.video[0], 95.0)
    True
    """
    goal = int(moment / stream.time_base)
    first = stream.start_time or 0
    if goal <= first or not set(container.format.name.split(",")) & set(INDEXED):
        return True
    try:
        try:
            container.seek(goal, stream=stream)
            packet = next(container.demux(stream))
            # A damaged index may lead past the goal.
            if packet.pts is None or packet.pts > goal:
                goal = first
            container.seek(goal, stream=stream)
        except (av.FFmpegError, ValueError, StopIteration):
            container.seek(first, stream=stream)
    except av.FFmpegError:  # an index without any key frame
        return False
    return True


UNDECODED, GAP, EARLY_END = "cannot be decoded", "missing from the file", "the file ends early"
# A pause counts as a loss only if almost all other steps are equal: some clips have a variable frame rate.
REGULAR_SHARE = 0.95


@dataclass(frozen=True)
class LostFrames:
    """A range of frames that could not be read.

    Examples
    --------
    >>> print(LostFrames(40, 49, 4.0, 5.0, "cannot be decoded"))
    frames 40 to 49 (4.00 s to 5.00 s): cannot be decoded
    """

    first_frame: int  # counted from 0 over all expected frames
    last_frame: int
    start: float  # seconds, of the first lost frame
    stop: float  # seconds, of the first frame after them
    reason: str

    @property
    def n_frames(self) -> int:
        """Number of frames in the range."""
        return self.last_frame - self.first_frame + 1

    def __str__(self) -> str:
        return (
            f"frames {self.first_frame} to {self.last_frame} ({self.start:.2f} s to {self.stop:.2f} s): {self.reason}"
        )


@dataclass(frozen=True)
class VideoReport:
    """What was read from a video file, and what was lost.

    Examples
    --------
    >>> print(VideoReport("a.mp4", 320, 240, 50, 6.0, (LostFrames(40, 49, 4.0, 5.0, "cannot be decoded"),)))
    a.mp4: 50 frames of 320 x 240 in 6.00 s; 10 lost: frames 40 to 49 (4.00 s to 5.00 s): cannot be decoded
    """

    file: str
    width: int  # of an upright frame, after rotation
    height: int
    n_frames: int  # that were read
    seconds: float  # from the first frame to the end of the last
    lost: tuple[LostFrames, ...] = ()

    @property
    def n_lost(self) -> int:
        """Number of expected frames that could not be read."""
        return sum(lost.n_frames for lost in self.lost)

    def __str__(self) -> str:
        text = f"{self.file}: {self.n_frames} frames of {self.width} x {self.height} in {self.seconds:.2f} s"
        if not self.lost:
            return text
        text += f"; {self.n_lost} lost: {'; '.join(map(str, self.lost[:5]))}"
        if len(self.lost) > 5:
            text += f" and {len(self.lost) - 5} more ranges"
        return text


@dataclass
class DecodeLog:
    """Records what a decoder reads: the times of packets and of decoded frames, in units of the time base."""

    time_base: Fraction  # seconds
    step: float  # seconds from frame to frame, from the header
    expected_frames: int = 0  # from the header; 0 if unknown
    expected_end: float | None = None  # seconds
    packets: list[int] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    n_frames: int = 0  # decoded, with or without a time
    had_errors: bool = False  # the decoder reported errors

    def lost(self) -> tuple[LostFrames, ...]:
        """Return the ranges of frames that were expected but not decoded."""
        due = np.unique(np.array(self.packets + self.frames, dtype=np.int64))
        if not len(due):
            return ()
        seconds = due * float(self.time_base)
        is_decoded = np.isin(due, np.array(self.frames, dtype=np.int64))
        # Some packets are not meant to be displayed: without errors and with a full count nothing is missing.
        if not self.had_errors and self.n_frames >= self.expected_frames:
            is_decoded[:] = True
        step = float(np.median(np.diff(seconds))) if len(due) > 1 else self.step
        pauses = self._pauses(seconds, step)  # frames missing before each due one, (n,)
        number = np.arange(len(due)) + np.cumsum(pauses)
        after = np.append(seconds[1:], seconds[-1] + step)
        lost: list[LostFrames] = []
        for is_gap, i, j in _ranges(is_decoded, pauses):
            if is_gap:
                first_frame = int(number[i] - pauses[i])
                lost.append(LostFrames(first_frame, int(number[i]) - 1, float(after[i - 1]), float(seconds[i]), GAP))
            else:
                lost.append(LostFrames(int(number[i]), int(number[j]), float(seconds[i]), float(after[j]), UNDECODED))
        first_frame = int(number[-1]) + 1
        end = float(after[-1])
        n_after = self._missing_at_end(first_frame, end, step)
        if n_after:
            lost.append(LostFrames(first_frame, first_frame + n_after - 1, end, end + n_after * step, EARLY_END))
        return tuple(lost)

    def _pauses(self, seconds: Rows, step: float) -> Ints:
        pauses = np.zeros(len(seconds), dtype=np.int64)
        steps = np.diff(seconds)
        enough = self.expected_frames and len(seconds) >= self.expected_frames
        if len(steps) < 10 or step <= 0 or enough or np.mean(np.abs(steps - step) <= step / 4) < REGULAR_SHARE:
            return pauses
        # A damaged clock can jump by years; at most the expected number of frames can be missing.
        limit = 10**6
        if self.expected_frames:
            limit = self.expected_frames - len(seconds)
        pauses[1:] = np.where(steps > 1.5 * step, np.clip(np.rint(steps / step) - 1, 0, limit), 0)
        if pauses.sum() > limit:
            pauses[:] = 0
        return pauses

    def _missing_at_end(self, n_frames: int, end: float, step: float) -> int:
        if self.expected_frames:
            return max(self.expected_frames - n_frames, 0)
        if self.expected_end is None or step <= 0:
            return 0
        # Durations in headers are rounded to about one frame.
        missing = int((self.expected_end - end) / step + 0.5)
        if 1 < missing <= 10**6:
            return missing
        return 0


def _ranges(is_decoded: Rows, pauses: Ints) -> list[tuple[bool, int, int]]:
    """Return (True, i, i) for a pause before frame i and (False, i, j) for lost frames i to j, in order."""
    ranges: list[tuple[bool, int, int]] = []
    for i in np.flatnonzero(~is_decoded | (pauses > 0)).tolist():
        if pauses[i]:
            ranges.append((True, i, i))
        if not is_decoded[i]:
            if ranges and not ranges[-1][0] and ranges[-1][2] == i - 1 and not pauses[i]:
                ranges[-1] = (False, ranges[-1][1], i)
            else:
                ranges.append((False, i, i))
    return ranges
