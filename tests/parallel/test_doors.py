"""The doors: learning and scoring with a cluster gives what they give without one."""

import numpy as np
import pytest

from tests.cli.shell import run, write_day, write_days
from undistract import FeatureSet, Focus, InputError, learn, load, score
from undistract.detect.sample import samples_for

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'undistract[dask]'")
pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")
da = pytest.importorskip("dask.array")

from tests.parallel.making import rows_of  # noqa: E402
from undistract.detect import FocusDetector, NearestDetector  # noqa: E402
from undistract.errors import ClusterError  # noqa: E402
from undistract.parallel import anomaly_score, gather_noting, opened_cluster, runner, transform  # noqa: E402


def same(one, other):
    """Two models hold the same: known rows to the bit, what was summed up in another order to ten digits."""
    assert len(one.watch.known_) == len(other.watch.known_)
    for here, there in zip(one.watch.known_, other.watch.known_, strict=True):
        assert here.tobytes() == there.tobytes()
    assert one.focus.moments_.names == other.focus.moments_.names
    assert one.focus.distraction_ == pytest.approx(other.focus.distraction_, rel=1e-10, abs=1e-12)
    assert one.focus.n_removed_ == other.focus.n_removed_
    assert one.threshold.value == pytest.approx(other.threshold.value, rel=1e-10)
    assert one.plain_threshold.value == other.plain_threshold.value


def test_the_command_learns_and_scores_the_same_with_many_processes(tmp_path, cluster):
    pytest.importorskip("pyarrow")
    from undistract.workflow import Model, ScoredSets

    write_days(tmp_path / "calm", range(1, 13))
    write_day(tmp_path / "today.csv", 99, event=77)
    for name, more in {"alone": (), "many": ("--cluster", "local:2")}.items():
        save = ("--save", tmp_path / f"{name}.focus")
        told = run("learn", tmp_path / "calm", "--time", "when", "--cutoff", "0.9", *save, *more)
        assert told.exit_code == 0, told.output
    same(*(Model.load(tmp_path / f"{name}.focus") for name in ("alone", "many")))
    for name, more in {"alone": (), "many": ("--cluster", cluster.scheduler.address)}.items():
        save = ("--save", tmp_path / f"{name}.scores")
        told = run("score", tmp_path / "today.csv", "--with", tmp_path / "alone.focus", *save, *more)
        assert told.exit_code == 0, told.output
    (one,), (other,) = (ScoredSets.load(tmp_path / f"{name}.scores") for name in ("alone", "many"))
    assert other.after.values.tobytes() == one.after.values.tobytes()
    assert other.after.times.tolist() == one.after.times.tolist()
    assert other.ignored == pytest.approx(one.ignored)
    assert load(tmp_path / "many.focus")["reading"] == {"time": "when"}


def test_a_cluster_that_is_not_there_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("undistract.parallel.clusters.PATIENCE", 1)
    np.save(tmp_path / "a.npy", rows_of(1))
    told = run("learn", tmp_path / "a.npy", "--save", tmp_path / "x.focus", "--cluster", "tcp://127.0.0.1:9")
    assert told.exit_code == 1
    assert "Error: There is no scheduler at tcp://127.0.0.1:9" in told.output
    assert not (tmp_path / "x.focus").exists()


def days(n_days=9, n_rows=120):
    return [FeatureSet(f"day {number}", rows_of(number, n_rows)) for number in range(n_days)]


def test_learning_with_a_client_is_learning_without(cluster, small_leaves):
    """Rows in memory are sampled here while they are sent, those of readers where they are read."""
    sets = days()
    sets[4] = FeatureSet.reading("day 4", lambda: iter(np.split(rows_of(4), 3)))
    for settings in ({"prior": "by_size"}, {"prior": {one.name: 1.0 + n for n, one in enumerate(sets)}}):
        focus = Focus(cutoff=0.9, **settings)
        same(learn(sets, focus=focus, n_known=300), learn(sets, focus=focus, n_known=300, cluster=cluster))


def test_sums_without_rows_come_from_a_cluster_too(cluster):
    one, other = learn(days(), keep_rows=False), learn(days(), keep_rows=False, cluster=cluster)
    assert other.focus.moments_.within == pytest.approx(one.focus.moments_.within, rel=1e-10)
    assert type(other.focus.moments_.store).__name__ == "Folded"


