"""Read folders of images, one row per image, with an extractor (extra `images`).

    files in natural order ─► headers compared ─► frames of uint8, upright ─► extractor ─► rows

No image is decoded before the size in its header was checked.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from undistract._arrays import Rows
from undistract._optional import import_optional
from undistract.errors import InputError
from undistract.sources.checks import reading_errors
from undistract.sources.source import Source, TimedRows, concat_chunks, times_at

# Extract rows from chunks of frames; the rows do not depend on where chunks begin and end.


Extract = Callable[[Any], Any]  # frames (n, h, w) or (n, h, w, 3) of uint8 in, rows (n, d) out


def frame_rows(chunks: Iterable[TimedRows], extract: Extract) -> Iterator[TimedRows]:
    """Yield the rows of an extractor, which gets each chunk together with the earlier frames it needs.

    The attribute `context` of an extractor (default 0) is the number of earlier frames that a row uses.

    Examples
    --------
    >>> def change(frames):  # change of brightness from the previous frame
    ...     means = frames.reshape(len(frames), -1).mean(axis=1)
    ...     return np.diff(means, prepend=means[0])[:, None]
    >>> change.context = 1
    >>> frames = np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((2, 2), np.uint8)
    >>> [rows.ravel().tolist() for rows, _ in frame_rows([(frames[:2], None), (frames[2:], None)], change)]
    [[0.0, 1.0], [1.0, 1.0]]
    """
    context = int(getattr(extract, "context", 0))
    pending: list[TimedRows] = []  # earlier frames that are still needed as context, then new ones
    n_done = 0  # frames at the start of `pending` whose rows were already returned
    for chunk in chunks:
        frames, times = concat_chunks([*pending, chunk])
        pending = [(frames, times)]
        if len(frames) <= context:  # wait: the first rows need their full context too
            continue
        rows = np.asarray(extract(frames))
        yield rows[n_done:], times_at(times, slice(n_done, None))
        pending = []
        if context:
            pending = [(frames[-context:], times_at(times, slice(-context, None)))]
        n_done = context
    if pending and not n_done:
        frames, times = pending[0]
        yield np.asarray(extract(frames)), times


IMAGES = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".pbm", ".tif", ".tiff", ".bmp")
FORMATS = ("PNG", "JPEG", "PPM", "TIFF", "BMP")
MAX_PIXELS = 2**26  # 8192 × 8192; 200 MB when decoded in colour
CHUNK_BYTES, CHUNK_FRAMES = 2**24, 64
TURNED = (5, 6, 7, 8)  # orientations (EXIF) that swap width and height
GREY = ("1", "L", "I;16", "I;16B", "I;16L", "I")


class _Look(NamedTuple):
    """Size and colour of an image, from its header."""

    size: tuple[int, int]  # (width, height), upright
    grey: bool


def image_source(
    paths: Path | Sequence[Path],
    extract: Extract,
    *,
    name: str | None = None,
    resize: tuple[int, int] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> Source:
    """Return a source of images: one row each, in natural order (img2 before img10), named by their files.

    Parameters
    ----------
    paths : Path or sequence of Path
        A folder, or image files in order.
    extract : callable
        Turns frames (n, height, width) or (n, height, width, 3) of uint8 into rows (n, d). Frames are grey if all
        images are, or if `extract.grey` is true.
    name : str, optional
        Default: the name of the folder.
    resize : (width, height), optional
        Scale every image to this size; without it all images must have the same size.
    max_pixels : int
        Raise an error for a larger image, before it is decoded.

    Examples
    --------
    >>> image_source(Path("faces/anna"), lambda frames: frames.reshape(len(frames), -1))  # doctest: +SKIP
    Source(name='anna', origin='faces/anna')
    """
    if isinstance(paths, Path):
        folder = paths
        files = image_files(paths)
    else:
        files = list(paths)
        folder = Path("An empty list")
        if files:
            folder = files[0].parent
    if not files:
        raise InputError(f"{folder} contains no images; expected some of {', '.join(IMAGES)}.")
    if resize is not None and min(resize) < 1:
        raise InputError(f"resize must be at least one pixel wide and high, as in 64x48, got {_format_size(resize)}.")
    # Headers only: a folder of thousands of images is checked without decoding one.
    looks = [_look(file, max_pixels) for file in files]
    for file, look in zip(files, looks, strict=True):
        if resize is None and look.size != looks[0].size:
            raise InputError(
                f"{file} is {_format_size(look.size)}, {files[0].name} is {_format_size(looks[0].size)}; the images of "
                f"a source must have the same size. Scale them with resize=({looks[0].size[0]}, {looks[0].size[1]}) "
                f"(--resize {_format_size(looks[0].size)})."
            )
    grey = all(look.grey for look in looks) or bool(getattr(extract, "grey", False))
    width, height = resize or looks[0].size
    frame_bytes = width * height
    if not grey:
        frame_bytes *= 3
    step = max(1, min(CHUNK_FRAMES, CHUNK_BYTES // frame_bytes))

    def frames() -> Iterator[TimedRows]:
        for start in range(0, len(files), step):
            yield np.stack([_pixels(file, grey, resize, max_pixels) for file in files[start : start + step]]), None

    if name is None:
        name = folder.name
    return Source.from_reader(
        name,
        lambda: frame_rows(frames(), extract),
        origin=str(folder),
        n_rows=len(files),
        row_names=[file.name for file in files],
    )


def image_files(folder: Path) -> list[Path]:
    """Return the images directly in a folder, in natural order, without hidden files."""
    images = [file for file in folder.iterdir() if is_image(file) and file.is_file()]
    return sorted(images, key=lambda file: natural(file.name))


def is_image(path: Path) -> bool:
    """Return whether a path has the ending of an image and is not hidden."""
    return path.suffix.lower() in IMAGES and not path.name.startswith(".")


def natural(text: str) -> list[Any]:
    """Return a sort key for natural order, in which numbers are compared by value.

    Examples
    --------
    >>> sorted(["img10", "img2", "Img1"], key=natural)
    ['Img1', 'img2', 'img10']
    """
    # The split alternates between text and digits: every second part is a number.
    parts: list[Any] = re.split(r"(\d+)", text.casefold())
    parts[1::2] = map(int, parts[1::2])
    return [parts, text]


def read_image(path: Path, *, grey: bool = False, max_pixels: int = MAX_PIXELS) -> Rows:
    """Return one image as (height, width) or (height, width, 3) of uint8, upright, for display."""
    return _pixels(path, grey, None, max_pixels)


def _look(path: Path, max_pixels: int) -> _Look:
    with _opened(path, max_pixels) as image:
        width, height = image.size
        if image.getexif().get(0x0112) in TURNED:
            width, height = height, width
        return _Look((width, height), image.mode in GREY)


def _pixels(path: Path, grey: bool, resize: tuple[int, int] | None, max_pixels: int) -> Rows:
    pillow = import_optional("PIL.Image", extra="images", to="Reading images")
    operations = import_optional("PIL.ImageOps", extra="images", to="Reading images")
    with _opened(path, max_pixels) as image:
        upright = operations.exif_transpose(image)
        mode = "L" if grey else "RGB"
        converted = _opaque(upright, path).convert(mode)
        if resize is not None:
            converted = converted.resize(resize, pillow.Resampling.BILINEAR)
        return np.asarray(converted, np.uint8)


def _eight_bits(image: Any, path: Path) -> Any:
    """Scale 16 bits to 8; Pillow's own conversion would clip all values above 255."""
    pillow = import_optional("PIL.Image", extra="images", to="Reading images")
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 65535:
        raise InputError(
            f"{path} contains values from {values.min()} to {values.max()}; expected 8 or 16 bits. "
            "Save it with 16 bits, or its rows as .npy."
        )
    # Rounded to the nearest level, in integers.
    return pillow.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8))


