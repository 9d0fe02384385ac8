"""The files of the publishers become the images that they show."""

import numpy as np
import pytest
from scipy.io import savemat

from undistract import InputError
from undistract.sets.pictures import Pictures
from undistract.sets.publishers import CHARACTERS, SILHOUETTES, characters_from_zip, outlines_from_mat

from .publisher import as_mat, as_zip, some_outlines


def test_outlines_come_back_upright_with_the_object_as_one(tmp_path):
    outlines = some_outlines()
    (tmp_path / "a.mat").write_bytes(as_mat(outlines))
    found = outlines_from_mat(tmp_path / "a.mat")
    assert np.array_equal(found.images, outlines.images)
    assert np.array_equal(found.labels, outlines.labels)
    assert found.class_names == outlines.class_names
    assert found.fingerprint() == outlines.fingerprint()


def test_the_real_silhouettes_survive_the_way_through_the_authors_format(data, tmp_path):
    real = Pictures.load(data / SILHOUETTES.file)
    (tmp_path / "a.mat").write_bytes(as_mat(real))
    assert outlines_from_mat(tmp_path / "a.mat").fingerprint() == real.fingerprint() == SILHOUETTES.fingerprint


def test_names_with_underscores_are_written_as_words(tmp_path):
    plain = some_outlines()
    scored = Pictures(plain.images, plain.labels, [name.replace(" ", "_") for name in plain.class_names])
    (tmp_path / "a.mat").write_bytes(as_mat(scored))
    assert outlines_from_mat(tmp_path / "a.mat").class_names == plain.class_names


def test_the_first_five_hundred_of_each_character_are_taken_in_order(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.concatenate([rng.permutation(62), np.full(600, 10)]).astype(np.uint8)  # many an A
    images = rng.integers(0, 256, (len(labels), 28, 28), np.uint8)
    (tmp_path / "a.zip").write_bytes(as_zip(images, labels))
    found = characters_from_zip(tmp_path / "a.zip")
    assert np.array_equal(found.images, images[: 62 + 499])
    assert np.array_equal(found.labels, labels[: 62 + 499])
    assert [found.name(label) for label in (0, 10, 35, 36, 61)] == ["0", "A", "Z", "a", "z"]


def test_the_real_characters_survive_the_way_through_the_archive(data, tmp_path):
    real = Pictures.load(data / CHARACTERS.file)
    (tmp_path / "a.zip").write_bytes(as_zip(real.images, real.labels))
    found = characters_from_zip(tmp_path / "a.zip")
    assert found.fingerprint() == real.fingerprint() == CHARACTERS.fingerprint
    assert found.class_names == real.class_names


@pytest.mark.parametrize("read", [outlines_from_mat, characters_from_zip])
@pytest.mark.parametrize(
    "content", [b"", b"<html>Moved</html>" * 40, as_mat(some_outlines())[:900], b"PK\x05\x06" + bytes(18)]
)
def test_a_file_of_another_kind_is_refused_by_name(read, content, tmp_path):
    (tmp_path / "strange").write_bytes(content)
    with pytest.raises(InputError, match=r"strange is not a .*see docs/data\.md"):
        read(tmp_path / "strange")


def test_an_archive_whose_images_end_early_is_refused(tmp_path):
    labels = np.arange(62, dtype=np.uint8)
    (tmp_path / "a.zip").write_bytes(as_zip(np.zeros((61, 28, 28), np.uint8), labels))
    with pytest.raises(InputError, match=r"a\.zip is not a zip archive"):
        characters_from_zip(tmp_path / "a.zip")


def test_a_matlab_file_with_other_things_in_it_is_refused(tmp_path):
    savemat(tmp_path / "other.mat", {"Z": np.zeros((2, 2))})
    with pytest.raises(InputError, match=r"other\.mat is not a MATLAB file with X, Y and classnames"):
        outlines_from_mat(tmp_path / "other.mat")