def test_scores_come_in_the_order_of_the_sets_and_bad_sets_are_told(cluster):
    model = learn(days())
    one, other = score(days(5), model), score(days(5), model, cluster=cluster)
    for here, there in zip(one, other, strict=True):
        assert there.after.name == here.after.name
        assert there.after.values.tobytes() == here.after.values.tobytes()
    with pytest.raises(InputError, match="Set 'odd' has 2 features"):
        score([FeatureSet("odd", [[1.0, 2.0]])], model, cluster=cluster)


def test_too_few_known_rows_are_refused_before_any_work(cluster):
    with pytest.raises(InputError, match="n_known is 3 for 9 sets"):
        learn(days(), n_known=3, cluster=cluster)


def test_what_is_noted_does_not_depend_on_who_reads(cluster, small_leaves):
    watch = samples_for(4, 40)
    here = gather_noting(days(4), runner(None), watch=watch)
    readers = [FeatureSet.reading(one.name, lambda one=one: one.chunks(17)) for one in days(4)]
    there = gather_noting(readers, runner(cluster), watch=watch)
    assert [rows.tobytes() for rows in there.noted] == [rows.tobytes() for rows in here.noted]
    assert [len(rows) for rows in here.noted] == [10] * 4


@pytest.mark.parametrize("where", ["local:0", "local:", "local:two"])
def test_a_number_of_processes_is_a_number(where):
    with pytest.raises(InputError, match="expected a number of processes"), opened_cluster(where):
        pass


def test_an_address_that_makes_no_sense_is_told(monkeypatch):
    monkeypatch.setattr("undistract.parallel.clusters.PATIENCE", 1)
    with pytest.raises(ClusterError, match="no scheduler at nowhere"), opened_cluster("nowhere:99999999"):
        pass


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dask_arrays_are_transformed_block_by_block(cluster, dtype):
    focus = Focus(n_remove=2).fit_sets(days())
    rows = np.concatenate([one.rows for one in days(3)]).astype(dtype)
    lazy = transform(da.from_array(rows, chunks=(100, 4)), focus)
    assert lazy.dtype == dtype
    assert lazy._meta.dtype == dtype
    assert lazy.shape == (360, 4)
    assert lazy.chunks == ((100, 100, 100, 60), (4,))
    for scheduler in ("synchronous", cluster):
        found = lazy.compute(scheduler=scheduler)
        assert found.dtype == dtype
        assert found == pytest.approx(focus.transform(rows), rel=1e-5, abs=1e-5)


def test_dask_arrays_are_scored_block_by_block(cluster):
    watch = FocusDetector(Focus(n_remove=1), NearestDetector()).fit_sets(days())
    rows = rows_of(77, 250)
    scores = anomaly_score(da.from_array(rows, chunks=(100, 3)), watch)
    assert scores.chunks == ((100, 100, 50),)
    assert scores._meta.shape == (0,)
    assert scores.compute(scheduler=cluster) == pytest.approx(watch.anomaly_score(rows), rel=1e-12)
    assert float(scores.max().compute(scheduler="synchronous")) == pytest.approx(watch.anomaly_score(rows).max())


def test_scores_are_made_when_they_are_asked_for(tmp_path):
    lazy = transform(da.from_delayed(dask.delayed(_boom)(), (10, 6), float), Focus().fit_sets(days()))
    assert lazy.shape[0] == 10
    with pytest.raises(RuntimeError, match="asked for"):
        lazy.compute(scheduler="synchronous")


def _boom():
    raise RuntimeError("asked for")


def test_what_cannot_be_scored_in_blocks_is_refused():
    adapting = FocusDetector(Focus(), NearestDetector(), adapt=True).fit_sets(days())
    with pytest.raises(InputError, match="all of a set at once"):
        anomaly_score(da.zeros((10, 6)), adapting)
    with pytest.raises(InputError, match="expected a Dask array"):
        transform(np.zeros((3, 6)), adapting.focus_)
    with pytest.raises(InputError, match="X has 5 features"):
        transform(da.zeros((10, 5)), adapting.focus_)
