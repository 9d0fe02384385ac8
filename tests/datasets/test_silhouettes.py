"""The silhouettes experiment has the documented structure, on small and on real data."""

import numpy as np
import pytest

from undistract import InputError
from undistract.datasets import make_illuminated_silhouettes
from undistract.datasets.silhouettes import CHARACTERS, SILHOUETTES, LabelledImages

NAMES = ("ant", "Faces 2", "Faces 3", "cup", "sunflower")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write three characters of 7 images and five kinds of silhouettes of 12, in the format of the real data."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for source, n, names, first, ink in ((CHARACTERS, 7, "A1z", 0, 255), (SILHOUETTES, 12, NAMES, 1, 1)):
        path = folder / source.file
        path.parent.mkdir()
        labels = np.tile(np.arange(len(names)) + first, n).astype(np.uint8)
        images = (ink * rng.integers(0, 2, (len(labels), 6, 6))).astype(np.uint8)
        LabelledImages(images, labels, names).save(path)
    return folder


def make(folder, **arguments):
    return make_illuminated_silhouettes(data=folder, **({"n_hidden": 4, "per_class": 9} | arguments))


def test_training_has_all_other_classes_in_six_orientations(folder):
    names = [group.name for group in make(folder).training]
    orientations = ("", " turned 90°", " turned 180°", " turned 270°", " mirrored", " mirrored turned 180°")
    assert names == [
        f"{group}{orientation}" for group in ("A", "1", "z", "ant", "Faces 3", "cup") for orientation in orientations
    ]


def test_further_classes_can_be_excluded(folder):
    names = {group.name for group in make(folder, leave_out=["Faces 3", 4]).training}
    assert {name.split()[0] for name in names} == {"A", "1", "z", "ant"}


def test_images_per_class_are_limited_and_chosen_by_seed(folder):
    sizes = [len(group) for group in make(folder, per_class=9).training]
    assert sizes == [7] * 18 + [9] * 18
    group, other = (make(folder, lit_training=0.0, per_class=2, seed=seed).training[0].rows for seed in (0, 1))
    assert not np.array_equal(group, other)


def test_all_orientations_of_a_class_show_the_same_images(folder):
    plain, turned, *_, upside_down = (
        group.rows.reshape(-1, 6, 6) for group in make(folder, lit_training=0.0).training[:6]
    )
    assert np.array_equal(turned, np.rot90(plain, axes=(1, 2)))
    assert np.array_equal(upside_down, plain[:, ::-1])


def test_test_rows_are_normal_class_with_hidden_anomalies(folder):
    experiment = make(folder, n_hidden=5)
    outlines = LabelledImages.load(folder / SILHOUETTES.file)
    truth = {row.tobytes(): label for label in (2, 5) for row in outlines.of(label)}
    labels = np.array([truth[row.tobytes()] for row in experiment.clean])
    assert np.array_equal(labels == 5, experiment.is_anomaly)
    assert ((labels == 2).sum(), (labels == 5).sum()) == (12, 5)
    assert (experiment.normal, experiment.odd) == ("Faces 2", "sunflower")


def test_illumination_is_marked_and_made_of_gradients(folder):
    experiment = make(folder)
    light = (experiment.test - experiment.clean).astype(np.float64)
    assert np.array_equal(light.any(axis=1), experiment.is_lit)
    assert 0 < experiment.is_lit.sum() < len(light)
    mixes = np.linalg.lstsq(experiment.gradients.T, light.T)[0]
    assert np.allclose(experiment.gradients.T @ mixes, light.T, atol=1e-6)  # single precision


def test_rows_are_float32_from_zero_to_one(folder):
    experiment = make(folder, amplitude=0.0)
    assert {group.rows.dtype for group in experiment.training} == {experiment.test.dtype} == {np.dtype(np.float32)}
    assert {value for group in experiment.training for value in np.unique(group.rows)} == {0.0, 1.0}


def test_class_can_be_given_by_label(folder):
    by_name, by_label = make(folder, normal="cup", odd="ant"), make(folder, normal=np.uint8(4), odd=1)
    assert (by_label.normal, by_label.odd) == ("cup", "ant")
    assert np.array_equal(by_name.test, by_label.test)


def test_seed_determines_the_rows(folder):
    group, again, other = (make(folder, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(group.test, again.test)
    assert np.array_equal(group.training[9].rows, again.training[9].rows)
    assert not np.array_equal(group.training[9].rows, other.training[9].rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"normal": "Faces"},
            r"Unknown kind of silhouette 'Faces'; expected a label from 1 to 5, or one of the 5 names \('ant'",
        ),
        ({"odd": 0}, "Unknown kind of silhouette 0"),
        ({"leave_out": [6]}, "Unknown kind of silhouette 6"),
        ({"odd": "Faces 2"}, "normal and odd must be different, got 'Faces 2' for both"),
        ({"per_class": 0}, "per_class must be at least 1, got 0"),
        ({"n_hidden": 13}, "n_hidden must be at most 12, the images of 'sunflower', got 13"),
        ({"amplitude": np.nan}, "amplitude must be non-negative.*got nan"),
        ({"lit_training": 2}, "lit_training must be .*got 2"),
    ],
)
def test_invalid_arguments_raise_errors(folder, arguments, message):
    with pytest.raises(InputError, match=message):
        make(folder, **arguments)


def test_real_experiment_has_the_size_of_the_paper(data):
    experiment = make_illuminated_silhouettes(data=data, leave_out=["Faces 3"], per_class=5)
    assert len(experiment.training) == 960
    assert len(make_illuminated_silhouettes(data=data, per_class=1).training) == 966
    assert (experiment.test.shape, experiment.is_anomaly.sum()) == ((465, 784), 30)
    assert (make_illuminated_silhouettes(data=data, normal=5, odd=54, per_class=1).odd) == "joshua tree"
