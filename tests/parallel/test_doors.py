"""Learning and scoring with a cluster gives the same results as without one."""

import numpy as np
import pytest

from tests.cli.shell import run, write_day, write_days
from undistract import Focus, InputError, Source, learn, load, score
from undistract.detect.reservoir import make_samplers

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'undistract[dask]'")
pytest.importorskip("distributed", reason="needs Dask: pip install 'undistract[dask]'")
da = pytest.importorskip("dask.array")

from tests.parallel.making import rows_of  # noqa: E402
from undistract.detect import FocusDetector, NearestDetector  # noqa: E402
from undistract.errors import ClusterError  # noqa: E402
from undistract.parallel import anomaly_score, gather_with_samples, open_cluster, runner, transform  # noqa: E402


def same(expected, other):
    """Check that two models agree: known rows bit by bit, sums in another order to ten digits."""
    assert len(expected.detector.known_) == len(other.detector.known_)
    for expected_item, item in zip(expected.detector.known_, other.detector.known_, strict=True):
        assert expected_item.tobytes() == item.tobytes()
    assert expected.focus.moments_.names == other.focus.moments_.names
    assert expected.focus.distraction_ == pytest.approx(other.focus.distraction_, rel=1e-10, abs=1e-12)
    assert expected.focus.n_removed_ == other.focus.n_removed_
    assert expected.threshold.value == pytest.approx(other.threshold.value, rel=1e-10)
    assert expected.baseline_threshold.value == other.baseline_threshold.value


def test_commands_give_same_results_with_many_processes(tmp_path, cluster):
    pytest.importorskip("pyarrow")
    from undistract.pipeline import Model, ScoreResult

    write_days(tmp_path / "calm", range(1, 13))
    write_day(tmp_path / "today.csv", 99, event=77)
    for name, more in {"alone": (), "many": ("--cluster", "local:2")}.items():
        save = ("--save", tmp_path / f"{name}.focus")
        result = run("learn", tmp_path / "calm", "--time", "when", "--cutoff", "0.9", *save, *more)
        assert result.exit_code == 0, result.output
    same(*(Model.load(tmp_path / f"{name}.focus") for name in ("alone", "many")))
    for name, more in {"alone": (), "many": ("--cluster", cluster.scheduler.address)}.items():
        save = ("--save", tmp_path / f"{name}.scores")
        result = run("score", tmp_path / "today.csv", "--with", tmp_path / "alone.focus", *save, *more)
        assert result.exit_code == 0, result.output
    (expected,), (other,) = (ScoreResult.load(tmp_path / f"{name}.scores") for name in ("alone", "many"))
    assert other.after.values.tobytes() == expected.after.values.tobytes()
    assert other.after.times.tolist() == expected.after.times.tolist()
    assert other.ignored == pytest.approx(expected.ignored)
    assert load(tmp_path / "many.focus")["reading"] == {"time": "when"}


def test_missing_cluster_is_a_one_line_error(tmp_path, monkeypatch):
    monkeypatch.setattr("undistract.parallel.runners.CONNECT_SECONDS", 1)
    np.save(tmp_path / "a.npy", rows_of(1))
    result = run("learn", tmp_path / "a.npy", "--save", tmp_path / "x.focus", "--cluster", "tcp://127.0.0.1:9")
    assert result.exit_code == 1
    assert "Error: There is no scheduler at tcp://127.0.0.1:9" in result.output
    assert not (tmp_path / "x.focus").exists()


def days(n_days=9, n_rows=120):
    return [Source(f"day {number}", rows_of(number, n_rows)) for number in range(n_days)]


def test_learn_with_client_equals_learn_without(cluster, small_leaves):
    """Rows in memory are sampled while they are sent, rows of readers on the worker."""
    groups = days()
    groups[4] = Source.from_reader("day 4", lambda: iter(np.split(rows_of(4), 3)))
    for settings in ({"prior": "by_size"}, {"prior": {day.name: 1.0 + n for n, day in enumerate(groups)}}):
        focus = Focus(cutoff=0.9, **settings)
        same(learn(groups, focus=focus, n_known=300), learn(groups, focus=focus, n_known=300, cluster=cluster))


