"""Folders of images are read upright, in natural order and at full depth; bombs are rejected by their header."""

import struct
import zlib

import numpy as np
import pytest

from undistract import InputError
from undistract.sources import image_source
from undistract.sources.images import read_image

Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (6, 4), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (6, 4, 3), dtype=np.uint8)


def flat(frames):
    assert frames.dtype == np.uint8
    return frames.reshape(len(frames), -1)


def save(folder, **pictures):
    for name, picture in pictures.items():
        array = Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture
        array.save(folder / name.replace("__", "."))
    return folder


@pytest.mark.parametrize("ending", ["png", "pgm", "tif", "tiff", "bmp", "PNG"])
def test_lossless_images_are_unchanged(tmp_path, ending):
    save(tmp_path, **{f"a.{ending}": GREY})
    assert np.array_equal(image_source(tmp_path, flat).rows, GREY.reshape(1, -1))


def test_jpeg_is_close(tmp_path):
    save(tmp_path, a__jpg=np.full((8, 8, 3), [200, 100, 50], dtype=np.uint8))
    assert np.abs(read_image(tmp_path / "a.jpg").astype(int) - [200, 100, 50]).max() <= 3  # chroma is coarse


def test_files_are_in_natural_order_and_name_the_rows(tmp_path):
    save(tmp_path, img10__png=GREY + 0, img2__png=GREY // 2, IMG1__png=GREY // 4)
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / "._img3.png").write_text("metadata of macOS")
    source = image_source(tmp_path, flat, name="faces")
    assert source.row_names == ("IMG1.png", "img2.png", "img10.png")
    assert np.array_equal(source.rows, [flat(picture[None])[0] for picture in (GREY // 4, GREY // 2, GREY)])
    assert (source.name, len(source), source.origin) == ("faces", 3, str(tmp_path))


def test_one_colour_image_makes_all_colour_unless_extractor_is_grey(tmp_path):
    save(tmp_path, a__png=GREY, b__png=COLOUR)
    source = image_source(tmp_path, flat)
    assert source.n_features == 6 * 4 * 3
    assert np.array_equal(source.rows[0].reshape(6, 4, 3), np.repeat(GREY[..., None], 3, axis=2))
    assert np.array_equal(source.rows[1].reshape(6, 4, 3), COLOUR)

    def grey(frames):
        return flat(frames)

    grey.grey = True
    assert image_source(tmp_path, grey).n_features == 6 * 4


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.pgm"])
def test_16_bit_images_are_scaled(tmp_path, name):
    deep = np.array([[0, 257, 65535], [32768, 255, 12850]], dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / name)
    assert read_image(tmp_path / name, grey=True).tolist() == [[0, 1, 255], [128, 1, 50]]


def test_palette_and_1_bit_images(tmp_path):
    palette = Image.fromarray(np.array([[0, 1], [2, 1]], dtype=np.uint8), mode=None).convert("P")
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    save(tmp_path, p__png=palette, b__png=Image.fromarray(np.array([[True, False]])))
    assert read_image(tmp_path / "p.png").tolist() == [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [0, 255, 0]]]
    assert read_image(tmp_path / "b.png", grey=True).tolist() == [[255, 0]]


def test_transparent_pixels_are_black(tmp_path):
    save(tmp_path, a__png=np.array([[[200, 100, 50, 0], [200, 100, 50, 255]]], dtype=np.uint8))
    assert read_image(tmp_path / "a.png").tolist() == [[[0, 0, 0], [200, 100, 50]]]


def test_exif_orientation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    Image.fromarray(GREY).save(tmp_path / "a.png", exif=exif)
    save(tmp_path, b__png=np.rot90(GREY, -1).copy())
    source = image_source(tmp_path, flat)  # both have the same size when upright
    assert np.array_equal(source.rows[0], source.rows[1])


def test_different_size_raises_error_with_remedy(tmp_path):
    save(tmp_path, a__png=GREY, b__png=GREY, c__png=GREY[:3], d__png=GREY[:2])
    with pytest.raises(InputError, match=r"c\.png is 4x3, a\.png is 4x6.*resize=\(4, 6\) \(--resize 4x6\)"):
        image_source(tmp_path, flat)
    assert image_source(tmp_path, flat, resize=(2, 3)).rows.shape == (4, 6)


def test_unsupported_images_raise_errors(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "a.tif", save_all=True, append_images=[Image.fromarray(GREY)])
    with pytest.raises(InputError, match=r"a\.tif contains 2 images; expected one per file"):
        image_source(tmp_path, flat)
    save(tmp_path, a__tif=np.ones((2, 2), dtype=np.float32))
    with pytest.raises(InputError, match="contains floating-point pixels"):
        image_source(tmp_path, flat)
    save(tmp_path, a__tif=np.full((2, 2), 70000, dtype=np.int32))
    with pytest.raises(InputError, match="contains values from 70000 to 70000; expected 8 or 16 bits"):
        _ = image_source(tmp_path, flat).rows
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no images"):
        image_source(tmp_path / "empty", flat)


@pytest.mark.parametrize("ending", ["png", "jpg", "tif", "bmp", "pgm"])
def test_damaged_image_is_named(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    Image.fromarray(RNG.integers(0, 256, (64, 64), dtype=np.uint8)).save(path)
    complete = path.read_bytes()
    for contents in (complete[: len(complete) // 2], b"", b"hello", complete[:20]):
        path.write_bytes(contents)
        with pytest.raises(InputError, match=rf"a\.{ending} "):
            _ = image_source(tmp_path, flat).rows


def write_bomb(path, side):
    def chunk(kind, contents):
        return struct.pack(">I", len(contents)) + kind + contents + struct.pack(">I", zlib.crc32(kind + contents))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    rows = zlib.compress(bytes(2**22))  # incomplete, because it must not be decoded
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def test_image_of_900_megapixels_is_rejected_quickly(tmp_path, cost):
    write_bomb(tmp_path / "bomb.png", 30_000)
    message, kilobytes, seconds = cost(
        "import PIL.Image, PIL.ImageOps\n"
        "from undistract import InputError\n"
        "from undistract.sources import discover_sources",
        f"""
try:
    discover_sources({str(tmp_path)!r}, extract=lambda frames: frames)
except InputError as error:
    print(error)
""",
    )
    assert "bomb.png is too large to be decoded" in message
    assert "the limit is 67 million pixels" in message
    assert kilobytes < 100_000
    assert seconds < 1


def test_limit_below_that_of_pillow_is_enforced(tmp_path):
    save(tmp_path, a__png=GREY)
    with pytest.raises(InputError, match=r"too large to be decoded \(4x6 pixels\); the limit is 0 million"):
        image_source(tmp_path, flat, max_pixels=20)


def test_empty_list_and_zero_size_raise_errors(tmp_path):
    # Regression: these raised an IndexError and a ZeroDivisionError.
    save(tmp_path, **{"1.png": GREY})
    for paths, options, expected in (
        ([], {}, "An empty list contains no images; expected some of .png"),
        (tmp_path, {"resize": (0, 3)}, "resize must be at least one pixel wide and high, as in 64x48, got 0x3"),
    ):
        with pytest.raises(InputError, match=expected):
            image_source(paths, flat, **options)
