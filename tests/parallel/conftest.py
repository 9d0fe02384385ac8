from contextlib import contextmanager

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Two worker processes with one thread each, which come back when they are killed."""
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def small_leaves(monkeypatch):
    """Let small data walk the roads of large data: a leaf ends after a few rows."""
    monkeypatch.setattr("undistract.parallel.plan.LEAF_ROWS", 50)
    monkeypatch.setattr("undistract.parallel.plan.LEAF_VALUES", 1)


@contextmanager
def leaves_of(n_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("undistract.parallel.plan.LEAF_ROWS", n_rows)
        patch.setattr("undistract.parallel.plan.LEAF_VALUES", 1)
        yield
