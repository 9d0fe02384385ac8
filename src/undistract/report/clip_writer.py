"""Clips that are written: pictures, each with its own time, become an mp4 that browsers play."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from undistract.extras import need
from undistract.report.png import Picture

TICKS = 1000  # times are kept to a thousandth of a second

# The first that this PyAV has is taken, with its settings; all but the last play in a browser.
CODECS: Final[dict[str, dict[str, str]]] = {
    "libx264": {"crf": "20", "preset": "veryfast", "forced-idr": "1"},
    "libvpx-vp9": {"crf": "30", "b": "0", "deadline": "realtime", "cpu-used": "8"},
    "mpeg4": {},
}


def write_clip(path: str | Path, frames: Picture, *, rate: float = 10.0) -> Path:
    """Write frames (n, height, width, 3) as an mp4, `rate` of them in a second.

    Examples
    --------
    >>> write_clip("grey.mp4", np.full((20, 64, 96, 3), 128, dtype=np.uint8))  # doctest: +SKIP
    PosixPath('grey.mp4')
    """
    av = need("av", extra="video", to="Writing videos")
    with av.open(str(path), "w") as container:
        writer = ClipWriter.opened(av, container, frames.shape[2], frames.shape[1])
        for number, frame in enumerate(frames):
            writer.write(frame, number / rate)
        writer.close()
    return Path(path)


@dataclass
class ClipWriter:
    """Encodes pictures of one size, each with its own time; `ClipWriter.opened` makes one.

    Parameters
    ----------
    av, container, stream
        PyAV, the open file, and its one stream.
    key_seconds : float
        After so many seconds the next picture is one that a player can jump to.

    Examples
    --------
    >>> with av.open("grey.mp4", "w") as container:  # doctest: +SKIP
    ...     writer = ClipWriter.opened(av, container, 96, 64)
    ...     writer.write(np.full((64, 96, 3), 128, dtype=np.uint8), 0.0)
    ...     writer.close()
    """

    av: Any
    container: Any
    stream: Any
    key_seconds: float = np.inf
    last: int = -1
    last_key: float = -np.inf

    @classmethod
    def opened(
        cls,
        av: Any,
        container: Any,
        width: int,
        height: int,
        *,
        key_seconds: float = np.inf,
        hurried: bool = False,
        codec: str | None = None,
    ) -> ClipWriter:
        """Begin a stream of pictures; the best codec there is, unless one is named.

        Where somebody waits (`hurried`), H.264 takes less time and more bytes.
        """
        chosen = codec or next(name for name in CODECS if name in av.codecs_available)
        stream = container.add_stream(chosen, rate=TICKS)
        stream.width, stream.height, stream.pix_fmt = width + width % 2, height + height % 2, "yuv420p"
        stream.codec_context.time_base = Fraction(1, TICKS)
        stream.options = CODECS[chosen] | ({"preset": "ultrafast"} if hurried and chosen == "libx264" else {})
        return cls(av, container, stream, key_seconds)

    def write(self, picture: Picture, now: float) -> None:
        """Write one picture (height, width, 3); odd sides are made even, which codecs ask for."""
        height, width = picture.shape[:2]
        even = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        frame = self.av.VideoFrame.from_ndarray(np.ascontiguousarray(even), format="rgb24")
        # Times must rise, also where a damaged clip says otherwise.
        self.last = max(self.last + 1, round(now * TICKS))
        frame.pts, frame.time_base = self.last, Fraction(1, TICKS)
        if self.last - self.last_key >= self.key_seconds * TICKS:
            frame.pict_type = self.av.video.frame.PictureType.I
            self.last_key = self.last
        self.container.mux(self.stream.encode(frame))

    def close(self) -> None:
        """Write what the codec still holds."""
        self.container.mux(self.stream.encode(None))
