"""Folders of images: each image a row, made by an extractor that is handed in (extra `images`).

    files in natural order ─► headers compared ─► frames of uint8, upright ─► extractor ─► rows

Nothing is unpacked before the header's size is known.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from undistract.arrays import Rows
from undistract.errors import InputError
from undistract.extras import need
from undistract.sets.explained import explained
from undistract.sets.feature_set import FeatureSet
from undistract.sets.frame_rows import Extract, frame_rows
from undistract.sets.row_stream import Piece

IMAGES = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".pbm", ".tif", ".tiff", ".bmp")
FORMATS = ("PNG", "JPEG", "PPM", "TIFF", "BMP")
MAX_PIXELS = 2**26  # 8192 × 8192; unpacked as colours it takes 200 MB
CHUNK_BYTES, CHUNK_FRAMES = 2**24, 64
TURNED = (5, 6, 7, 8)  # orientations (EXIF) that swap width and height
GREY = ("1", "L", "I;16", "I;16B", "I;16L", "I")


class _Look(NamedTuple):
    """What the header of an image says."""

    size: tuple[int, int]  # (width, height) once it stands upright
    grey: bool


def image_set(
    paths: Path | Sequence[Path],
    extract: Extract,
    *,
    name: str | None = None,
    resize: tuple[int, int] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> FeatureSet:
    """Make a set of images: one row each, in natural order (img2 before img10), named by their files.

    Parameters
    ----------
    paths : Path or sequence of Path
        A folder, or image files in the order wanted.
    extract : callable
        Frames (n, height, width) or (n, height, width, 3) of uint8 in, rows (n, d) out. Frames are grey if all
        images are, or if `extract.grey` says so.
    name : str, optional
        The folder's name, if not given.
    resize : (width, height), optional
        Scale every image to it; else all must have one size.
    max_pixels : int
        A larger image is refused before it is unpacked.

    Examples
    --------
    >>> image_set(Path("faces/anna"), lambda frames: frames.reshape(len(frames), -1))  # doctest: +SKIP
    FeatureSet(name='anna', source='faces/anna')
    """
    files = image_files(paths) if isinstance(paths, Path) else list(paths)
    if not files:
        where = paths if isinstance(paths, Path) else "A list of no paths"
        raise InputError(f"{where} holds no images; expected some of {', '.join(IMAGES)}.")
    folder = paths if isinstance(paths, Path) else files[0].parent
    if resize is not None and min(resize) < 1:
        raise InputError(f"resize is {_words(resize)}; expected a width and a height of at least one pixel, as 64x48.")
    looks = [_look(file, max_pixels) for file in files]
    for file, look in zip(files, looks, strict=True):
        if resize is None and look.size != looks[0].size:
            raise InputError(
                f"{file} is {_words(look.size)}, {files[0].name} is {_words(looks[0].size)}; the images of a set have "
                f"one size. Scale them with resize=({looks[0].size[0]}, {looks[0].size[1]}) "
                f"(--resize {_words(looks[0].size)})."
            )
    grey = all(look.grey for look in looks) or bool(getattr(extract, "grey", False))
    width, height = resize or looks[0].size
    step = max(1, min(CHUNK_FRAMES, CHUNK_BYTES // (width * height * (1 if grey else 3))))

    def frames() -> Iterator[Piece]:
        for start in range(0, len(files), step):
            yield np.stack([_pixels(file, grey, resize, max_pixels) for file in files[start : start + step]]), None

    return FeatureSet.reading(
        folder.name if name is None else name,
        lambda: frame_rows(frames(), extract),
        source=str(folder),
        n_rows=len(files),
        row_names=[file.name for file in files],
    )


def image_files(folder: Path) -> list[Path]:
    """Return the images that lie in a folder itself, in natural order; hidden files are left out."""
    found = [file for file in folder.iterdir() if is_image(file) and file.is_file()]
    return sorted(found, key=lambda file: natural(file.name))


def is_image(path: Path) -> bool:
    """Tell an image by the ending of its name."""
    return path.suffix.lower() in IMAGES and not path.name.startswith(".")


def natural(words: str) -> list[Any]:
    """Return a key that sorts as people count.

    Examples
    --------
    >>> sorted(["img10", "img2", "Img1"], key=natural)
    ['Img1', 'img2', 'img10']
    """
    parts = re.split(r"(\d+)", words.casefold())
    return [[int(part) if number % 2 else part for number, part in enumerate(parts)], words]


def read_image(path: Path, *, grey: bool = False, max_pixels: int = MAX_PIXELS) -> Rows:
    """Read one image as (height, width) or (height, width, 3) of uint8, upright, for people to look at."""
    return _pixels(path, grey, None, max_pixels)


def _look(path: Path, max_pixels: int) -> _Look:
    with _opened(path, max_pixels) as image:
        width, height = image.size
        turned = image.getexif().get(0x0112) in TURNED
        return _Look((height, width) if turned else (width, height), image.mode in GREY)


def _pixels(path: Path, grey: bool, resize: tuple[int, int] | None, max_pixels: int) -> Rows:
    pillow, operations = (need(f"PIL.{part}", extra="images", to="Reading images") for part in ("Image", "ImageOps"))
    with _opened(path, max_pixels) as image:
        upright = operations.exif_transpose(image)
        plain = _eight_bits(upright, path) if upright.mode.startswith("I") else _on_black(upright)
        converted = plain.convert("L" if grey else "RGB")
        return np.asarray(
            converted if resize is None else converted.resize(resize, pillow.Resampling.BILINEAR), np.uint8
        )


def _eight_bits(image: Any, path: Path) -> Any:
    """Bring 16 bits to 8 by their range; Pillow's own conversion would cut off all above 255."""
    pillow = need("PIL.Image", extra="images", to="Reading images")
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 65535:
        raise InputError(
            f"{path} holds values from {values.min()} to {values.max()}; expected 8 or 16 bits. "
            "Save it with 16 bits, or its rows as .npy."
        )
    return pillow.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8))


