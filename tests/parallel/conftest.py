from contextlib import contextmanager

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Two worker processes with one thread each; Dask restarts them when they are killed."""
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as local_cluster,
        distributed.Client(local_cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def small_leaves(monkeypatch):
    """Make tasks small, so that small data takes the code paths of large data."""
    monkeypatch.setattr("undistract.parallel.tasks.LEAF_ROWS", 50)
    monkeypatch.setattr("undistract.parallel.tasks.LEAF_VALUES", 1)


@contextmanager
def leaves_of(n_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("undistract.parallel.tasks.LEAF_ROWS", n_rows)
        patch.setattr("undistract.parallel.tasks.LEAF_VALUES", 1)
        yield