def test_keep_rows_false_works_on_a_cluster(cluster):
    expected, other = learn(days(), keep_rows=False), learn(days(), keep_rows=False, cluster=cluster)
    assert other.focus.moments_.within == pytest.approx(expected.focus.moments_.within, rel=1e-10)
    assert type(other.focus.moments_.store).__name__ == "MatrixStore"


def test_scores_are_in_order_and_invalid_groups_are_named(cluster):
    model = learn(days())
    expected, other = score(days(5), model), score(days(5), model, cluster=cluster)
    for expected_item, item in zip(expected, other, strict=True):
        assert item.after.name == expected_item.after.name
        assert item.after.values.tobytes() == expected_item.after.values.tobytes()
    with pytest.raises(InputError, match="'odd' has 2 features"):
        score([Source("odd", [[1.0, 2.0]])], model, cluster=cluster)


def test_too_few_known_rows_are_rejected_early(cluster):
    with pytest.raises(InputError, match="got 3 for 9 sources"):
        learn(days(), n_known=3, cluster=cluster)


def test_samples_do_not_depend_on_the_reader(cluster, small_leaves):
    watch = make_samplers(4, 40)
    expected_item = gather_with_samples(days(4), runner(None), watch=watch)
    readers = [Source.from_reader(day.name, lambda day=day: day.chunks(17)) for day in days(4)]
    item = gather_with_samples(readers, runner(cluster), watch=watch)
    assert [rows.tobytes() for rows in item.samples] == [rows.tobytes() for rows in expected_item.samples]
    assert [len(rows) for rows in expected_item.samples] == [10] * 4


@pytest.mark.parametrize("where", ["local:0", "local:", "local:two"])
def test_invalid_number_of_processes(where):
    with pytest.raises(InputError, match="expected a number of processes"), open_cluster(where):
        pass


def test_invalid_address_raises(monkeypatch):
    monkeypatch.setattr("undistract.parallel.runners.CONNECT_SECONDS", 1)
    with pytest.raises(ClusterError, match="no scheduler at nowhere"), open_cluster("nowhere:99999999"):
        pass


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dask_arrays_are_transformed_block_by_block(cluster, dtype):
    focus = Focus(n_remove=2).fit_groups(days())
    rows = np.concatenate([day.rows for day in days(3)]).astype(dtype)
    lazy = transform(da.from_array(rows, chunks=(100, 4)), focus)
    assert lazy.dtype == dtype
    assert lazy._meta.dtype == dtype
    assert lazy.shape == (360, 4)
    assert lazy.chunks == ((100, 100, 100, 60), (4,))
    for scheduler in ("synchronous", cluster):
        computed = lazy.compute(scheduler=scheduler)
        assert computed.dtype == dtype
        assert computed == pytest.approx(focus.transform(rows), rel=1e-5, abs=1e-5)


def test_dask_arrays_are_scored_block_by_block(cluster):
    watch = FocusDetector(Focus(n_remove=1), NearestDetector()).fit_groups(days())
    rows = rows_of(77, 250)
    scores = anomaly_score(da.from_array(rows, chunks=(100, 3)), watch)
    assert scores.chunks == ((100, 100, 50),)
    assert scores._meta.shape == (0,)
    assert scores.compute(scheduler=cluster) == pytest.approx(watch.anomaly_score(rows), rel=1e-12)
    assert float(scores.max().compute(scheduler="synchronous")) == pytest.approx(watch.anomaly_score(rows).max())


def test_transform_is_lazy(tmp_path):
    lazy = transform(da.from_delayed(dask.delayed(_boom)(), (10, 6), float), Focus().fit_groups(days()))
    assert lazy.shape[0] == 10
    with pytest.raises(RuntimeError, match="computed"):
        lazy.compute(scheduler="synchronous")


def _boom():
    raise RuntimeError("computed")


def test_invalid_block_scoring_raises():
    adapting = FocusDetector(Focus(), NearestDetector(), adapt=True).fit_groups(days())
    with pytest.raises(InputError, match="all rows of a group at once"):
        anomaly_score(da.zeros((10, 6)), adapting)
    with pytest.raises(InputError, match="expected a Dask array"):
        transform(np.zeros((3, 6)), adapting.focus_)
    with pytest.raises(InputError, match="X has 5 features"):
        transform(da.zeros((10, 5)), adapting.focus_)
