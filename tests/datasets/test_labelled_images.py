"""Labelled images, and their file."""

import numpy as np
import pytest

from undistract import InputError
from undistract.datasets.silhouettes import LabelledImages


@pytest.fixture
def letters():
    rng = np.random.default_rng(0)
    return LabelledImages(
        rng.integers(0, 256, (20, 4, 3), np.uint8), (np.arange(20) % 3 + 1).astype(np.uint8), ["a", "b", "c"]
    )


def test_round_trip_keeps_everything(letters, tmp_path):
    letters.save(tmp_path / "letters.npz")
    again = LabelledImages.load(tmp_path / "letters.npz")
    assert np.array_equal(again.images, letters.images)
    assert np.array_equal(again.labels, letters.labels)
    assert again.class_names == ("a", "b", "c")
    assert again.fingerprint() == letters.fingerprint()


def test_same_images_have_the_same_bytes(letters, tmp_path):
    for name in ("one.npz", "two.npz"):
        letters.save(tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_one_pixel_changes_the_fingerprint(letters):
    images = letters.images.copy()
    images[7, 2, 1] ^= 1
    assert LabelledImages(images, letters.labels, letters.class_names).fingerprint() != letters.fingerprint()


def test_images_are_selected_by_label_and_scaled(letters):
    selected = letters.of(2)
    assert letters.name(2) == "b"
    assert selected.dtype == np.float32
    assert np.allclose(selected * letters.images.max(), letters.images[1::3])


@pytest.mark.parametrize(
    ("images", "labels", "names"),
    [
        (np.zeros((2, 3)), np.array([0, 1]), ["a", "b"]),
        (np.zeros((2, 3, 3)), np.array([0]), ["a"]),
        (np.zeros((2, 3, 3)), np.array([0, 2]), ["a", "b"]),
        (np.zeros((2, 3, 3)), np.array([0, 1]), ["a", "b", "c"]),
        (np.zeros((0, 3, 3)), np.zeros(0), []),
    ],
)
def test_images_labels_and_names_must_match(images, labels, names):
    with pytest.raises(InputError, match="one name per label"):
        LabelledImages(images, labels, names)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_damaged_file_is_named(content, tmp_path):
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.npz cannot be read"):
        LabelledImages.load(path)


def test_file_with_other_arrays_is_named(tmp_path):
    np.savez(tmp_path / "other.npz", pixels=np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"other\.npz cannot be read.*expected an \.npz file with images, labels"):
        LabelledImages.load(tmp_path / "other.npz")
