"""A feature set: a name, and rows that can be read again."""

import itertools
import mmap
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undistract import Focus, InputError, Moments
from undistract.sets import FeatureSet, mixed

rows = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64]), hnp.array_shapes(min_dims=2, max_dims=2), elements=st.just(1)
)


@given(rows, st.integers(1, 20))
def test_reading_twice_gives_the_same_rows(rows, size):
    one = FeatureSet("a", rows)
    first, second = (np.concatenate(list(one.chunks(size=size))) for _ in range(2))
    assert np.array_equal(first, rows)
    assert np.array_equal(second, rows)
    assert first.dtype == rows.dtype


@given(rows, st.integers(1, 20))
def test_no_chunk_is_empty_or_larger_than_asked_for(rows, size):
    lengths = [len(chunk) for chunk in FeatureSet("a", rows).chunks(size=size)]
    assert max(lengths) <= size
    assert min(lengths) >= 1


def test_what_is_read_cannot_be_written_to():
    given_rows = np.ones((3, 2))
    one = FeatureSet("a", given_rows)
    with pytest.raises(ValueError, match="read-only"):
        next(one.chunks())[0, 0] = 5.0
    with pytest.raises(FrozenInstanceError):
        one.rows = np.zeros((3, 2))
    given_rows[0, 0] = 2.0  # the giver's own array stays the giver's


def test_it_tells_its_size_and_where_it_is_from():
    one = FeatureSet("camera-3", np.zeros((5, 2)), times=np.arange(5), source="yard.mp4")
    assert (len(one), one.n_features) == (5, 2)
    assert repr(one) == "FeatureSet(name='camera-3', source='yard.mp4')"
    assert one.times.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1.0, 2.0], r"Set 'a' has shape \(2,\), expected \(rows, features\)"),
        (np.zeros((2, 2, 2)), r"Set 'a' has shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), r"Set 'a' is empty: shape \(0, 3\)"),
        ([["x", "y"]], "Set 'a' has dtype <U1, expected real numbers"),
        ([[1.0, 2.0], [3.0]], "Set 'a' has rows of different lengths"),
    ],
)
def test_rows_that_cannot_be_used_are_named(bad, words):
    with pytest.raises(InputError, match=words):
        FeatureSet("a", bad)


def test_there_is_one_time_per_row():
    with pytest.raises(InputError, match=r"Set 'a' has 3 rows but times of shape \(2,\)"):
        FeatureSet("a", np.zeros((3, 2)), times=[1, 2])


def test_a_chunk_has_at_least_one_row():
    with pytest.raises(InputError, match="size is 0"):
        FeatureSet("a", np.zeros((3, 2))).chunks(size=0)


def test_focus_learns_the_same_from_feature_sets_and_from_arrays():
    rng = np.random.default_rng(0)
    arrays = {f"day {m}": rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)}
    from_sets = Focus().fit_sets(FeatureSet(name, rows) for name, rows in arrays.items())
    from_arrays = Focus().fit_sets(arrays)
    assert from_sets.moments_.names == tuple(arrays)
    assert np.array_equal(from_sets.distraction_, from_arrays.distraction_)


@given(rows, st.lists(st.integers(0, 6), max_size=5), st.integers(1, 20))
def test_a_reader_gives_the_same_rows_in_any_cut(rows, cuts, size):
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    pieces = [(rows[a:b], np.arange(a, b)) for a, b in itertools.pairwise(bounds)]  # some of them empty
    one = FeatureSet.reading("a", lambda: iter(pieces))
    for _ in range(2):
        found, times = zip(*one.timed_chunks(size), strict=True)
        assert [len(chunk) for chunk in found[:-1]] == [size] * (len(found) - 1)
        assert np.array_equal(np.concatenate(found), rows)
        assert np.array_equal(np.concatenate(times), np.arange(len(rows)))
    assert (len(one), one.n_features) == rows.shape
    assert np.array_equal(one.rows, rows)
    assert np.array_equal(one.times, np.arange(len(rows)))


def test_rows_from_a_reader_cannot_be_written_to_and_have_no_times_of_their_own():
    one = FeatureSet.reading("a", lambda: [np.ones((3, 2))])
    assert one.times is None
    with pytest.raises(ValueError, match="read-only"):
        next(one.chunks())[0, 0] = 5.0


