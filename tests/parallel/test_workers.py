"""Real worker processes: the same bits however many there are and whichever die; errors that say what to do."""

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
from undistract import FeatureSet, InputError, Moments

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'undistract[dask]'")
distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")
da = pytest.importorskip("dask.array")

from tests.parallel import making  # noqa: E402
from tests.parallel.making import bits, named_rows, rows_of  # noqa: E402
from undistract.errors import ClusterError  # noqa: E402
from undistract.parallel import gather, gather_parquet, opened_cluster, runner  # noqa: E402


@pytest.fixture(autouse=True)
def _workers_know_this_folder(cluster, monkeypatch):
    """Functions of tests are found by the workers, as those of a package would be."""
    root = str(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    cluster.run(_add_path, root)


def _add_path(root):
    import sys

    if root not in sys.path:
        sys.path.insert(0, root)


def lazy_sets(n_sets, n_rows=120):
    make = dask.delayed(making.rows_of, pure=True)
    return [(f"set {number}", make(number, n_rows + 7 * number)) for number in range(n_sets)]


def test_the_bits_do_not_depend_on_the_number_of_workers(cluster, small_leaves):
    sets = {**named_rows(8, 60), "long": rows_of(99, 400)}
    here = bits(gather(sets, split_every=3))
    assert bits(gather(sets, cluster, split_every=3)) == here
    for n_workers in (1, 3):
        with opened_cluster(f"local:{n_workers}") as client:
            assert len(client.nthreads()) == n_workers
            assert bits(gather(sets, client, split_every=3)) == here


def test_folded_sums_have_the_same_bits_too(cluster):
    X, labels = np.concatenate([rows_of(n, 4000, 6) for n in range(60)]), np.repeat(np.arange(60), 4000)
    X = np.hstack([X, X**2])  # more values than are kept as rows
    lazy = da.from_array(X, chunks=(5000, 12))
    here, there = gather((lazy, labels)), gather((lazy, labels), cluster)
    assert type(here.store).__name__ == "Folded"
    assert bits(there) == bits(here)
    assert relative(here.within, Moments.of_labelled(X, labels).within) < 1e-12


def test_a_default_client_is_found(cluster):
    sets = lazy_sets(3)
    with cluster.as_current():
        pids = gather([*sets, ("who", dask.delayed(_pid_row)())])
    assert int(pids.piece("who").mean[0]) != os.getpid()


def _pid_row():
    return np.array([[os.getpid(), 0, 0, 0, 0, 0.0]])


def test_killed_workers_change_nothing(cluster, small_leaves, tmp_path):
    sets = lazy_sets(24)
    expected = bits(gather(sets, split_every=4))
    dying = dask.delayed(making.dying, pure=False)
    for number in (1, 11, 22):
        sets[number] = (sets[number][0], dying(str(tmp_path / f"dead{number}"), number, 120 + 7 * number))
    assert bits(gather(sets, cluster, split_every=4)) == expected
    assert len(list(tmp_path.glob("dead*"))) == 3


def test_a_worker_killed_from_outside_changes_nothing(cluster, small_leaves):
    sets = named_rows(40)
    expected = bits(gather(sets, split_every=4))
    victims = list(cluster.run(os.getpid).values())

    def killing():
        """The sets are asked for while earlier ones are being summed up."""
        for number, item in enumerate(sets.items()):
            if number == 20:
                os.kill(victims[0], signal.SIGKILL)
            yield item

    assert bits(gather(killing(), cluster, split_every=4)) == expected


def test_a_failure_that_passes_is_tried_again(cluster, tmp_path):
    sets = [*lazy_sets(2), ("late", dask.delayed(making.failing)(str(tmp_path / "tries"), 2, 7))]
    assert gather(sets, cluster).names == ("set 0", "set 1", "late")


def test_a_failure_that_stays_is_told(cluster, tmp_path):
    sets = [*lazy_sets(2), ("late", dask.delayed(making.failing)(str(tmp_path / "tries"), 99, 7))]
    with pytest.raises(ClusterError, match=r"set 0' to 'late' failed 2 times.*OSError: the network drive is asleep"):
        gather(sets, cluster, retries=1)


def test_bad_rows_come_back_as_the_error_that_names_their_set_and_are_tried_once(cluster, tmp_path):
    sets = [*lazy_sets(2), ("odd", dask.delayed(_counted_nan, pure=False)(str(tmp_path / "tries")))]
    with pytest.raises(InputError, match="Set 'odd' holds nan at row 1, feature 0") as caught:
        gather(sets, cluster)
    assert type(caught.value) is InputError
    assert (tmp_path / "tries").read_text() == "x"


def _counted_nan(marker):
    with open(marker, "a") as file:
        file.write("x")
    return np.array([[1.0] * 6, [np.nan] * 6])


def all_cancelled(client, before):
    """Tell whether nobody waits any more for the tasks that came since; a caught error may hold their futures."""
    return all(one.status == "cancelled" for key, one in list(client.futures.items()) if key not in before)


def test_what_takes_too_long_is_told_and_cancelled(cluster):
    before = set(cluster.futures)
    with pytest.raises(ClusterError, match=r"set 0' to 'slow' in 0.5 seconds; the cluster has \d worker"):
        gather([*lazy_sets(2), ("slow", dask.delayed(making.sleeping)(4))], cluster, timeout=0.5)
    until(lambda: all_cancelled(cluster, before), seconds=1)


def test_an_interrupted_run_leaves_nothing_behind(cluster, small_leaves):
    before = set(cluster.futures)

    def interrupted():
        yield from lazy_sets(12)
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
def scheduler_of_its_own(folder):
    """A scheduler and a worker, each a process that can be killed."""
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


def test_a_dead_scheduler_is_told_at_once_and_the_next_run_goes_on(tmp_path, small_leaves, cluster):
    kept = tmp_path / "kept"
    sets = lazy_sets(12)
    with scheduler_of_its_own(tmp_path) as (address, pid), opened_cluster(address) as client:
        until(lambda: client.nthreads())
        killing = dask.delayed(making.killing, pure=False)(pid, str(tmp_path / "when"), 9, 120 + 7 * 9)
        with pytest.raises(ClusterError, match=r"scheduler at tcp://127.0.0.1:\d+ is gone.*checkpoint=") as caught:
            gather([*sets[:9], ("set 9", killing), *sets[10:]], client, split_every=2, checkpoint=kept)
        assert time.time() - float((tmp_path / "when").read_text()) < 5
        assert not isinstance(caught.value.__cause__, InputError)
    n_kept = len(list(kept.iterdir()))
    assert n_kept >= 1
    assert bits(gather(sets, cluster, split_every=2, checkpoint=kept)) == bits(gather(sets, split_every=2))
    assert len(list(kept.iterdir())) > n_kept


def test_no_scheduler_is_told(cluster, monkeypatch):
    monkeypatch.setattr("undistract.parallel.clusters.PATIENCE", 1)
    with (
        pytest.raises(ClusterError, match=r"no scheduler at tcp://127.0.0.1:9.*dask scheduler"),
        opened_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_large_file_is_cut_and_read_by_the_workers(cluster, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "large.npy", rng.normal(size=(300_000, 8)))
    np.save(tmp_path / "small.npy", rng.normal(size=(300, 8)))
    moments = gather([str(tmp_path)], cluster)
    assert moments.counts.tolist() == [300_000, 300]
    assert bits(moments) == bits(gather([str(tmp_path)]))


def test_tables_are_read_by_the_workers(cluster, tmp_path, small_leaves):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for number in range(3):
        table = pandas.DataFrame(rows_of(number, 300), columns=list("abcdef"))
        table["machine"] = np.random.default_rng(number).choice(["x", "y", "z"], size=300)
        table.to_parquet(tmp_path / f"{number}.parquet", row_group_size=40)
    assert bits(gather_parquet(tmp_path, "machine", cluster)) == bits(gather_parquet(tmp_path, "machine"))


def test_sets_that_cannot_travel_are_read_here(cluster, tmp_path, small_leaves):
    pytest.importorskip("pyarrow")
    from undistract.sets import find_sets

    lines = [f"{'ab'[n % 2]},{x:.6f},{y:.6f}" for n, (x, y) in enumerate(rows_of(5, 300)[:, :2])]
    (tmp_path / "all.csv").write_text("\n".join(["machine,load,heat", *lines]))
    sets = find_sets(tmp_path / "all.csv", group="machine")
    moments = gather(sets, cluster)
    assert relative(moments.within, Moments.of(sets).within) < 1e-12
    assert moments.names == ("a", "b")


def test_a_set_of_a_lambda_travels(cluster):
    sets = [FeatureSet.reading(n, lambda n=n: iter([rows_of(n), rows_of(n + 1)])) for n in range(3)]
    assert bits(gather(sets, cluster)) == bits(gather(sets))


def test_that_a_set_cannot_travel_is_an_answer_and_no_traceback(cluster):
    # Every set of a table with --group wrote a page of tracebacks to the terminal, though all went well.
    def read():
        with lock:
            yield np.ones((2, 2))

    lock, told = threading.Lock(), []
    logger = logging.getLogger("distributed.protocol.pickle")
    listener = logging.Handler()
    listener.emit = told.append
    logger.addHandler(listener)
    try:
        assert not runner(cluster).travels(FeatureSet.reading("mon", read))
    finally:
        logger.removeHandler(listener)
    assert told == []
