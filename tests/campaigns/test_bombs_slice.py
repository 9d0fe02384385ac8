"""Promise 8: bombs are rejected in under a second with at most a hundred megabytes, each in a separate process."""

from pathlib import Path

import pytest

from tests.campaigns.bombs import BOMBS, MEGABYTES, SECONDS, cost_of

pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "undistract[tables]"')
pytest.importorskip("PIL", reason='needs Pillow: pip install "undistract[images]"')
if not Path("/proc/self/clear_refs").exists():
    pytest.skip("needs /proc to measure peak memory", allow_module_level=True)

# Regressions: a batch of a Feather file was decompressed at once, 30 kB to a gigabyte; two million columns took two
# hundred megabytes and, with duplicate names, hours.
FOUND = ["feather, 1000 to one", "parquet, 1000 to one", "csv of two million columns"]
PROMISED = ["npz, 2 MB to 2 GB", "npz, 1000 to one in ten members", "png of 900 megapixels"]
VIDEOS = ["avi with frames of 60 000 x 60 000"]


@pytest.mark.parametrize("name", [*PROMISED, *VIDEOS, *FOUND])
def test_bomb_is_rejected_before_decompression(name, tmp_path):
    if name in VIDEOS:
        pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
    assert name in BOMBS
    cost = cost_of(name, tmp_path)
    assert cost.complaint == "", cost
    assert (cost.seconds, cost.megabytes) < (SECONDS, MEGABYTES)
    assert "bomb." in cost.words
