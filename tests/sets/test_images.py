"""Folders of images: upright, in natural order, with the depth they have; bombs are refused by their header."""

import struct
import zlib

import numpy as np
import pytest

from undistract import InputError
from undistract.sets import image_set
from undistract.sets.images import read_image

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
def test_lossless_images_come_as_they_are(tmp_path, ending):
    save(tmp_path, **{f"a.{ending}": GREY})
    assert np.array_equal(image_set(tmp_path, flat).rows, GREY.reshape(1, -1))


def test_jpeg_comes_close(tmp_path):
    save(tmp_path, a__jpg=np.full((8, 8, 3), [200, 100, 50], dtype=np.uint8))
    assert np.abs(read_image(tmp_path / "a.jpg").astype(int) - [200, 100, 50]).max() <= 3  # chroma is coarse


def test_files_are_counted_as_people_do_and_rows_know_their_file(tmp_path):
    save(tmp_path, img10__png=GREY + 0, img2__png=GREY // 2, IMG1__png=GREY // 4)
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / "._img3.png").write_text("what some systems leave behind")
    one = image_set(tmp_path, flat, name="faces")
    assert one.row_names == ("IMG1.png", "img2.png", "img10.png")
    assert np.array_equal(one.rows, [flat(picture[None])[0] for picture in (GREY // 4, GREY // 2, GREY)])
    assert (one.name, len(one), one.source) == ("faces", 3, str(tmp_path))


def test_one_image_in_colour_makes_the_set_colour_unless_the_extractor_wants_grey(tmp_path):
    save(tmp_path, a__png=GREY, b__png=COLOUR)
    one = image_set(tmp_path, flat)
    assert one.n_features == 6 * 4 * 3
    assert np.array_equal(one.rows[0].reshape(6, 4, 3), np.repeat(GREY[..., None], 3, axis=2))
    assert np.array_equal(one.rows[1].reshape(6, 4, 3), COLOUR)

    def grey(frames):
        return flat(frames)

    grey.grey = True
    assert image_set(tmp_path, grey).n_features == 6 * 4


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.pgm"])
def test_sixteen_bits_keep_their_range(tmp_path, name):
    deep = np.array([[0, 257, 65535], [32768, 255, 12850]], dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / name)
    assert read_image(tmp_path / name, grey=True).tolist() == [[0, 1, 255], [128, 1, 50]]


def test_a_palette_is_looked_up_and_one_bit_is_black_and_white(tmp_path):
    palette = Image.fromarray(np.array([[0, 1], [2, 1]], dtype=np.uint8), mode=None).convert("P")
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    save(tmp_path, p__png=palette, b__png=Image.fromarray(np.array([[True, False]])))
    assert read_image(tmp_path / "p.png").tolist() == [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [0, 255, 0]]]
    assert read_image(tmp_path / "b.png", grey=True).tolist() == [[255, 0]]


def test_what_is_transparent_is_black(tmp_path):
    save(tmp_path, a__png=np.array([[[200, 100, 50, 0], [200, 100, 50, 255]]], dtype=np.uint8))
    assert read_image(tmp_path / "a.png").tolist() == [[[0, 0, 0], [200, 100, 50]]]


def test_a_camera_that_was_held_upright_is_believed(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    Image.fromarray(GREY).save(tmp_path / "a.png", exif=exif)
    save(tmp_path, b__png=np.rot90(GREY, -1).copy())
    one = image_set(tmp_path, flat)  # one size, once both stand upright
    assert np.array_equal(one.rows[0], one.rows[1])


def test_an_image_of_another_size_is_named_with_the_remedy(tmp_path):
    save(tmp_path, a__png=GREY, b__png=GREY, c__png=GREY[:3], d__png=GREY[:2])
    with pytest.raises(InputError, match=r"c\.png is 4x3, a\.png is 4x6.*resize=\(4, 6\) \(--resize 4x6\)"):
        image_set(tmp_path, flat)
    assert image_set(tmp_path, flat, resize=(2, 3)).rows.shape == (4, 6)


def test_what_is_no_single_picture_of_bits_is_refused(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "a.tif", save_all=True, append_images=[Image.fromarray(GREY)])
    with pytest.raises(InputError, match=r"a\.tif holds 2 images; expected one per file"):
        image_set(tmp_path, flat)
    save(tmp_path, a__tif=np.ones((2, 2), dtype=np.float32))
    with pytest.raises(InputError, match="holds decimal numbers"):
        image_set(tmp_path, flat)
    save(tmp_path, a__tif=np.full((2, 2), 70000, dtype=np.int32))
    with pytest.raises(InputError, match="holds values from 70000 to 70000; expected 8 or 16 bits"):
        _ = image_set(tmp_path, flat).rows
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no images"):
        image_set(tmp_path / "empty", flat)


@pytest.mark.parametrize("ending", ["png", "jpg", "tif", "bmp", "pgm"])
def test_a_damaged_image_is_named(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    Image.fromarray(RNG.integers(0, 256, (64, 64), dtype=np.uint8)).save(path)
    whole = path.read_bytes()
    for contents in (whole[: len(whole) // 2], b"", b"hello", whole[:20]):
        path.write_bytes(contents)
        with pytest.raises(InputError, match=rf"a\.{ending} "):
            _ = image_set(tmp_path, flat).rows


def write_bomb(path, side):
    def chunk(kind, contents):
        return struct.pack(">I", len(contents)) + kind + contents + struct.pack(">I", zlib.crc32(kind + contents))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    rows = zlib.compress(bytes(2**22))  # the beginning is enough: it must not be looked at
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def test_an_image_of_900_megapixels_is_refused_at_once(tmp_path, cost):
    write_bomb(tmp_path / "bomb.png", 30_000)
    message, kilobytes, seconds = cost(
        "from undistract.sets import find_sets; from undistract import InputError; import PIL.Image, PIL.ImageOps",
        f"""
try:
    find_sets({str(tmp_path)!r}, extract=lambda frames: frames)
except InputError as error:
    print(error)
""",
    )
    assert "bomb.png is too large to be unpacked" in message
    assert "up to 67 million pixels" in message
    assert kilobytes < 100_000
    assert seconds < 1


def test_an_image_above_the_limit_that_pillow_would_open_is_refused_too(tmp_path):
    save(tmp_path, a__png=GREY)
    with pytest.raises(InputError, match=r"too large to be unpacked \(4x6 pixels\); up to 0 million"):
        image_set(tmp_path, flat, max_pixels=20)


def test_no_images_and_a_size_of_nothing_are_refused(tmp_path):
    # An IndexError and a ZeroDivisionError.
    save(tmp_path, **{"1.png": GREY})
    for paths, options, words in (
        ([], {}, "A list of no paths holds no images; expected some of .png"),
        (tmp_path, {"resize": (0, 3)}, "resize is 0x3; expected a width and a height of at least one pixel"),
    ):
        with pytest.raises(InputError, match=words):
            image_set(paths, flat, **options)
