"""Promise 8: bombs are refused in under a second with at most a hundred megabytes, each in a process of its own."""

from pathlib import Path

import pytest

from tests.campaigns.bombs import BOMBS, MEGABYTES, SECONDS, cost_of

pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "undistract[tables]"')
pytest.importorskip("PIL", reason='needs Pillow: pip install "undistract[images]"')
if not Path("/proc/self/clear_refs").exists():
    pytest.skip("the peak of memory is read from /proc", allow_module_level=True)

# A batch of a Feather file was unpacked as a whole, 30 kB to a gigabyte; two million columns took two hundred
# megabytes and, where names came twice, hours.
FOUND = ["feather, 1000 to one", "parquet, 1000 to one", "csv of two million columns"]
PROMISED = ["npz, 2 MB to 2 GB", "npz, 1000 to one in ten members", "png of 900 megapixels"]
VIDEOS = ["avi with frames of 60 000 x 60 000"]


@pytest.mark.parametrize("name", [*PROMISED, *VIDEOS, *FOUND])
def test_a_bomb_is_refused_in_words_before_it_is_unpacked(name, tmp_path):
    if name in VIDEOS:
        pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
    assert name in BOMBS
    cost = cost_of(name, tmp_path)
    assert cost.complaint == "", cost
    assert (cost.seconds, cost.megabytes) < (SECONDS, MEGABYTES)
    assert "bomb." in cost.words
