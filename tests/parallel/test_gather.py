"""Moments gathered in any pieces are those of `Moments.of`, without a cluster as with one."""

import io
import json
import re
from collections import Counter
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.strategies import exact_moments, hard_sets, law, limits, relative, seeds
from undistract import FeatureSet, InputError, Moments
from undistract.parallel.part import join
from undistract.sets import find_sets

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


def as_pairs(sets, rng):
    return {"sets": iter(sets.items())}


def as_feature_sets(sets, rng):
    return {"sets": [FeatureSet(name, rows) for name, rows in sets.items()]}


def as_readers(sets, rng):
    return {"sets": [FeatureSet.reading(name, lambda rows=rows: iter([rows])) for name, rows in sets.items()]}


def as_delayed(sets, rng):
    return {"sets": [(name, dask.delayed(rows, pure=False)) for name, rows in sets.items()]}


def as_dask_arrays(sets, rng):
    pairs = ((name, rows, random_chunks(len(rows), rng)) for name, rows in sets.items())
    return {"sets": [(name, da.from_array(rows, chunks=(chunks, (rows.shape[1],)))) for name, rows, chunks in pairs]}


def as_labelled(sets, rng, shuffle=False, lazy=False):
    X, labels = np.concatenate(list(sets.values())), np.repeat(list(sets), [len(rows) for rows in sets.values()])
    order = rng.permutation(len(X)) if shuffle else np.arange(len(X))
    chunks = random_chunks(len(X), rng)
    y = da.from_array(labels[order], chunks=(random_chunks(len(X), rng),)) if lazy else labels[order]
    return {"sets": da.from_array(X[order], chunks=(chunks, (X.shape[1],))), "labels": y}


