"""Moments gathered in tasks equal those of `Moments.of`, with or without a cluster."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.strategies import exact_moments, hard_groups, law, limits, relative, seeds
from undistract import InputError, Moments, Source, describe_file
from undistract.sources import discover_sources

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'undistract[dask]'")
da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'undistract[dask]'")
bag = pytest.importorskip("dask.bag", reason="needs Dask: pip install 'undistract[dask]'")
parallel = pytest.importorskip("undistract.parallel")

from tests.parallel.conftest import leaves_of  # noqa: E402
from tests.parallel.making import bits, named_rows, rows_of  # noqa: E402

PROMISED = 1e-12


def random_chunks(n_rows, rng):
    cuts = np.unique(rng.integers(0, n_rows + 1, size=3))
    return tuple(np.diff([0, *cuts[(cuts > 0) & (cuts < n_rows)], n_rows]).tolist())


def as_pairs(groups, rng):
    return {"groups": iter(groups.items())}


def as_feature_groups(groups, rng):
    return {"groups": [Source(name, rows) for name, rows in groups.items()]}


def as_readers(groups, rng):
    return {"groups": [Source.from_reader(name, lambda rows=rows: iter([rows])) for name, rows in groups.items()]}


def as_delayed(groups, rng):
    return {"groups": [(name, dask.delayed(rows, pure=False)) for name, rows in groups.items()]}


def as_dask_arrays(groups, rng):
    pairs = ((name, rows, random_chunks(len(rows), rng)) for name, rows in groups.items())
    return {"groups": [(name, da.from_array(rows, chunks=(chunks, (rows.shape[1],)))) for name, rows, chunks in pairs]}


def as_labelled(groups, rng, shuffle=False, lazy=False):
    X, labels = np.concatenate(list(groups.values())), np.repeat(list(groups), [len(rows) for rows in groups.values()])
    order = rng.permutation(len(X)) if shuffle else np.arange(len(X))
    chunks = random_chunks(len(X), rng)
    y = da.from_array(labels[order], chunks=(random_chunks(len(X), rng),)) if lazy else labels[order]
    return {"groups": da.from_array(X[order], chunks=(chunks, (X.shape[1],))), "labels": y}


def as_bag(groups, rng):
    pairs = [(name, chunk) for name, rows in groups.items() for chunk in np.split(rows, [len(rows) // 2]) if len(chunk)]
    return {"groups": bag.from_sequence([pairs[n] for n in rng.permutation(len(pairs))], npartitions=3)}


inputs = {
    "pairs": as_pairs,
    "sources": as_feature_groups,
    "readers": as_readers,
    "delayed": as_delayed,
    "dask arrays": as_dask_arrays,
    "labelled": as_labelled,
    "shuffled labels": lambda groups, rng: as_labelled(groups, rng, shuffle=True),
    "lazy labels": lambda groups, rng: as_labelled(groups, rng, shuffle=True, lazy=True),
    "bag": as_bag,
}
streamed = ("pairs", "sources", "readers", "delayed", "dask arrays")


@pytest.mark.parametrize("input_kind", inputs)
@settings(law, max_examples=settings().max_examples // 4)  # nine inputs
@given(
    hard_groups(),
    st.sampled_from(["uniform", "by_size", "by name", "in order"]),
    st.sampled_from([0, 20, 2**21]),
    st.integers(1, 12),
    st.integers(1, 3),
    seeds,
)
def test_moments_are_exact_for_any_task_size(input_kind, groups, prior, kept_values, leaf, split_every, seed):
    rng = np.random.default_rng(seed)
    counts = np.array([len(rows) for rows in groups.values()], dtype=float)
    weights = {"uniform": np.ones(len(groups)), "by_size": counts}.get(prior, rng.uniform(0.1, 10.0, size=len(groups)))
    given_prior = prior if prior in ("uniform", "by_size") else dict(zip(groups, weights.tolist(), strict=True))
    if prior == "in order" and input_kind in streamed:
        given_prior = weights.tolist()
    with limits(kept_values=kept_values), leaves_of(leaf):
        moments = parallel.gather(**inputs[input_kind](groups, rng), prior=given_prior, split_every=split_every)
        within, between, mean = exact_moments(groups.values(), weights)
        total = within + between
        assert relative(moments.within, within) <= PROMISED
        assert relative(moments.between, between, total) <= PROMISED
        assert (np.abs(moments.mean - mean) <= PROMISED * np.sqrt(np.trace(total)) + 1e-15 * np.abs(mean)).all()
        order = [moments.names.index(name) for name in groups]
        assert moments.shares[order] == pytest.approx(weights / weights.sum())
        assert moments.counts[order].tolist() == counts.tolist()
        if input_kind in streamed:
            assert moments.names == tuple(groups)
        # The other statistics agree as well.
        local = Moments.of(groups, given_prior)
        for actual, expected in zip(
            moments.mean_noise(np.eye(len(mean))), local.mean_noise(np.eye(len(mean))), strict=True
        ):
            assert relative(actual, expected) <= PROMISED
        assert moments.within_variances()[1] == pytest.approx(local.within_variances()[1], rel=1e-9)


def test_wide_rows_are_kept_and_a_group_can_be_removed(small_leaves):
    groups = {number: np.random.default_rng(number).normal(size=(30, 900)) for number in range(6)}
    moments = parallel.gather({**groups, "long": np.random.default_rng(9).normal(size=(120, 900))})
    assert moments.names == (0, 1, 2, 3, 4, 5, "long")
    assert type(moments.store).__name__ == "RowStore"
    without = moments.without("long")
    assert relative(without.within, Moments.of(groups).within) < PROMISED


def test_duplicate_group_name_is_rejected():
    with pytest.raises(InputError, match="Group 'a' is already"):
        parallel.gather([("a", rows_of(1)), ("b", rows_of(2)), ("a", rows_of(3))])


def test_no_groups_raise():
    with pytest.raises(InputError, match="no groups"):
        parallel.gather([])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (rows_of(1), "came as one ndarray"),
        ([("a", rows_of(1)), ("b", [[1, np.nan, 1, 1, 1, 1]])], "'b' holds nan at row 0, feature 1"),
        ([("a", rows_of(1)), ("b", [1.0, 2.0])], r"'b' has shape \(2,\)"),
        ([("a", rows_of(1)), ("b", [[1.0, 2.0]])], "'b' has 2 features, the others have 6"),
        ([("a", rows_of(1)), ("b", np.empty((0, 6)))], "'b' is empty"),
        ([("a", rows_of(1)), Source.from_reader("b", lambda: iter([]))], "'b' has no rows"),
        ([("a", rows_of(1)), "b.npy"], "b.npy is a path among other groups"),
        (["no-such.npy"], "no-such.npy"),
    ],
)
@pytest.mark.parametrize("leaf", [50, 6400])
def test_invalid_groups_are_named(groups, message, leaf):
    with leaves_of(leaf), pytest.raises(InputError, match=message):
        parallel.gather(groups)


def test_invalid_labelled_rows_name_their_group():
    X = rows_of(0, 40)
    X[17, 2] = np.inf
    with pytest.raises(InputError, match=r"'b' holds inf at feature 2, in row 7"):
        parallel.gather((da.from_array(X, chunks=(40, 6)), np.repeat(["a", "b"], [10, 30])))


@pytest.mark.parametrize(
    ("labels", "message"),
    [(np.zeros(7), "7,"), (np.array([0.0] * 39 + [np.nan]), "no group label"), (da.zeros(7, chunks=3), "for 40 rows")],
)
def test_invalid_labels_are_rejected(labels, message):
    with pytest.raises(InputError, match=message):
        parallel.gather(da.from_array(rows_of(0, 40), chunks=(15, 6)), labels=labels)


def test_bag_without_pairs_is_rejected():
    with pytest.raises(InputError, match="expected pairs"):
        parallel.gather(bag.from_sequence([1, 2, 3], npartitions=2))


@pytest.mark.parametrize(
    ("prior", "message"), [([1.0], "more groups"), ([1.0] * 9, "9 weights for 3"), ("big", "prior must be")]
)
def test_invalid_prior_is_rejected(prior, message):
    with pytest.raises(InputError, match=message):
        parallel.gather(named_rows(3), prior=prior)


def write_tables(folder, n_files=3):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(3)
    tables = []
    for number in range(n_files):
        table = pandas.DataFrame(rng.normal(size=(200, 3)) + number, columns=["load", "heat", "fan"])
        table["machine"] = rng.choice(["a", "b", "c", f"only {number}"], size=200)
        table.to_parquet(folder / f"day{number}.parquet", row_group_size=30)
        tables.append(table)
    return pandas.concat(tables)


def test_parquet_folder_is_read_by_row_groups(tmp_path, small_leaves, monkeypatch):
    complete = write_tables(tmp_path)
    moments = parallel.gather_parquet(tmp_path, group="machine", columns=["heat", "load"])
    expected = Moments.from_labels(complete[["heat", "load"]].to_numpy(), complete["machine"].to_numpy())
    assert moments.names == expected.names
    assert relative(moments.total, expected.total) < PROMISED
    assert relative(moments.within, expected.within) < PROMISED


def test_missing_group_column_is_rejected(tmp_path):
    write_tables(tmp_path, 1)
    with pytest.raises(InputError, match="has no column 'robot'"):
        parallel.gather_parquet(tmp_path, group="robot")


def test_missing_value_names_its_group(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"machine": ["a", "b", "b"], "load": [1.0, 2.0, None], "heat": [1.0, 2.0, 3.0]})
    table.to_parquet(tmp_path / "day.parquet")
    with pytest.raises(InputError, match="'b' holds nan at feature 0"):
        parallel.gather_parquet(tmp_path, group="machine")


def write_arrays(folder, n_files=6, **more):
    groups = {f"day{number}.npy": rows_of(number, 40 + 60 * number) for number in range(n_files)}
    for name, rows in groups.items():
        np.save(folder / name, rows)
    return groups


def test_files_are_read_by_tasks_and_large_files_are_split(tmp_path, small_leaves):
    groups = write_arrays(tmp_path)
    moments, expected = parallel.gather([str(tmp_path)]), Moments.of(groups)
    assert moments.names == tuple(groups)
    assert relative(moments.within, expected.within) < PROMISED
    assert relative(moments.between, expected.between) < PROMISED
    assert bits(parallel.gather(tmp_path)) == bits(moments)


def test_small_text_tables_share_a_task(tmp_path):
    pytest.importorskip("pyarrow")
    for number in range(4):
        np.savetxt(tmp_path / f"d{number}.csv", rows_of(number), delimiter=",", header="a,b,c,d,e,f", comments="")
    moments = parallel.gather(discover_sources(tmp_path))
    assert relative(moments.within, Moments.of(discover_sources(tmp_path)).within) < PROMISED


@pytest.fixture
def computed(monkeypatch):
    """Count the tasks that run."""
    from undistract.parallel.tasks import Leaf

    counts = Counter()
    before = Leaf.compute

    def counting(self, *arguments):
        counts["leaves"] += 1
        return before(self, *arguments)

    monkeypatch.setattr(Leaf, "compute", counting)
    return counts


def test_checkpoint_resumes_an_interrupted_run(tmp_path, small_leaves, computed):
    folder = tmp_path / "kept"
    groups = named_rows(12)
    broken = dict(groups)
    broken["set 9"] = np.full((120, 6), np.nan)
    complete = parallel.gather(groups, split_every=2)
    n_leaves = computed.pop("leaves")
    with pytest.raises(InputError, match="set 9"):
        parallel.gather(broken, split_every=2, checkpoint=folder)
    n_before, n_kept = computed.pop("leaves"), len(list(folder.iterdir()))
    assert 3 < n_kept < n_leaves / 2
    assert n_before < n_leaves
    assert bits(parallel.gather(groups, split_every=2, checkpoint=folder)) == bits(complete)
    assert computed.pop("leaves") == n_leaves - 2 * n_kept
    assert bits(parallel.gather(groups, split_every=2, checkpoint=folder)) == bits(complete)
    assert computed["leaves"] == 0


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "another"])
def test_damaged_checkpoint_is_recomputed(tmp_path, small_leaves, computed, damage):
    groups = named_rows(6)
    complete = parallel.gather(groups, split_every=2, checkpoint=tmp_path)
    computed.clear()
    damaged, other, *_ = sorted(tmp_path.iterdir())
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    contents = {"cut": content[:-100], "flipped": content, "empty": b"", "another": other.read_bytes()}
    damaged.write_bytes(contents[damage])
    assert bits(parallel.gather(groups, split_every=2, checkpoint=tmp_path)) == bits(complete)
    assert computed["leaves"] == 2
    computed.clear()
    parallel.gather(groups, split_every=2, checkpoint=tmp_path)  # the damaged file was replaced
    assert computed["leaves"] == 0


@pytest.mark.parametrize("change", ["rows", "prior", "name", "file"])
def test_changed_input_is_not_read_from_a_checkpoint(tmp_path, small_leaves, change):
    data, folder = tmp_path / "data", tmp_path / "kept"
    data.mkdir()
    groups = write_arrays(data, 4)
    arguments = {"groups": [str(data)]} if change == "file" else {"groups": dict(groups)}
    before = parallel.gather(**arguments, checkpoint=folder, split_every=2)
    if change == "file":
        np.save(data / "day2.npy", groups["day2.npy"] + 1e-9)
    elif change == "rows":
        arguments["groups"]["day2.npy"] = groups["day2.npy"] + 1e-9
    elif change == "prior":
        arguments["prior"] = "by_size"
    else:
        arguments["groups"] = {name.replace("2", "two"): rows for name, rows in groups.items()}
    after = parallel.gather(**arguments, checkpoint=folder, split_every=2)
    assert bits(after) == bits(parallel.gather(**arguments, split_every=2))
    assert bits(after) != bits(before)


def test_checkpoint_is_valid_in_another_process(tmp_path, small_leaves, computed):
    """The key of a file must not depend on the process that computes it."""
    import subprocess
    import sys

    data, folder = tmp_path / "data", tmp_path / "kept"
    data.mkdir()
    write_arrays(data)
    script = (
        "import sys; from undistract.parallel import gather, tasks as plan; plan.LEAF_ROWS, plan.LEAF_VALUES = 50, 1;"
        f"gather([{str(data)!r}], split_every=2, checkpoint={str(folder)!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    assert len(list(folder.iterdir())) > 3
    parallel.gather([str(data)], split_every=2, checkpoint=folder)
    assert computed["leaves"] == 0


def test_checkpoint_is_a_model_file(tmp_path):
    parallel.gather({("a", 1): rows_of(1), 2: rows_of(2)}, checkpoint=tmp_path)
    (file,) = tmp_path.iterdir()
    assert describe_file(file)["content"]["sum"]["type"] == "Partial"


def test_repeated_runs_give_the_same_bits():
    groups = named_rows(5, 2000)
    assert bits(parallel.gather(groups)) == bits(parallel.gather(groups))


def test_number_of_blas_threads_is_restored():
    from threadpoolctl import threadpool_info, threadpool_limits

    from undistract.parallel.runners import one_thread

    with threadpool_limits(2):
        before = [library["num_threads"] for library in threadpool_info()]
        with one_thread(), one_thread():
            assert {library["num_threads"] for library in threadpool_info()} == {1}
        assert [library["num_threads"] for library in threadpool_info()] == before


def test_missing_dask_names_the_extra(monkeypatch):
    import sys

    from undistract._optional import MissingExtraError

    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "undistract[dask]"')):
        parallel.gather(named_rows(2))
