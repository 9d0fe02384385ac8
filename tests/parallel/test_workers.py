"""Worker processes: same bits for any number of workers and after kills; errors name the remedy."""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from tests.laws.strategies import relative
from undistract import InputError, Moments, Source

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'undistract[dask]'")
distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")
da = pytest.importorskip("dask.array")

from tests.parallel import making  # noqa: E402
from tests.parallel.making import bits, named_rows, rows_of  # noqa: E402
from undistract.errors import ClusterError  # noqa: E402
from undistract.parallel import gather, gather_parquet, open_cluster, runner  # noqa: E402


@pytest.fixture(autouse=True)
def _workers_know_this_folder(cluster, monkeypatch):
    """Make the test modules importable on the workers."""
    root = str(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    cluster.run(_add_path, root)


def _add_path(root):
    import sys

    if root not in sys.path:
        sys.path.insert(0, root)


def lazy_groups(n_groups, n_rows=120):
    make = dask.delayed(making.rows_of, pure=True)
    return [(f"set {number}", make(number, n_rows + 7 * number)) for number in range(n_groups)]


def test_bits_do_not_depend_on_the_number_of_workers(cluster, small_leaves):
    groups = {**named_rows(8, 60), "long": rows_of(99, 400)}
    expected = bits(gather(groups, split_every=3))
    assert bits(gather(groups, cluster, split_every=3)) == expected
    for n_workers in (1, 3):
        with open_cluster(f"local:{n_workers}") as client:
            assert len(client.nthreads()) == n_workers
            assert bits(gather(groups, client, split_every=3)) == expected


def test_folded_sums_have_the_same_bits(cluster):
    X, labels = np.concatenate([rows_of(n, 4000, 6) for n in range(60)]), np.repeat(np.arange(60), 4000)
    X = np.hstack([X, X**2])  # more values than are kept as rows
    lazy = da.from_array(X, chunks=(5000, 12))
    expected, actual = gather((lazy, labels)), gather((lazy, labels), cluster)
    assert type(expected.store).__name__ == "MatrixStore"
    assert bits(actual) == bits(expected)
    assert relative(expected.within, Moments.from_labels(X, labels).within) < 1e-12


def test_default_client_is_used(cluster):
    groups = lazy_groups(3)
    with cluster.as_current():
        pids = gather([*groups, ("who", dask.delayed(_pid_row)())])
    assert int(pids.group("who").mean[0]) != os.getpid()


def _pid_row():
    return np.array([[os.getpid(), 0, 0, 0, 0, 0.0]])


def test_killed_workers_change_nothing(cluster, small_leaves, tmp_path):
    groups = lazy_groups(24)
    expected = bits(gather(groups, split_every=4))
    dying = dask.delayed(making.dying, pure=False)
    for number in (1, 11, 22):
        groups[number] = (groups[number][0], dying(str(tmp_path / f"dead{number}"), number, 120 + 7 * number))
    assert bits(gather(groups, cluster, split_every=4)) == expected
    assert len(list(tmp_path.glob("dead*"))) == 3


def test_worker_killed_from_outside_changes_nothing(cluster, small_leaves):
    groups = named_rows(40)
    expected = bits(gather(groups, split_every=4))
    victims = list(cluster.run(os.getpid).values())

    def killing():
        """Groups are requested while earlier ones are being summed."""
        for number, item in enumerate(groups.items()):
            if number == 20:
                os.kill(victims[0], signal.SIGKILL)
            yield item

    assert bits(gather(killing(), cluster, split_every=4)) == expected


def test_transient_failure_is_retried(cluster, tmp_path):
    groups = [*lazy_groups(2), ("late", dask.delayed(making.failing)(str(tmp_path / "tries"), 2, 7))]
    assert gather(groups, cluster).names == ("set 0", "set 1", "late")


def test_permanent_failure_raises(cluster, tmp_path):
    groups = [*lazy_groups(2), ("late", dask.delayed(making.failing)(str(tmp_path / "tries"), 99, 7))]
    with pytest.raises(ClusterError, match=r"set 0' to 'late' failed 2 times.*OSError: the network drive is asleep"):
        gather(groups, cluster, retries=1)


def test_invalid_rows_raise_input_error_without_retry(cluster, tmp_path):
    groups = [*lazy_groups(2), ("odd", dask.delayed(_counted_nan, pure=False)(str(tmp_path / "tries")))]
    with pytest.raises(InputError, match="'odd' holds nan at row 1, feature 0") as caught:
        gather(groups, cluster)
    assert type(caught.value) is InputError
    assert (tmp_path / "tries").read_text() == "x"


def _counted_nan(marker):
    with open(marker, "a") as file:
        file.write("x")
    return np.array([[1.0] * 6, [np.nan] * 6])


def all_cancelled(client, before):
    """Return True if all tasks submitted since `before` are cancelled; a caught error may keep their futures."""
    return all(future.status == "cancelled" for key, future in list(client.futures.items()) if key not in before)


def test_timeout_raises_and_cancels(cluster):
    before = set(cluster.futures)
    with pytest.raises(ClusterError, match=r"set 0' to 'slow' within 0.5 seconds; the cluster has \d worker"):
        gather([*lazy_groups(2), ("slow", dask.delayed(making.sleeping)(4))], cluster, timeout=0.5)
    until(lambda: all_cancelled(cluster, before), seconds=1)


def test_interrupted_run_cancels_its_tasks(cluster, small_leaves):
    before = set(cluster.futures)

    def interrupted():
        yield from lazy_groups(12)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gather(interrupted(), cluster, split_every=2)
    until(lambda: not [key for keys in cluster.processing().values() for key in keys])
    until(lambda: all_cancelled(cluster, before), seconds=1)


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def separate_scheduler(folder):
    """Start a scheduler and a worker as processes that can be killed."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    command += ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    with (folder / "log").open("w") as log:
        scheduler = subprocess.Popen(command, stderr=log, env=environment)
        try:
            until(lambda: re.search(r"tcp://127\.0\.0\.1:\d+", (folder / "log").read_text()))
            address = re.search(r"tcp://127\.0\.0\.1:\d+", (folder / "log").read_text())[0]
            work = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
            worker = subprocess.Popen([*work, "--no-dashboard"], stderr=log, env=environment)
            try:
                yield address, scheduler.pid
            finally:
                worker.kill()
                worker.wait()
        finally:
            with suppress(ProcessLookupError):
                scheduler.kill()
            scheduler.wait()


def test_dead_scheduler_raises_quickly_and_next_run_resumes(tmp_path, small_leaves, cluster):
    folder = tmp_path / "kept"
    groups = lazy_groups(12)
    with separate_scheduler(tmp_path) as (address, pid), open_cluster(address) as client:
        until(lambda: client.nthreads())
        killing = dask.delayed(making.killing, pure=False)(pid, str(tmp_path / "when"), 9, 120 + 7 * 9)
        with pytest.raises(ClusterError, match=r"scheduler at tcp://127.0.0.1:\d+ is gone.*checkpoint=") as caught:
            gather([*groups[:9], ("set 9", killing), *groups[10:]], client, split_every=2, checkpoint=folder)
        assert time.time() - float((tmp_path / "when").read_text()) < 5
        assert not isinstance(caught.value.__cause__, InputError)
    n_kept = len(list(folder.iterdir()))
    assert n_kept >= 1
    assert bits(gather(groups, cluster, split_every=2, checkpoint=folder)) == bits(gather(groups, split_every=2))
    assert len(list(folder.iterdir())) > n_kept


def test_missing_scheduler_raises(cluster, monkeypatch):
    monkeypatch.setattr("undistract.parallel.runners.CONNECT_SECONDS", 1)
    with (
        pytest.raises(ClusterError, match=r"no scheduler at tcp://127.0.0.1:9.*dask scheduler"),
        open_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_large_file_is_split_and_read_by_workers(cluster, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "large.npy", rng.normal(size=(300_000, 8)))
    np.save(tmp_path / "small.npy", rng.normal(size=(300, 8)))
    moments = gather([str(tmp_path)], cluster)
    assert moments.counts.tolist() == [300_000, 300]
    assert bits(moments) == bits(gather([str(tmp_path)]))


def test_tables_are_read_by_workers(cluster, tmp_path, small_leaves):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for number in range(3):
        table = pandas.DataFrame(rows_of(number, 300), columns=list("abcdef"))
        table["machine"] = np.random.default_rng(number).choice(["x", "y", "z"], size=300)
        table.to_parquet(tmp_path / f"{number}.parquet", row_group_size=40)
    assert bits(gather_parquet(tmp_path, "machine", cluster)) == bits(gather_parquet(tmp_path, "machine"))


def test_unpicklable_groups_are_read_locally(cluster, tmp_path, small_leaves):
    pytest.importorskip("pyarrow")
    from undistract import ReadOptions
    from undistract.sources import discover_sources

    lines = [f"{'ab'[n % 2]},{x:.6f},{y:.6f}" for n, (x, y) in enumerate(rows_of(5, 300)[:, :2])]
    (tmp_path / "all.csv").write_text("\n".join(["machine,load,heat", *lines]))
    groups = discover_sources(tmp_path / "all.csv", ReadOptions(group="machine"))
    moments = gather(groups, cluster)
    assert relative(moments.within, Moments.of(groups).within) < 1e-12
    assert moments.names == ("a", "b")


def test_group_with_lambda_is_picklable(cluster):
    groups = [Source.from_reader(n, lambda n=n: iter([rows_of(n), rows_of(n + 1)])) for n in range(3)]
    assert bits(gather(groups, cluster)) == bits(gather(groups))


def test_unpicklable_group_logs_no_traceback(cluster):
    # Regression: every group of a table with --group logged a page of tracebacks although nothing was wrong.
    def read():
        with lock:
            yield np.ones((2, 2))

    lock = threading.Lock()
    records = []
    logger = logging.getLogger("distributed.protocol.pickle")
    listener = logging.Handler()
    listener.emit = records.append
    logger.addHandler(listener)
    try:
        assert not runner(cluster).is_picklable(Source.from_reader("mon", read))
    finally:
        logger.removeHandler(listener)
    assert records == []
