"""Whether sets are the same as before, without reading them."""

import numpy as np

from undistract.sets import FeatureSet
from undistract.sets.identity import contents_of, named_paths


def test_a_folder_is_another_when_one_of_its_files_is(tmp_path):
    (tmp_path / "1.png").write_bytes(b"calm")
    one = FeatureSet("day", [[1.0]], source=str(tmp_path))
    before = contents_of([one])
    assert np.array_equal(contents_of([one]), before)
    (tmp_path / "1.png").write_bytes(b"loud!")
    assert not np.array_equal(contents_of([one]), before)


def test_a_link_that_leads_nowhere_is_a_file_like_any_other(tmp_path):
    # It was a FileNotFoundError, though no reader of the folder minds it.
    one = FeatureSet("day", [[1.0]], source=str(tmp_path))
    before = contents_of([one])
    (tmp_path / "2.png").symlink_to(tmp_path / "gone.png")
    assert not np.array_equal(contents_of([one]), before)


def test_sets_that_lie_in_more_files_than_a_name_has_room_for_can_be_told_apart(tmp_path):
    # Their paths in a row are longer than a name may be: a checkpoint ended with "File name too long".
    paths = [tmp_path / f"{'day' * 20}-{number}.csv" for number in range(100)]
    for path in paths:
        path.write_text("1")
    source = ", ".join(map(str, paths))
    assert named_paths(source) == paths
    assert named_paths(source + ", gone.csv") == []
    assert len(contents_of([FeatureSet("a", [[1.0]], source=source)])) == 1
