"""The eight ways to hold a picture."""

import numpy as np

from undistract.sets.orientations import orientations


def test_all_eight_are_different_and_have_different_names():
    images = np.random.default_rng(0).random((3, 4, 4))
    ways = dict(orientations(images))
    assert len({one.tobytes() for one in ways.values()}) == len(ways) == 8


def test_mirrored_and_turned_by_half_is_upside_down():
    images = np.random.default_rng(0).random((3, 4, 6))
    ways = dict(orientations(images))
    assert np.array_equal(ways[" mirrored turned 180°"], images[:, ::-1])
    assert np.array_equal(ways[" turned 180°"], images[:, ::-1, ::-1])
    assert ways[" turned 90°"].shape == (3, 6, 4)
