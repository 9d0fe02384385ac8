"""A short run of the worker campaign."""

import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")


def test_killed_workers_do_not_change_the_bits():
    from tests.campaigns.workers import campaign

    counts, complaints = campaign(kills=2, n_workers=2, seed=1, n_files=8)
    assert complaints == []
    assert counts["kills"] >= 2
    assert counts["runs with kills"] >= 1
