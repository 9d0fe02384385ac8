"""Files of the publishers are converted to upright images."""

import numpy as np
import pytest
from scipy.io import savemat

from undistract import InputError
from undistract.datasets.silhouettes import (
    CHARACTERS,
    SILHOUETTES,
    LabelledImages,
    characters_from_zip,
    outlines_from_mat,
)

from .publisher import as_mat, as_zip, some_outlines


def test_silhouettes_are_upright_with_object_one(tmp_path):
    outlines = some_outlines()
    (tmp_path / "a.mat").write_bytes(as_mat(outlines))
    converted = outlines_from_mat(tmp_path / "a.mat")
    assert np.array_equal(converted.images, outlines.images)
    assert np.array_equal(converted.labels, outlines.labels)
    assert converted.class_names == outlines.class_names
    assert converted.fingerprint() == outlines.fingerprint()


def test_real_silhouettes_survive_round_trip(data, tmp_path):
    real = LabelledImages.load(data / SILHOUETTES.file)
    (tmp_path / "a.mat").write_bytes(as_mat(real))
    assert outlines_from_mat(tmp_path / "a.mat").fingerprint() == real.fingerprint() == SILHOUETTES.fingerprint


def test_underscores_in_names_become_spaces(tmp_path):
    plain = some_outlines()
    scored = LabelledImages(plain.images, plain.labels, [name.replace(" ", "_") for name in plain.class_names])
    (tmp_path / "a.mat").write_bytes(as_mat(scored))
    assert outlines_from_mat(tmp_path / "a.mat").class_names == plain.class_names


def test_first_500_images_of_each_character_are_kept_in_order(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.concatenate([rng.permutation(62), np.full(600, 10)]).astype(np.uint8)  # many an A
    images = rng.integers(0, 256, (len(labels), 28, 28), np.uint8)
    (tmp_path / "a.zip").write_bytes(as_zip(images, labels))
    converted = characters_from_zip(tmp_path / "a.zip")
    assert np.array_equal(converted.images, images[: 62 + 499])
    assert np.array_equal(converted.labels, labels[: 62 + 499])
    assert [converted.name(label) for label in (0, 10, 35, 36, 61)] == ["0", "A", "Z", "a", "z"]


def test_real_characters_survive_round_trip(data, tmp_path):
    real = LabelledImages.load(data / CHARACTERS.file)
    (tmp_path / "a.zip").write_bytes(as_zip(real.images, real.labels))
    converted = characters_from_zip(tmp_path / "a.zip")
    assert converted.fingerprint() == real.fingerprint() == CHARACTERS.fingerprint
    assert converted.class_names == real.class_names


@pytest.mark.parametrize("read", [outlines_from_mat, characters_from_zip])
@pytest.mark.parametrize(
    "content", [b"", b"<html>Moved</html>" * 40, as_mat(some_outlines())[:900], b"PK\x05\x06" + bytes(18)]
)
def test_file_of_another_format_raises_error(read, content, tmp_path):
    (tmp_path / "strange").write_bytes(content)
    with pytest.raises(InputError, match=r"strange is not a .*see docs/data\.md"):
        read(tmp_path / "strange")


def test_truncated_archive_raises_error(tmp_path):
    labels = np.arange(62, dtype=np.uint8)
    (tmp_path / "a.zip").write_bytes(as_zip(np.zeros((61, 28, 28), np.uint8), labels))
    with pytest.raises(InputError, match=r"a\.zip is not a zip archive"):
        characters_from_zip(tmp_path / "a.zip")


def test_matlab_file_with_other_variables_raises_error(tmp_path):
    savemat(tmp_path / "other.mat", {"Z": np.zeros((2, 2))})
    with pytest.raises(InputError, match=r"other\.mat is not a MATLAB file with X, Y and classnames"):
        outlines_from_mat(tmp_path / "other.mat")
