"""Silhouettes under light: the sets are as said, on a small folder and on the real one."""

import numpy as np
import pytest

from undistract import InputError
from undistract.sets import silhouettes_under_light
from undistract.sets.pictures import Pictures
from undistract.sets.publishers import CHARACTERS, SILHOUETTES

NAMES = ("ant", "Faces 2", "Faces 3", "cup", "sunflower")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three characters of 7 images and five kinds of outlines of 12; the real ones are larger, not different."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for source, n, names, first, ink in ((CHARACTERS, 7, "A1z", 0, 255), (SILHOUETTES, 12, NAMES, 1, 1)):
        path = folder / source.file
        path.parent.mkdir()
        labels = np.tile(np.arange(len(names)) + first, n).astype(np.uint8)
        images = (ink * rng.integers(0, 2, (len(labels), 6, 6))).astype(np.uint8)
        Pictures(images, labels, names).save(path)
    return folder


def made(folder, **wishes):
    return silhouettes_under_light(data=folder, **({"n_hidden": 4, "per_class": 9} | wishes))


def test_every_class_but_the_two_of_the_test_is_trained_on_in_six_orientations(folder):
    names = [one.name for one in made(folder).training]
    ways = ("", " turned 90°", " turned 180°", " turned 270°", " mirrored", " mirrored turned 180°")
    assert names == [f"{one}{way}" for one in ("A", "1", "z", "ant", "Faces 3", "cup") for way in ways]


def test_more_classes_can_be_left_out(folder):
    names = {one.name for one in made(folder, leave_out=["Faces 3", 4]).training}
    assert {name.split()[0] for name in names} == {"A", "1", "z", "ant"}


def test_at_most_so_many_images_of_a_class_are_taken_and_the_seed_chooses_them(folder):
    sizes = [len(one) for one in made(folder, per_class=9).training]
    assert sizes == [7] * 18 + [9] * 18
    one, other = (made(folder, lit_training=0.0, per_class=2, seed=seed).training[0].rows for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_all_orientations_of_a_class_show_the_same_images(folder):
    plain, turned, *_, upside_down = (one.rows.reshape(-1, 6, 6) for one in made(folder, lit_training=0.0).training[:6])
    assert np.array_equal(turned, np.rot90(plain, axes=(1, 2)))
    assert np.array_equal(upside_down, plain[:, ::-1])


def test_the_test_is_all_of_the_normal_class_with_a_few_odd_ones_hidden(folder):
    found = made(folder, n_hidden=5)
    outlines = Pictures.load(folder / SILHOUETTES.file)
    truth = {row.tobytes(): label for label in (2, 5) for row in outlines.of(label)}
    labels = np.array([truth[row.tobytes()] for row in found.clean])
    assert np.array_equal(labels == 5, found.is_anomaly)
    assert ((labels == 2).sum(), (labels == 5).sum()) == (12, 5)
    assert (found.normal, found.odd) == ("Faces 2", "sunflower")


def test_light_falls_where_it_is_said_to_and_is_made_of_the_gradients(folder):
    found = made(folder)
    light = (found.test - found.clean).astype(np.float64)
    assert np.array_equal(light.any(axis=1), found.is_lit)
    assert 0 < found.is_lit.sum() < len(light)
    mixes = np.linalg.lstsq(found.gradients.T, light.T)[0]
    assert np.allclose(found.gradients.T @ mixes, light.T, atol=1e-6)  # single precision


def test_rows_are_single_floats_from_paper_to_ink(folder):
    found = made(folder, amplitude=0.0)
    assert {one.rows.dtype for one in found.training} == {found.test.dtype} == {np.dtype(np.float32)}
    assert {value for one in found.training for value in np.unique(one.rows)} == {0.0, 1.0}


def test_a_class_can_be_given_by_its_label(folder):
    by_name, by_label = made(folder, normal="cup", odd="ant"), made(folder, normal=np.uint8(4), odd=1)
    assert (by_label.normal, by_label.odd) == ("cup", "ant")
    assert np.array_equal(by_name.test, by_label.test)


def test_the_same_seed_gives_the_same_sets_and_another_seed_gives_others(folder):
    one, again, other = (made(folder, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.test, again.test)
    assert np.array_equal(one.training[9].rows, again.training[9].rows)
    assert not np.array_equal(one.training[9].rows, other.training[9].rows)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (
            {"normal": "Faces"},
            r"no kind of outline 'Faces'; expected a label from 1 to 5, or one of the 5 names \('ant'",
        ),
        ({"odd": 0}, "no kind of outline 0"),
        ({"leave_out": [6]}, "no kind of outline 6"),
        ({"odd": "Faces 2"}, "normal and odd are both 'Faces 2'"),
        ({"per_class": 0}, "per_class is 0"),
        ({"n_hidden": 13}, "n_hidden is 13, but there are 12 images of 'sunflower'"),
        ({"amplitude": np.nan}, "amplitude is nan"),
        ({"lit_training": 2}, "lit_training is 2"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(folder, wish, words):
    with pytest.raises(InputError, match=words):
        made(folder, **wish)


def test_the_real_experiment_has_the_size_of_the_paper_s(data):
    found = silhouettes_under_light(data=data, leave_out=["Faces 3"], per_class=5)
    assert len(found.training) == 960
    assert len(silhouettes_under_light(data=data, per_class=1).training) == 966
    assert (found.test.shape, found.is_anomaly.sum()) == ((465, 784), 30)
    assert (silhouettes_under_light(data=data, normal=5, odd=54, per_class=1).odd) == "joshua tree"
