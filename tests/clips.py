"""Generate clips for tests: slow dots on grey, and optionally a fast one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np


def dots(
    n_frames: int = 60, width: int = 96, height: int = 64, *, seed: int = 0, runner: bool = False, noise: int = 0
) -> np.ndarray:
    """Draw frames (n, height, width, 3) of uint8."""
    rng = np.random.default_rng(seed)
    positions = rng.uniform([0, 0], [width, height], size=(6, 2))
    speeds = rng.uniform(-1, 1, size=(6, 2))
    if runner:
        speeds[0] = (7, 0)
    y, x = np.mgrid[:height, :width]
    frames = np.full((n_frames, height, width, 3), 90, dtype=np.uint8)
    for number, frame in enumerate(frames):
        for column, row in (positions + speeds * number) % (width, height):
            frame[(x - column) ** 2 + (y - row) ** 2 < 20] = 210
    if noise:
        frames += rng.integers(0, noise, size=(*frames.shape[:3], 1), dtype=np.uint8)
    return frames


def write_clip(
    path: Path,
    frames: np.ndarray,
    *,
    times: np.ndarray | None = None,
    codec: str = "libx264",
    rotation: int | None = None,
    **options: str,
) -> Path:
    """Write frames at 10 per second, or at the given times, with a key frame every tenth."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10, options={"g": "10", **options})
        stream.height, stream.width = frames.shape[1:3]
        # Frames with odd sides need a format without chroma subsampling.
        stream.pix_fmt = "yuv444p" if codec == "libx264" else "yuv420p"
        if times is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        if rotation is not None:
            stream.set_display_rotation(rotation)
        for number, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
            if times is not None:
                picture.pts, picture.time_base = round(1000 * times[number]), Fraction(1, 1000)
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path
