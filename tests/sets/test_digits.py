"""Digits under light: the sets are as said."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from undistract import InputError
from undistract.sets import digits_under_light


@pytest.fixture(scope="module")
def digits():
    return digits_under_light(seed=3)


def gradients():
    """Two images that every light is a mix of, (64, 2) orthonormal."""
    across = np.linspace(-1, 1, 8)
    right, down = np.tile(across, (8, 1)), np.tile(across[:, None], (1, 8))
    return np.column_stack([right.ravel(), down.ravel()]) / np.linalg.norm(right)


def test_training_is_eight_digits_in_eight_orientations(digits):
    names = [one.name for one in digits.training]
    assert len(set(names)) == 64
    assert {name[0] for name in names} == set("01236789")
    assert {"7", "7 mirrored", "7 turned 90°", "7 mirrored turned 270°"} <= set(names)
    assert min(len(one) for one in digits.training) > 150


def test_every_orientation_is_another_way_to_hold_the_same_scans():
    plain = digits_under_light(lit_training=0.0).training[:8]
    pictures = [one.rows.reshape(-1, 8, 8) for one in plain]
    scans = load_digits()
    assert np.array_equal(pictures[0], scans.images[scans.target == 0] / 16)
    assert np.array_equal(pictures[1], np.rot90(pictures[0], axes=(1, 2)))
    assert np.array_equal(pictures[4], pictures[0][:, :, ::-1])
    assert len({one.rows.tobytes() for one in plain}) == 8


def test_light_falls_on_half_of_the_training_images_and_is_a_gradient():
    lit, unlit = digits_under_light(seed=3), digits_under_light(seed=3, amplitude=0.0)
    light = np.concatenate([a.rows - b.rows for a, b in zip(lit.training, unlit.training, strict=True)])
    falls = np.abs(light).max(axis=1) > 0
    assert falls.mean() == pytest.approx(0.5, abs=0.02)  # four standard errors over 11472 images
    mixes = light[falls] @ gradients()
    assert np.allclose(mixes @ gradients().T, light[falls])
    # Amplitude .5 along a gradient whose image has length √(64 · 3/7), in two directions together.
    strength = np.linalg.norm(mixes, axis=1) / np.linalg.norm(np.tile(np.linspace(-1, 1, 8), (8, 1)))
    assert np.sqrt((strength**2).mean()) == pytest.approx(0.5, abs=0.03)
    # No side is preferred: both gradients are as strong, and they come independently.
    spread = mixes.T @ mixes / len(mixes)
    assert spread == pytest.approx(np.eye(2) * spread.trace() / 2, abs=0.06 * spread.trace())


def test_the_test_set_is_clean_rows_and_light_where_it_is_said_to_fall(digits):
    differs = (digits.test != digits.clean).any(axis=1)
    assert np.array_equal(differs, digits.is_lit)
    assert digits.is_lit.mean() == pytest.approx(0.25, abs=0.13)  # four standard errors over 190 images
    assert (digits.is_lit & ~digits.is_anomaly).any()


def test_eight_fours_hide_among_all_the_fives(digits):
    scans = load_digits()
    known = {image.tobytes(): label for image, label in zip(scans.images / 16, scans.target, strict=True)}
    truth = np.array([known[row.tobytes()] for row in digits.clean])
    assert np.array_equal(truth == 4, digits.is_anomaly)
    assert (digits.is_anomaly.sum(), (truth == 5).sum(), len(truth)) == (8, 182, 190)
    assert np.flatnonzero(digits.is_anomaly).min() < 182  # they do not stand at the end


def test_the_same_seed_gives_the_same_sets_and_another_seed_gives_others(digits):
    again, other = digits_under_light(seed=3), digits_under_light(seed=4)
    assert np.array_equal(digits.test, again.test)
    assert np.array_equal(digits.training[5].rows, again.training[5].rows)
    assert not np.array_equal(digits.training[5].rows, other.training[5].rows)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"normal": 4}, "normal is 4 and odd is 4; expected two different digits"),
        ({"odd": 10}, "odd is 10"),
        ({"n_hidden": 0}, "n_hidden is 0"),
        ({"n_hidden": 1000}, "n_hidden is 1000, but there are 181 images of 4 to hide"),
        ({"amplitude": -1.0}, "amplitude is -1.0"),
        ({"lit_test": 1.5}, "lit_test is 1.5; expected a share between 0 and 1"),
        ({"lit_training": -0.1}, "lit_training is -0.1"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(wish, words):
    with pytest.raises(InputError, match=words):
        digits_under_light(**wish)
