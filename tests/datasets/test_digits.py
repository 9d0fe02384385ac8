"""The digits experiment has the documented structure."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from undistract import InputError
from undistract.datasets import make_illuminated_digits


@pytest.fixture(scope="module")
def digits():
    return make_illuminated_digits(seed=3)


def gradients():
    """Return the two basis images of the illumination, (64, 2) orthonormal."""
    across = np.linspace(-1, 1, 8)
    right, down = np.tile(across, (8, 1)), np.tile(across[:, None], (1, 8))
    return np.column_stack([right.ravel(), down.ravel()]) / np.linalg.norm(right)


def test_training_is_eight_digits_in_eight_orientations(digits):
    names = [one.name for one in digits.training]
    assert len(set(names)) == 64
    assert {name[0] for name in names} == set("01236789")
    assert {"7", "7 mirrored", "7 turned 90°", "7 mirrored turned 270°"} <= set(names)
    assert min(len(one) for one in digits.training) > 150


def test_orientations_show_the_same_scans():
    plain = make_illuminated_digits(lit_training=0.0).training[:8]
    pictures = [one.rows.reshape(-1, 8, 8) for one in plain]
    scans = load_digits()
    assert np.array_equal(pictures[0], scans.images[scans.target == 0] / 16)
    assert np.array_equal(pictures[1], np.rot90(pictures[0], axes=(1, 2)))
    assert np.array_equal(pictures[4], pictures[0][:, :, ::-1])
    assert len({one.rows.tobytes() for one in plain}) == 8


def test_half_of_the_training_images_have_gradient_illumination():
    lit, unlit = make_illuminated_digits(seed=3), make_illuminated_digits(seed=3, amplitude=0.0)
    light = np.concatenate([a.rows - b.rows for a, b in zip(lit.training, unlit.training, strict=True)])
    falls = np.abs(light).max(axis=1) > 0
    assert falls.mean() == pytest.approx(0.5, abs=0.02)  # four standard errors over 11472 images
    mixes = light[falls] @ gradients()
    assert np.allclose(mixes @ gradients().T, light[falls])
    # Amplitude .5 along a gradient whose image has length √(64 · 3/7), in two directions together.
    strength = np.linalg.norm(mixes, axis=1) / np.linalg.norm(np.tile(np.linspace(-1, 1, 8), (8, 1)))
    assert np.sqrt((strength**2).mean()) == pytest.approx(0.5, abs=0.03)
    # Isotropic: both gradients are equally strong and independent.
    spread = mixes.T @ mixes / len(mixes)
    assert spread == pytest.approx(np.eye(2) * spread.trace() / 2, abs=0.06 * spread.trace())


def test_test_rows_are_clean_rows_plus_marked_illumination(digits):
    differs = (digits.test != digits.clean).any(axis=1)
    assert np.array_equal(differs, digits.is_lit)
    assert digits.is_lit.mean() == pytest.approx(0.25, abs=0.13)  # four standard errors over 190 images
    assert (digits.is_lit & ~digits.is_anomaly).any()


def test_eight_fours_are_hidden_among_all_fives(digits):
    scans = load_digits()
    labels = {image.tobytes(): label for image, label in zip(scans.images / 16, scans.target, strict=True)}
    truth = np.array([labels[row.tobytes()] for row in digits.clean])
    assert np.array_equal(truth == 4, digits.is_anomaly)
    assert (digits.is_anomaly.sum(), (truth == 5).sum(), len(truth)) == (8, 182, 190)
    assert np.flatnonzero(digits.is_anomaly).min() < 182  # they are shuffled


def test_seed_determines_the_rows(digits):
    again, other = make_illuminated_digits(seed=3), make_illuminated_digits(seed=4)
    assert np.array_equal(digits.test, again.test)
    assert np.array_equal(digits.training[5].rows, again.training[5].rows)
    assert not np.array_equal(digits.training[5].rows, other.training[5].rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"normal": 4}, "two different digits from 0 to 9, got 4 and 4"),
        ({"odd": 10}, "got 5 and 10"),
        ({"n_hidden": 0}, "n_hidden must be at least 1, got 0"),
        ({"n_hidden": 1000}, "n_hidden must be at most 181, the images of 4, got 1000"),
        ({"amplitude": -1.0}, "amplitude must be non-negative.*got -1.0"),
        ({"lit_test": 1.5}, "lit_test must be between 0 and 1, got 1.5"),
        ({"lit_training": -0.1}, "lit_training must be .*got -0.1"),
    ],
)
def test_invalid_arguments_raise_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        make_illuminated_digits(**arguments)