def _on_black(image: Any) -> Any:
    """Lay what is transparent over black: the colour of a pixel that nobody sees is chance."""
    if image.mode not in ("LA", "PA", "RGBA", "La", "RGBa") and "transparency" not in image.info:
        return image
    pillow = need("PIL.Image", extra="images", to="Reading images")
    colours = image.convert("RGBA")
    return pillow.alpha_composite(pillow.new("RGBA", colours.size, (0, 0, 0, 255)), colours)


@contextmanager
def _opened(path: Path, max_pixels: int) -> Iterator[Any]:
    """Open an image by its header; its pixels are unpacked when they are asked for."""
    pillow = need("PIL.Image", extra="images", to="Reading images")
    with explained(path, "an image", "Is it complete? Leave it out with --ignore."), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of sizes that are checked here, and of odd metadata
        try:
            image = pillow.open(path, formats=FORMATS)
        except pillow.DecompressionBombError as error:
            raise _too_large(path, "beyond Pillow's own limit", max_pixels) from error
        with image:
            if image.width * image.height > max_pixels:
                raise _too_large(path, f"{_words(image.size)} pixels", max_pixels)
            if getattr(image, "n_frames", 1) > 1:
                raise InputError(f"{path} holds {image.n_frames} images; expected one per file. Save them one by one.")
            if image.mode == "F":
                raise InputError(
                    f"{path} holds decimal numbers; expected 8 or 16 bits. Save it so, or its rows as .npy."
                )
            yield image


def _too_large(path: Path, size: str, max_pixels: int) -> InputError:
    return InputError(
        f"{path} is too large to be unpacked ({size}); up to {max_pixels / 1e6:.0f} million pixels are read. "
        "Scale it down first."
    )


def _words(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