def _opaque(image: Any, path: Path) -> Any:
    """Return an opaque image with 8 bits; what is transparent becomes black, because its colour is arbitrary."""
    if image.mode.startswith("I"):
        return _eight_bits(image, path)
    if image.mode not in ("LA", "PA", "RGBA", "La", "RGBa") and "transparency" not in image.info:
        return image
    pillow = import_optional("PIL.Image", extra="images", to="Reading images")
    colours = image.convert("RGBA")
    return pillow.alpha_composite(pillow.new("RGBA", colours.size, (0, 0, 0, 255)), colours)


@contextmanager
def _opened(path: Path, max_pixels: int) -> Iterator[Any]:
    """Open an image and check its header; the pixels are decoded on access."""
    pillow = import_optional("PIL.Image", extra="images", to="Reading images")
    with reading_errors(path, "an image", "Is it complete? Skip it with --ignore."), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about sizes, which are checked below, and about odd metadata
        try:
            image = pillow.open(path, formats=FORMATS)
        except pillow.DecompressionBombError as error:
            raise _too_large(path, "beyond Pillow's own limit", max_pixels) from error
        with image:
            if image.width * image.height > max_pixels:
                raise _too_large(path, f"{_format_size(image.size)} pixels", max_pixels)
            if getattr(image, "n_frames", 1) > 1:
                raise InputError(
                    f"{path} contains {image.n_frames} images; expected one per file. Save them separately."
                )
            if image.mode == "F":
                raise InputError(
                    f"{path} contains floating-point pixels; expected 8 or 16 bits. Convert it, or save rows as .npy."
                )
            yield image


def _too_large(path: Path, size: str, max_pixels: int) -> InputError:
    return InputError(
        f"{path} is too large to be decoded ({size}); the limit is {max_pixels / 1e6:.0f} million pixels. "
        "Scale it down first."
    )


def _format_size(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
