"""Illumination of images of any size."""

import numpy as np
import pytest

from undistract.datasets import add_illumination, illumination_basis
from undistract.datasets.illumination import orientations


@pytest.mark.parametrize("size", [(8, 8), (28, 28), (5, 9)])
def test_illumination_is_a_combination_of_two_gradients(size):
    rows, is_lit = add_illumination(np.zeros((200, *size)), share=0.5, amplitude=0.7, rng=np.random.default_rng(0))
    directions = illumination_basis(*size)
    assert directions.shape == (2, size[0] * size[1])
    mixes = np.linalg.lstsq(directions.T, rows.T)[0]
    assert np.allclose(directions.T @ mixes, rows.T)
    assert np.array_equal(rows.any(axis=1), is_lit)
    # Four standard errors of a variance over about a hundred lit images.
    assert (mixes[:, is_lit] ** 2).sum() / is_lit.sum() == pytest.approx(0.49, rel=4 * np.sqrt(2 / 100))


def test_gradients_point_right_and_down():
    right, down = illumination_basis(3, 5).reshape(2, 3, 5)
    assert (np.diff(right, axis=1) > 0).all()
    assert (np.diff(right, axis=0) == 0).all()
    assert (np.diff(down, axis=0) > 0).all()
    assert (np.diff(down, axis=1) == 0).all()


@pytest.mark.parametrize(("share", "falls"), [(0.0, 0), (1.0, 50)])
def test_share_of_illuminated_images(share, falls):
    images = np.random.default_rng(1).random((50, 4, 4))
    rows, is_lit = add_illumination(images, share=share, amplitude=1.0, rng=np.random.default_rng(2))
    assert is_lit.sum() == (rows != images.reshape(50, 16)).any(axis=1).sum() == falls


def test_dtype_and_input_are_kept():
    images = np.ones((3, 4, 4), dtype=np.float32)
    rows, _ = add_illumination(images, share=1.0, amplitude=1.0, rng=np.random.default_rng(0))
    assert rows.dtype == np.float32
    assert (images == 1).all()


def test_orientations_are_different_and_have_different_names():
    images = np.random.default_rng(0).random((3, 4, 4))
    oriented = dict(orientations(images))
    assert len({images.tobytes() for images in oriented.values()}) == len(oriented) == 8


def test_mirrored_and_turned_by_180_is_a_vertical_flip():
    images = np.random.default_rng(0).random((3, 4, 6))
    oriented = dict(orientations(images))
    assert np.array_equal(oriented[" mirrored turned 180°"], images[:, ::-1])
    assert np.array_equal(oriented[" turned 180°"], images[:, ::-1, ::-1])
    assert oriented[" turned 90°"].shape == (3, 6, 4)
