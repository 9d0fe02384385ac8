"""Videos: frames and their times, packet by packet, and rows made of them.

    file ─► packets ─► frames (n, height, width[, 3]) with times (n,) ─► an extractor ─► rows

A damaged clip gives what can be read, and a report of what cannot.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.arrays import Floats
from undistract.errors import EvidenceWarning, InputError
from undistract.extras import need
from undistract.sets.feature_set import FeatureSet
from undistract.sets.frame_rows import frame_rows
from undistract.sets.row_stream import Piece
from undistract.sets.video_report import Ledger, VideoReport
from undistract.sets.video_seek import seek_before

__all__ = ["read_frames", "video_rows", "video_set"]

Frames = npt.NDArray[np.uint8]
Reporter = Callable[[VideoReport], None]

# Containers that hold a clip. Playlists and lists of other files are not among them, so a file names no other.
FORMATS = "mov,mp4,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,gif,mjpeg,h264,hevc,m4v,mxf,dv"
MAX_PIXELS = 2**24  # of one frame: 5.3K video passes, a header that asks for gigabytes does not
SPARE = 2**20  # decoders round sides up; theirs is only a bound on memory, the limit itself is asked here
CHUNK_BYTES, CHUNK_FRAMES = 2**24, 64
PATIENCE = 100  # errors of the container before a file is given up
LEAPS = 2  # frames whose clock is ahead, as in damaged clips, before a stretch is taken to be over


def read_frames(
    path: str | Path,
    *,
    grey: bool = False,
    size: tuple[int, int] | None = None,
    every: int = 1,
    between: tuple[float, float] | None = None,
    max_pixels: int = MAX_PIXELS,
    on_report: Reporter | None = None,
) -> Iterator[tuple[Frames, Floats]]:
    """Read a video in chunks of frames, each with its time in seconds.

    Parameters
    ----------
    path : path
        A file of this machine; nothing is fetched, and no other file is followed.
    grey : bool
        One channel instead of three (red, green, blue).
    size : (width, height), optional
        Scale every frame to it (area-averaged).
    every : int
        Keep only each so-many-th frame.
    between : pair of float, optional
        Only frames from one second to another; what comes before is leapt over where the file allows it. Nothing is
        said about lost frames then.
    max_pixels : int
        Larger frames are refused before memory is taken for them.
    on_report : callable, optional
        Is called once with the `VideoReport` when all is read. Without it, lost frames raise an `EvidenceWarning`.

    Yields
    ------
    frames : (n, height, width) or (n, height, width, 3) array of uint8
        Upright: rotation that the file asks for is done.
    times : (n,) array
        Seconds, as the file says; frames need not come at a steady rate.

    Examples
    --------
    >>> for frames, times in read_frames("calm.mp4", grey=True):  # doctest: +SKIP
    ...     print(frames.shape, times[0], times[-1])
    (64, 240, 360) 0.0 6.3
    """
    if every < 1 or max_pixels < 1 or (size is not None and min(size) < 1):
        raise InputError(f"every={every}, max_pixels={max_pixels}, size={size} was given; each is at least 1.")
    path = Path(path)
    av = need("av", extra="video", to="Reading videos")
    with ExitStack() as files:
        container = files.enter_context(_open(av, path, max_pixels))
        stream = _video_stream(container, path, max_pixels)
        ledger = _ledger(container, stream)
        shape: tuple[int, int] | None = None
        pending: list[tuple[Frames, float]] = []
        (since, until), n_beyond = between or (-np.inf, np.inf), 0
        if between is not None and not seek_before(av, container, stream, since):
            container = files.enter_context(_open(av, path, max_pixels))
            stream = _video_stream(container, path, max_pixels)
        for number, (frame, time) in enumerate(_decoded(av, container, stream, ledger, path, max_pixels)):
            n_beyond = n_beyond + 1 if time > until else 0
            if n_beyond > LEAPS:
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
            where = "" if between is None else f" from {since:.2f} s to {until:.2f} s"
            raise InputError(
                f"{path.name} holds no frame that can be read{where}; expected a video with frames of at most "
                f"{max_pixels:,} pixels. Is the file complete, and does it play elsewhere?"
            )
        if pending:
            yield _stacked(pending)
        if between is not None:
            return
        report = _report(path, stream, ledger, shape if size is None else None)
    if on_report is not None:
        on_report(report)
    elif report.lost:
        warnings.warn(str(report), EvidenceWarning, stacklevel=2)


def video_rows(path: str | Path, extract: Any, **reading: Any) -> Iterator[Piece]:
    """Turn frames into rows, chunk by chunk: the same rows as if all frames were there at once.

    Parameters
    ----------
    path : path
    extract : callable
        Frames in, (n, d) rows out. Where it has them, `context` says how many earlier frames a row looks at, and
        `grey` whether it wants grey frames.
    **reading
        As in `read_frames`.
    """
    reading.setdefault("grey", bool(getattr(extract, "grey", False)))
    yield from frame_rows(read_frames(path, **reading), extract)


def video_set(
    path: str | Path, extract: Any, *, name: Hashable = None, cache: Any = None, **reading: Any
) -> FeatureSet:
    """Make a set of a video: one row per frame, read anew whenever the rows are asked for.

    Parameters
    ----------
    path : path
    extract : callable
        As in `video_rows`; `undistract.features.make_extractor` makes one.
    name : hashable, optional
        The file's name without its ending, if not given.
    cache : RowCache, optional
        Where rows are kept for the next time.
    **reading
        As in `read_frames`.

    Examples
    --------
    >>> from undistract.features import make_extractor
    >>> calm = video_set("calm.mp4", make_extractor("pixels"))  # nothing is read yet
    >>> calm.name, calm.source
    ('calm', 'calm.mp4')
    """
    path = Path(path)

    def read() -> Iterator[Piece]:
        if cache is None:
            return video_rows(path, extract, **reading)
        rows: Iterator[Piece] = cache.rows(path, extract, **reading)
        return rows

    return FeatureSet.reading(
        path.stem if name is None else name,
        read,
        source=str(path),
        feature_names=getattr(extract, "feature_names", None),
    )


def _open(av: Any, path: Path, max_pixels: int) -> Any:
    if not path.is_file():
        raise InputError(f"There is no file {path}. Give the path of a video.")
    options = {"protocol_whitelist": "file", "format_whitelist": FORMATS, "max_pixels": str(max_pixels + SPARE)}
    try:
        # `file:` keeps a name such as "http:x" from being read as an address.
        return av.open(f"file:{path}", options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError, MemoryError) as error:
        raise InputError(
            f"{path.name} cannot be opened as a video ({_words(error)}). Expected a clip such as .mp4, .mkv or .avi: "
            "is it complete, and does it play elsewhere? Leave it out (--ignore) if not."
        ) from error


def _video_stream(container: Any, path: Path, max_pixels: int) -> Any:
    # The cover of a song is a video stream too, of one picture.
    streams = [stream for stream in container.streams.video if "attached_pic" not in str(stream.disposition)]
    if not streams or streams[0].codec_context is None:
        kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
        raise InputError(f"{path.name} holds no video that can be decoded (found: {kinds}). Give a file with pictures.")
    stream = streams[0]
    _check_pixels(path, stream.codec_context.width, stream.codec_context.height, max_pixels)
    stream.codec_context.options = {"max_pixels": str(max_pixels + SPARE)}
    # Threads over frames race when a damaged frame is patched up: two readings could differ.
    stream.thread_type = "SLICE"
    return stream


def _check_pixels(path: Path, width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise InputError(
            f"{path.name} asks for frames of {width} x {height}, {width * height:,} pixels; at most {max_pixels:,} are "
            "read. If that is right, allow more with max_pixels, or scale the video down first."
        )


def _ledger(container: Any, stream: Any) -> Ledger:
    tick = stream.time_base
    end = None
    if stream.duration is not None:
        end = float((stream.duration + (stream.start_time or 0)) * tick)
    elif container.duration is not None and len(container.streams) == 1:
        end = (container.duration + (container.start_time or 0)) / 1e6
    rate = stream.average_rate or stream.guessed_rate or 25
    return Ledger(tick, float(1 / rate), promised_frames=max(int(stream.frames), 0), promised_end=end)


def _decoded(
    av: Any, container: Any, stream: Any, ledger: Ledger, path: Path, max_pixels: int
) -> Iterator[tuple[Any, float]]:
    """Decode packet by packet; what fails is booked, and the next packet is tried."""
    time = -ledger.step
    for packet in _packets(av, container, stream, ledger):
        if packet.pts is not None and packet.size and not packet.is_discard:
            ledger.packets.append(packet.pts)
        try:
            frames = packet.decode()
        except (av.FFmpegError, ValueError, MemoryError):
            ledger.troubled = True
            continue
        for frame in frames:
            if frame.is_corrupt:
                ledger.troubled = True
                continue
            _check_pixels(path, frame.width, frame.height, max_pixels)
            ledger.n_frames += 1
            if frame.pts is None:
                time += ledger.step
            else:
                ledger.frames.append(frame.pts)
                time = float(frame.pts * ledger.tick)
            yield frame, time


def _packets(av: Any, container: Any, stream: Any, ledger: Ledger) -> Iterator[Any]:
    """Demux; after an error go on with the next packet, until errors are all that comes."""
    for _ in range(PATIENCE):
        try:
            yield from container.demux(stream)
            return
        except (av.FFmpegError, ValueError, MemoryError):
            ledger.troubled = True


def _image(frame: Any, grey: bool, size: tuple[int, int] | None, shape: tuple[int, int] | None) -> Frames:
    """Return a frame as an upright array; a frame that changes its size in mid-clip takes that of the first."""
    turns = round(frame.rotation / 90) % 4
    if size is None and shape is not None:
        size = (shape[1], shape[0])
    if size is not None and turns % 2:
        size = (size[1], size[0])
    width, height = size or (frame.width, frame.height)
    image = frame.to_ndarray(format="gray" if grey else "rgb24", width=width, height=height, interpolation="AREA")
    return np.rot90(image, turns)


def _stacked(pending: list[tuple[Frames, float]]) -> tuple[Frames, Floats]:
    images, times = zip(*pending, strict=True)
    return np.stack(images), np.array(times)


def _report(path: Path, stream: Any, ledger: Ledger, shape: tuple[int, int] | None) -> VideoReport:
    height, width = shape or (stream.codec_context.height, stream.codec_context.width)
    ticks = ledger.frames or [0]
    seconds = float((max(ticks) - min(ticks)) * ledger.tick) + ledger.step
    return VideoReport(path.name, width, height, ledger.n_frames, seconds, ledger.lost())


def _words(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
