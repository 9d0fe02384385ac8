"""Convert arrays to colours and to PNG files, and draw overlays on video frames, without an imaging library."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats, Rows
from undistract.errors import InputError

# Blue, amber and grey can be distinguished with every kind of colour vision (Okabe and Ito, 2008). The second colour
# of each pair is for text: dark enough on a white background.
BLUE, AMBER, GREY = ("#0072B2", "#00568A"), ("#E69F00", "#945F00"), ("#BDBDBD", "#666666")
INK, FAINT = "#1F1F1F", "#666666"

Picture = npt.NDArray[np.uint8]  # (height, width, 3)
Limits = tuple[float, float]

LARGEST_SIDE = 256  # pixels of an image in a page; larger images are averaged
MAX_OPACITY = 0.8  # of an overlay: the frame stays visible
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP = 2  # the PNG filter that stores the difference to the line above; smooth images compress better


def png(pixels: Rows, *, limits: Limits | None = None, signed: bool = False) -> bytes:
    """Return an image as the bytes of a PNG file.

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
    colours = as_colours(pixels, limits=limits, signed=signed)
    height, width = colours.shape[:2]
    # uint8 differences wrap modulo 256, as the PNG specification wants them.
    lines = np.diff(colours.reshape(height, -1), axis=0, prepend=np.zeros((1, 3 * width), np.uint8))
    filtered = np.hstack([np.full((height, 1), _UP, np.uint8), lines])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # eight bits of red, green and blue
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 6)), (b"IEND", b"")
    return _SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    """Return a PNG chunk: length, name, data, checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def as_colours(pixels: Rows, *, limits: Limits | None = None, signed: bool = False) -> Picture:
    """Convert values to colours, (height, width, 3) of uint8.

    Parameters
    ----------
    pixels : (height, width) or (height, width, 3) array
        Grey values, or colours (0 to 255 as whole numbers, else 0 to 1).
    limits : pair of float, optional
        The values of black and white. By default the smallest and largest grey value; not used for colours.
    signed : bool
        Signed values: amber above zero, blue below, on one scale.

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
        scaled = diverging(values / (float(np.abs(values).max()) or 1.0))
    else:
        if limits is None and pixels.ndim == 2:
            limits = float(values.min()), float(values.max())
        low, high = limits or (0.0, 1.0)
        scaled = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
    colours = np.rint(scaled * 255).astype(np.uint8)
    if colours.ndim == 2:
        return np.repeat(colours[..., None], 3, axis=2)
    return colours


def diverging(values: Floats) -> Floats:
    """Map values from -1 to 1 to colours: blue, white at zero, amber; (..., 3) from 0 to 1.

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
    """Return red, green and blue of a colour such as #E69F00."""
    return np.frombuffer(bytes.fromhex(name[1:]), dtype=np.uint8)


def downscale(pixels: Rows, side: int) -> Rows:
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


def png_uri(pixels: Rows | bytes, limits: Limits | None = None, signed: bool = False) -> str:
    """Return an image as a data URI: an array, as in `as_colours`, or the bytes of a PNG file.

    Examples
    --------
    >>> png_uri(np.eye(2))[:30]
    'data:image/png;base64,iVBORw0K'
    """
    data = pixels
    if not isinstance(data, bytes):
        data = png(downscale(np.asarray(data), LARGEST_SIDE), limits=limits, signed=signed)
    return f"data:image/png;base64,{b64encode(data).decode()}"


def blend(frame: Picture, weights: Floats, top: float, tint: str = AMBER[0]) -> Picture:
    """Draw a map over a frame in grey: transparent at zero, the tint at `top`.

    Parameters
    ----------
    frame : (height, width, 3) array of uint8
    weights : (rows, columns) array
    top : float
    tint : str
        A colour such as #E69F00.

    Examples
    --------
    >>> blend(np.zeros((1, 2, 3), np.uint8), np.array([[0.0, 5.0]]), 5.0).tolist()
    [[[0, 0, 0], [184, 127, 0]]]
    """
    grey = frame.mean(axis=2, keepdims=True)
    share = MAX_OPACITY * np.clip(enlarged(weights / (top or 1.0), frame.shape[:2]), 0.0, 1.0)[..., None]
    mixed: Picture = np.rint((1.0 - share) * grey + share * colour(tint)).astype(np.uint8)
    return mixed


def subtract(frame: Picture, taken: Floats) -> Picture:
    """Subtract a smooth brightness from a frame.

    Parameters
    ----------
    frame : (height, width, 3) array of uint8
    taken : (rows, columns) array
        The brightness to subtract, from -1 to 1, on a coarse grid.

    Examples
    --------
    >>> subtract(np.full((1, 2, 3), 100, np.uint8), np.array([[0.2]])).tolist()
    [[[49, 49, 49], [49, 49, 49]]]
    """
    difference = frame - 255.0 * enlarged(taken, frame.shape[:2])[..., None]
    return np.rint(np.clip(difference, 0.0, 255.0)).astype(np.uint8)


def enlarged(values: Floats, size: tuple[int, int]) -> Floats:
    """Enlarge a map (rows, columns) to `size` = (height, width) by bilinear interpolation between cell centres.

    Examples
    --------
    >>> enlarged(np.array([[0.0, 1.0]]), (1, 4)).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    down, across = (_between(length, parts) for length, parts in zip(size, values.shape, strict=True))
    return np.asarray(down @ values @ across.T)


@lru_cache(maxsize=64)
def _between(length: int, parts: int) -> Floats:
    """Return the interpolation weight of each cell in each pixel, (length, parts); every row sums to one."""
    # The position of each pixel centre in units of cells, measured from the first cell centre.
    position = np.clip((np.arange(length) + 0.5) * parts / length - 0.5, 0, parts - 1)
    return np.asarray(np.maximum(0.0, 1.0 - np.abs(position[:, None] - np.arange(parts))))