def test_a_reader_that_cannot_start_anew_is_found_out():
    spent = iter([np.ones((3, 2))])
    one = FeatureSet.reading("a", lambda: spent)
    list(one.chunks(size=2))
    with pytest.raises(InputError, match="had 3 rows before and gave 0 now"):
        list(one.chunks(size=2))


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([np.ones((3, 2)), np.ones((3, 4))], "Set 'a' has 2 features, but from row 3 on 4"),
        ([(np.ones((3, 2)), [1, 2])], r"Set 'a' has 3 rows but times of shape \(2,\)"),
        ([(np.ones((1, 2)), [1]), np.ones((3, 2))], "times for some rows and none for others, from row 1 on"),
        ([np.ones(3)], r"Set 'a' has shape \(3,\)"),
        ([], "Set 'a' is empty: it gave no rows"),
    ],
)
def test_a_reader_that_gives_what_cannot_be_used_is_named(pieces, words):
    one = FeatureSet.reading("a", lambda: pieces)
    with pytest.raises(InputError, match=words):
        _ = one.rows
    with pytest.raises(InputError, match=words):
        Moments.of([one])


def test_a_reader_is_asked_for_no_more_than_is_wanted():
    asked = []

    def read():
        for number in range(5):
            asked.append(number)
            yield np.full((10, 2), number)

    one = FeatureSet.reading("a", read)
    assert one.n_features == 2
    assert asked == [0]
    next(one.chunks(size=15))
    assert asked == [0, 0, 1]


def test_chunks_of_wide_rows_hold_fewer_of_them():
    wide = np.zeros((64, 2**18), dtype=np.uint8)
    assert {len(chunk) for chunk in FeatureSet("wide", wide).chunks()} == {32}


def test_a_memory_map_stays_one(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(20.0).reshape(10, 2))
    one = FeatureSet("a", np.load(tmp_path / "rows.npy", mmap_mode="r"))
    chunk = next(one.chunks(size=4))
    assert not chunk.flags.owndata
    assert isinstance(chunk.base, np.memmap) or isinstance(chunk.base.base, np.memmap | mmap.mmap)


def test_learning_streams_through_chunks_and_never_asks_for_all_rows(monkeypatch):
    monkeypatch.setattr(FeatureSet, "rows", property(lambda self: pytest.fail("all rows were asked for")))
    rng = np.random.default_rng(0)
    arrays = {f"day {m}": rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)}
    from_readers = Focus().fit_sets(
        FeatureSet.reading(name, lambda rows=rows: np.split(rows, [7, 30])) for name, rows in arrays.items()
    )
    assert np.array_equal(from_readers.distraction_, Focus().fit_sets(arrays).distraction_)


def test_a_reader_is_asked_once_for_each_reading_however_many_wrap_it():
    readings = []

    def read():
        readings.append(None)
        yield np.ones((4, 2))

    inner = FeatureSet.reading("a", read)
    outer = FeatureSet.reading("a", inner.timed_chunks)
    assert [len(rows) for rows in outer.chunks()] == [4]
    assert len(readings) == 1  # it was three times, to learn beforehand how wide a row is


def test_a_number_that_is_missing_is_told_by_its_place_in_the_set():
    # It was told by its place in a chunk.
    rows = np.ones((10_000, 2))
    rows[9000, 1] = np.nan
    with pytest.raises(InputError, match="Set 'day' holds nan at row 9000, feature 1"):
        Moments.of([FeatureSet("day", rows)])


def test_names_are_as_many_as_what_they_name():
    # Nobody asked, until one was looked for that was not there.
    for names, words in (
        ({"feature_names": ["load"]}, r"Set 'day' has 1 feature_names for 2 features. Give one name for each."),
        ({"row_names": ["a", "b"]}, r"Set 'day' has 2 row_names for 3 rows. Give one name for each."),
    ):
        with pytest.raises(InputError, match=words):
            FeatureSet("day", np.ones((3, 2)), **names)
        with pytest.raises(InputError, match=words):
            FeatureSet.reading("day", lambda: [np.ones((3, 2))], n_features=2, n_rows=3, **names)


def test_rows_and_their_times_are_read_once():
    # Whoever wanted both decoded a video twice.
    read = []

    def pieces():
        read.append(1)
        yield np.ones((3, 2)), np.arange(3.0)

    one = FeatureSet.reading("day", pieces, n_features=2)
    (there,) = mixed([one], 2 * np.eye(2))
    assert (there.rows.tolist(), there.times.tolist()) == ([[2.0, 2.0]] * 3, [0.0, 1.0, 2.0])
    assert len(read) == 1
