"""A slice of the campaign that kills workers, so that it stays runnable."""

import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")


def test_sums_have_the_same_bits_whichever_workers_are_killed():
    from tests.campaigns.workers import campaign

    counts, complaints = campaign(kills=2, n_workers=2, seed=1, n_files=8)
    assert complaints == []
    assert counts["kills"] >= 2
    assert counts["runs with kills"] >= 1
