"""Changes of sources are detected without reading them."""

import numpy as np

from undistract.sources import Source
from undistract.sources.cache import content_hashes, source_paths


def test_changed_file_changes_its_folder(tmp_path):
    (tmp_path / "1.png").write_bytes(b"calm")
    day = Source("day", [[1.0]], origin=str(tmp_path))
    before = content_hashes([day])
    assert np.array_equal(content_hashes([day]), before)
    (tmp_path / "1.png").write_bytes(b"loud!")
    assert not np.array_equal(content_hashes([day]), before)


def test_dangling_link_is_accepted(tmp_path):
    # Regression: it raised a FileNotFoundError, although readers ignore such links.
    day = Source("day", [[1.0]], origin=str(tmp_path))
    before = content_hashes([day])
    (tmp_path / "2.png").symlink_to(tmp_path / "gone.png")
    assert not np.array_equal(content_hashes([day]), before)


def test_source_with_very_many_files_has_a_fingerprint(tmp_path):
    # Regression: the joined paths are longer than a file name may be, and raised "File name too long".
    paths = [tmp_path / f"{'day' * 20}-{number}.csv" for number in range(100)]
    for path in paths:
        path.write_text("1")
    source = ", ".join(map(str, paths))
    assert source_paths(source) == paths
    assert source_paths(source + ", gone.csv") == []
    assert len(content_hashes([Source("a", [[1.0]], origin=source)])) == 1
