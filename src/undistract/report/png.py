"""Arrays as pictures: grey, colours or differences around zero become bytes of a PNG, without any library."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from undistract.arrays import Floats, Rows
from undistract.errors import InputError
from undistract.report.plots import AMBER, BLUE

Picture = npt.NDArray[np.uint8]  # (height, width, 3)
Limits = tuple[float, float]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP = 2  # the filter that keeps the difference to the line above: smooth pictures become small


def png(pixels: Rows, *, limits: Limits | None = None, signed: bool = False) -> bytes:
    """Write an image as a PNG.

    Parameters
    ----------
    pixels : (height, width) or (height, width, 3) array
    limits, signed
        As in `as_colours`.

    Examples
    --------
    >>> png(np.eye(2))[1:4]
    b'PNG'
    """
    shown = as_colours(pixels, limits=limits, signed=signed)
    height, width = shown.shape[:2]
    lines = np.diff(shown.reshape(height, -1), axis=0, prepend=np.zeros((1, 3 * width), np.uint8))  # wraps at 256
    filtered = np.hstack([np.full((height, 1), _UP, np.uint8), lines])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # eight bits of red, green and blue
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 6)), (b"IEND", b"")
    return _SIGNATURE + b"".join(_part(name, data) for name, data in parts)


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def as_colours(pixels: Rows, *, limits: Limits | None = None, signed: bool = False) -> Picture:
    """Turn values into colours, (height, width, 3) of uint8.

    Parameters
    ----------
    pixels : (height, width) or (height, width, 3) array
        Grey values, or colours (0 to 255 as whole numbers, else 0 to 1).
    limits : pair of float, optional
        What is drawn black, and what white. By default the least and the greatest grey value; colours need none.
    signed : bool
        Grey values around zero: amber above, blue below, as strong on either side.

    Examples
    --------
    >>> as_colours(np.array([[0.0, 1.0]])).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    >>> as_colours(np.array([[-1.0, 0.0]]), signed=True).tolist()
    [[[0, 114, 178], [255, 255, 255]]]
    """
    if pixels.ndim not in (2, 3) or 0 in pixels.shape or (pixels.ndim == 3 and pixels.shape[2] != 3):
        raise InputError(
            f"An image has shape {pixels.shape}; expected (height, width) for grey or (height, width, 3) for colours."
        )
    if pixels.ndim == 3 and limits is None and np.issubdtype(pixels.dtype, np.integer):
        return np.clip(pixels, 0, 255).astype(np.uint8)
    values = np.nan_to_num(pixels.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if pixels.ndim == 2 and signed:
        shown = diverging(values / (float(np.abs(values).max()) or 1.0))
    else:
        own = (0.0, 1.0) if pixels.ndim == 3 else (float(values.min()), float(values.max()))
        low, high = own if limits is None else limits
        shown = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
    whole = np.rint(shown * 255).astype(np.uint8)
    return whole if whole.ndim == 3 else np.repeat(whole[..., None], 3, axis=2)


def diverging(values: Floats) -> Floats:
    """Colour values from -1 to 1: blue, white at zero, amber; (..., 3) from 0 to 1.

    Examples
    --------
    >>> diverging(np.array([0.0]))
    array([[1., 1., 1.]])
    """
    end = np.where(values[..., None] >= 0, colour(AMBER[0]) / 255, colour(BLUE[0]) / 255)
    strength = np.minimum(np.abs(values), 1.0)[..., None]
    mixed: Floats = 1.0 - strength * (1.0 - end)
    return mixed


def colour(name: str) -> Picture:
    """Return the three numbers of a colour such as #E69F00."""
    return np.frombuffer(bytes.fromhex(name[1:]), dtype=np.uint8)


def shrunk(pixels: Rows, side: int) -> Rows:
    """Average blocks of pixels until the longer side has at most `side`."""
    block = -(-max(pixels.shape[:2]) // side)
    if block <= 1:
        return pixels
    height, width = (length // block for length in pixels.shape[:2])
    if not height or not width:
        return pixels[::block, ::block]
    cut = pixels[: height * block, : width * block].reshape(height, block, width, block, *pixels.shape[2:])
    smaller: Rows = cut.mean(axis=(1, 3)).astype(pixels.dtype)
    return smaller
