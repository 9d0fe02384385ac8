"""Light across images of any size."""

import numpy as np
import pytest

from undistract.sets import gradients, lit


@pytest.mark.parametrize("size", [(8, 8), (28, 28), (5, 9)])
def test_every_light_is_a_mix_of_the_two_gradients(size):
    rows, is_lit = lit(np.zeros((200, *size)), share=0.5, amplitude=0.7, rng=np.random.default_rng(0))
    directions = gradients(*size)
    assert directions.shape == (2, size[0] * size[1])
    mixes = np.linalg.lstsq(directions.T, rows.T)[0]
    assert np.allclose(directions.T @ mixes, rows.T)
    assert np.array_equal(rows.any(axis=1), is_lit)
    # Four standard errors of a variance over about a hundred lit images.
    assert (mixes[:, is_lit] ** 2).sum() / is_lit.sum() == pytest.approx(0.49, rel=4 * np.sqrt(2 / 100))


def test_one_gradient_is_brighter_to_the_right_and_the_other_downwards():
    right, down = gradients(3, 5).reshape(2, 3, 5)
    assert (np.diff(right, axis=1) > 0).all()
    assert (np.diff(right, axis=0) == 0).all()
    assert (np.diff(down, axis=0) > 0).all()
    assert (np.diff(down, axis=1) == 0).all()


@pytest.mark.parametrize(("share", "falls"), [(0.0, 0), (1.0, 50)])
def test_light_falls_on_none_or_on_all_when_asked(share, falls):
    images = np.random.default_rng(1).random((50, 4, 4))
    rows, is_lit = lit(images, share=share, amplitude=1.0, rng=np.random.default_rng(2))
    assert is_lit.sum() == (rows != images.reshape(50, 16)).any(axis=1).sum() == falls


def test_small_floats_stay_small_and_the_images_stay_as_they_are():
    images = np.ones((3, 4, 4), dtype=np.float32)
    rows, _ = lit(images, share=1.0, amplitude=1.0, rng=np.random.default_rng(0))
    assert rows.dtype == np.float32
    assert (images == 1).all()