def as_bag(sets, rng):
    pairs = [(name, chunk) for name, rows in sets.items() for chunk in np.split(rows, [len(rows) // 2]) if len(chunk)]
    return {"sets": bag.from_sequence([pairs[n] for n in rng.permutation(len(pairs))], npartitions=3)}


roads = {
    "pairs": as_pairs,
    "feature sets": as_feature_sets,
    "readers": as_readers,
    "delayed": as_delayed,
    "dask arrays": as_dask_arrays,
    "labelled": as_labelled,
    "shuffled labels": lambda sets, rng: as_labelled(sets, rng, shuffle=True),
    "lazy labels": lambda sets, rng: as_labelled(sets, rng, shuffle=True, lazy=True),
    "bag": as_bag,
}
one_by_one = ("pairs", "feature sets", "readers", "delayed", "dask arrays")


@pytest.mark.parametrize("road", roads)
@settings(law, max_examples=settings().max_examples // 4)  # nine roads
@given(
    hard_sets(),
    st.sampled_from(["uniform", "by_size", "by name", "in order"]),
    st.sampled_from([0, 20, 2**21]),
    st.integers(1, 12),
    st.integers(1, 3),
    seeds,
)
def test_moments_are_exact_in_any_leaves(road, sets, prior, kept_values, leaf, split_every, seed):
    rng = np.random.default_rng(seed)
    counts = np.array([len(rows) for rows in sets.values()], dtype=float)
    weights = {"uniform": np.ones(len(sets)), "by_size": counts}.get(prior, rng.uniform(0.1, 10.0, size=len(sets)))
    given_prior = prior if prior in ("uniform", "by_size") else dict(zip(sets, weights.tolist(), strict=True))
    if prior == "in order" and road in one_by_one:
        given_prior = weights.tolist()
    with limits(kept_values=kept_values), leaves_of(leaf):
        moments = parallel.gather(**roads[road](sets, rng), prior=given_prior, split_every=split_every)
        within, between, mean = exact_moments(sets.values(), weights)
        total = within + between
        assert relative(moments.within, within) <= PROMISED
        assert relative(moments.between, between, total) <= PROMISED
        assert (np.abs(moments.mean - mean) <= PROMISED * np.sqrt(np.trace(total)) + 1e-15 * np.abs(mean)).all()
        places = [moments.names.index(name) for name in sets]
        assert moments.shares[places] == pytest.approx(weights / weights.sum())
        assert moments.counts[places].tolist() == counts.tolist()
        if road in one_by_one:
            assert moments.names == tuple(sets)
        # What it holds is whole: it joins, solves and lets sets go as any other.
        local = Moments.of(sets, given_prior)
        for found, expected in zip(moments.wander(np.eye(len(mean))), local.wander(np.eye(len(mean))), strict=True):
            assert relative(found, expected) <= PROMISED
        assert moments._spread() == pytest.approx(local._spread(), rel=1e-9)


def test_wide_rows_are_kept_as_they_are_and_a_set_can_be_taken_out_again(small_leaves):
    sets = {number: np.random.default_rng(number).normal(size=(30, 900)) for number in range(6)}
    moments = parallel.gather({**sets, "long": np.random.default_rng(9).normal(size=(120, 900))})
    assert moments.names == (0, 1, 2, 3, 4, 5, "long")
    assert type(moments.store).__name__ == "KeptRows"
    without = moments.without("long")
    assert relative(without.within, Moments.of(sets).within) < PROMISED


@pytest.mark.parametrize("prior", ["uniform", "by_size", "given"])
def test_sets_that_lie_mixed_need_no_matrix_each(prior):
    """300 sets in every chunk: matrices of their own would be 3.8 MB, one row of each for a few sums is 0.3 MB."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60_000, 40)) + 1e5, rng.integers(0, 300, size=60_000)
    X += rng.normal(size=(300, 40))[labels]
    weights = {label: 1.0 + label % 7 for label in range(300)} if prior == "given" else prior
    sizes = []

    def watching(parts):
        found = join(parts)
        sizes.append(sum(array.nbytes for array in arrays_of(found)))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("undistract.parallel.gathering.join", watching)
        moments = parallel.gather((da.from_array(X, chunks=(7000, 40)), labels), prior=weights, split_every=3)
    expected = Moments.of_labelled(X, labels, weights)
    n_values = 3 * 40 * 40 + 3 * 300 * 40 + 4 * 300  # three sums, three rows of numbers per set, and what they count
    assert max(sizes) < 8 * (n_values + 40 * 40 + 40 * 5) + 300 * 8
    for found, wanted in zip(all_of(moments), all_of(expected), strict=True):
        assert relative(found, wanted) < PROMISED
    assert moments.names == expected.names


def arrays_of(value):
    """Every array that a part holds."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from arrays_of(one)
    elif is_dataclass(value):
        yield from arrays_of(tuple(getattr(value, one.name) for one in fields(value)))
    elif isinstance(value, dict):
        yield from arrays_of(tuple(value.values()))


def all_of(moments):
    return moments.within, moments.between, *moments.wander(np.eye(moments.n_features)), moments._spread(), moments.mean


def test_a_set_with_two_names_that_are_alike_is_refused():
    with pytest.raises(InputError, match="Set 'a' is already"):
        parallel.gather([("a", rows_of(1)), ("b", rows_of(2)), ("a", rows_of(3))])


def test_no_sets_are_refused():
    with pytest.raises(InputError, match="no sets"):
        parallel.gather([])


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (rows_of(1), "came as one ndarray"),
        ([("a", rows_of(1)), ("b", [[1, np.nan, 1, 1, 1, 1]])], "Set 'b' holds nan at row 0, feature 1"),
        ([("a", rows_of(1)), ("b", [1.0, 2.0])], r"Set 'b' has shape \(2,\)"),
        ([("a", rows_of(1)), ("b", [[1.0, 2.0]])], "Set 'b' has 2 features, the others have 6"),
        ([("a", rows_of(1)), ("b", np.empty((0, 6)))], "Set 'b' is empty"),
        ([("a", rows_of(1)), FeatureSet.reading("b", lambda: iter([]))], "Set 'b' is empty"),
        ([("a", rows_of(1)), "b.npy"], "b.npy is a path among other sets"),
        (["no-such.npy"], "no-such.npy"),
    ],
)
@pytest.mark.parametrize("leaf", [50, 6400])
def test_bad_sets_are_refused_by_name(sets, words, leaf):
    with leaves_of(leaf), pytest.raises(InputError, match=words):
        parallel.gather(sets)


def test_bad_rows_among_labelled_ones_are_refused_by_the_name_of_their_set():
    X = rows_of(0, 40)
    X[17, 2] = np.inf
    with pytest.raises(InputError, match=r"Set 'b' holds inf at feature 2, in row 7"):
        parallel.gather((da.from_array(X, chunks=(40, 6)), np.repeat(["a", "b"], [10, 30])))


@pytest.mark.parametrize(
    ("labels", "words"),
    [(np.zeros(7), "7,"), (np.array([0.0] * 39 + [np.nan]), "no set label"), (da.zeros(7, chunks=3), "for 40 rows")],
)
def test_labels_that_do_not_fit_are_refused(labels, words):
    with pytest.raises(InputError, match=words):
        parallel.gather(da.from_array(rows_of(0, 40), chunks=(15, 6)), labels=labels)


def test_a_bag_of_something_else_is_refused():
    with pytest.raises(InputError, match="expected pairs"):
        parallel.gather(bag.from_sequence([1, 2, 3], npartitions=2))


@pytest.mark.parametrize(
    ("prior", "words"), [([1.0], "more sets"), ([1.0] * 9, "9 weights for 3"), ("big", "prior is")]
)
def test_a_prior_that_does_not_fit_is_refused(prior, words):
    with pytest.raises(InputError, match=words):
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


def test_a_folder_of_tables_is_read_by_row_groups(tmp_path, small_leaves, monkeypatch):
    whole = write_tables(tmp_path)
    moments = parallel.gather_parquet(tmp_path, group="machine", columns=["heat", "load"])
    expected = Moments.of_labelled(whole[["heat", "load"]].to_numpy(), whole["machine"].to_numpy())
    assert moments.names == expected.names
    assert relative(moments.total, expected.total) < PROMISED
    assert relative(moments.within, expected.within) < PROMISED


def test_a_table_without_the_column_is_refused(tmp_path):
    write_tables(tmp_path, 1)
    with pytest.raises(InputError, match="has no column 'robot'"):
        parallel.gather_parquet(tmp_path, group="robot")


def test_a_gap_in_a_table_is_told_with_its_set(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"machine": ["a", "b", "b"], "load": [1.0, 2.0, None], "heat": [1.0, 2.0, 3.0]})
    table.to_parquet(tmp_path / "day.parquet")
    with pytest.raises(InputError, match="Set 'b' holds nan at feature 0"):
        parallel.gather_parquet(tmp_path, group="machine")


def write_arrays(folder, n_files=6, **more):
    sets = {f"day{number}.npy": rows_of(number, 40 + 60 * number) for number in range(n_files)}
    for name, rows in sets.items():
        np.save(folder / name, rows)
    return sets


def test_files_are_read_where_the_work_is_and_a_large_one_is_cut(tmp_path, small_leaves):
    sets = write_arrays(tmp_path)
    moments, expected = parallel.gather([str(tmp_path)]), Moments.of(sets)
    assert moments.names == tuple(sets)
    assert relative(moments.within, expected.within) < PROMISED
    assert relative(moments.between, expected.between) < PROMISED
    assert bits(parallel.gather(tmp_path)) == bits(moments)


def test_text_tables_are_read_whole_and_small_ones_together(tmp_path):
    pytest.importorskip("pyarrow")
    for number in range(4):
        np.savetxt(tmp_path / f"d{number}.csv", rows_of(number), delimiter=",", header="a,b,c,d,e,f", comments="")
    moments = parallel.gather(find_sets(tmp_path))
    assert relative(moments.within, Moments.of(find_sets(tmp_path)).within) < PROMISED


@pytest.fixture
def computed(monkeypatch):
    """Count the leaves that are summed up."""
    from undistract.parallel.leaf import Leaf

    counts = Counter()
    before = Leaf.sum_up

    def counting(self, *made):
        counts["leaves"] += 1
        return before(self, *made)

    monkeypatch.setattr(Leaf, "sum_up", counting)
    return counts


def test_a_run_that_broke_off_goes_on_where_it_was(tmp_path, small_leaves, computed):
    folder = tmp_path / "kept"
    sets = named_rows(12)
    broken = dict(sets)
    broken["set 9"] = np.full((120, 6), np.nan)
    whole = parallel.gather(sets, split_every=2)
    n_leaves = computed.pop("leaves")
    with pytest.raises(InputError, match="set 9"):
        parallel.gather(broken, split_every=2, checkpoint=folder)
    n_before, n_kept = computed.pop("leaves"), len(list(folder.iterdir()))
    assert 3 < n_kept < n_leaves / 2
    assert n_before < n_leaves
    assert bits(parallel.gather(sets, split_every=2, checkpoint=folder)) == bits(whole)
    assert computed.pop("leaves") == n_leaves - 2 * n_kept
    assert bits(parallel.gather(sets, split_every=2, checkpoint=folder)) == bits(whole)
    assert computed["leaves"] == 0


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "another"])
def test_a_damaged_checkpoint_is_computed_anew(tmp_path, small_leaves, computed, damage):
    sets = named_rows(6)
    whole = parallel.gather(sets, split_every=2, checkpoint=tmp_path)
    computed.clear()
    one, other, *_ = sorted(tmp_path.iterdir())
    content = bytearray(one.read_bytes())
    content[len(content) // 2] ^= 1
    ways = {"cut": content[:-100], "flipped": content, "empty": b"", "another": other.read_bytes()}
    one.write_bytes(ways[damage])
    assert bits(parallel.gather(sets, split_every=2, checkpoint=tmp_path)) == bits(whole)
    assert computed["leaves"] == 2
    computed.clear()
    parallel.gather(sets, split_every=2, checkpoint=tmp_path)  # what was damaged is whole again
    assert computed["leaves"] == 0


@pytest.mark.parametrize("change", ["rows", "prior", "name", "file"])
def test_what_changed_is_not_taken_from_a_checkpoint(tmp_path, small_leaves, change):
    data, folder = tmp_path / "data", tmp_path / "kept"
    data.mkdir()
    sets = write_arrays(data, 4)
    given = {"sets": [str(data)]} if change == "file" else {"sets": dict(sets)}
    before = parallel.gather(**given, checkpoint=folder, split_every=2)
    if change == "file":
        np.save(data / "day2.npy", sets["day2.npy"] + 1e-9)
    elif change == "rows":
        given["sets"]["day2.npy"] = sets["day2.npy"] + 1e-9
    elif change == "prior":
        given["prior"] = "by_size"
    else:
        given["sets"] = {name.replace("2", "two"): rows for name, rows in sets.items()}
    after = parallel.gather(**given, checkpoint=folder, split_every=2)
    assert bits(after) == bits(parallel.gather(**given, split_every=2))
    assert bits(after) != bits(before)


def test_files_that_did_not_change_are_not_read_again_by_another_process(tmp_path, small_leaves, computed):
    """The key of a file must not depend on the process that makes it."""
    import subprocess
    import sys

    data, folder = tmp_path / "data", tmp_path / "kept"
    data.mkdir()
    write_arrays(data)
    script = (
        "import sys; from undistract.parallel import gather, plan; plan.LEAF_ROWS, plan.LEAF_VALUES = 50, 1;"
        f"gather([{str(data)!r}], split_every=2, checkpoint={str(folder)!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    assert len(list(folder.iterdir())) > 3
    parallel.gather([str(data)], split_every=2, checkpoint=folder)
    assert computed["leaves"] == 0


def test_a_checkpoint_holds_no_code(tmp_path):
    parallel.gather({("a", 1): rows_of(1), 2: rows_of(2)}, checkpoint=tmp_path)
    (kept,) = tmp_path.iterdir()
    with np.load(io.BytesIO(kept.read_bytes()[32:])) as arrays:
        assert all(arrays[name].dtype.kind in "iuf" for name in arrays)
        assert json.loads(arrays["tree"].tobytes())["kind"] == "Part"


def test_results_are_the_same_whatever_came_before_in_the_process():
    sets = named_rows(5, 2000)
    assert bits(parallel.gather(sets)) == bits(parallel.gather(sets))


def test_the_number_of_blas_threads_comes_back():
    from threadpoolctl import threadpool_info, threadpool_limits

    from undistract.parallel.threads import one_thread

    with threadpool_limits(2):
        before = [library["num_threads"] for library in threadpool_info()]
        with one_thread(), one_thread():
            assert {library["num_threads"] for library in threadpool_info()} == {1}
        assert [library["num_threads"] for library in threadpool_info()] == before


def test_a_missing_dask_says_what_to_install(monkeypatch):
    import sys

    from undistract.extras import MissingExtraError

    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "undistract[dask]"')):
        parallel.gather(named_rows(2))
