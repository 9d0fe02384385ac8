"""A source has a name, and rows that can be read again."""

import itertools
import mmap
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undistract import Focus, InputError, Moments
from undistract.datasets import mix_features
from undistract.sources import Source

rows = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64]), hnp.array_shapes(min_dims=2, max_dims=2), elements=st.just(1)
)


@given(rows, st.integers(1, 20))
def test_reading_twice_returns_the_same_rows(rows, size):
    source = Source("a", rows)
    first, second = (np.concatenate(list(source.chunks(size=size))) for _ in range(2))
    assert np.array_equal(first, rows)
    assert np.array_equal(second, rows)
    assert first.dtype == rows.dtype


@given(rows, st.integers(1, 20))
def test_chunks_have_between_one_and_size_rows(rows, size):
    lengths = [len(chunk) for chunk in Source("a", rows).chunks(size=size)]
    assert max(lengths) <= size
    assert min(lengths) >= 1


def test_rows_are_read_only():
    original = np.ones((3, 2))
    source = Source("a", original)
    with pytest.raises(ValueError, match="read-only"):
        next(source.chunks())[0, 0] = 5.0
    with pytest.raises(FrozenInstanceError):
        source.rows = np.zeros((3, 2))
    original[0, 0] = 2.0  # the original array stays writeable


def test_size_times_and_repr():
    source = Source("camera-3", np.zeros((5, 2)), times=np.arange(5), origin="yard.mp4")
    assert (len(source), source.n_features) == (5, 2)
    assert repr(source) == "Source(name='camera-3', origin='yard.mp4')"
    assert source.times.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1.0, 2.0], r"Source 'a' has shape \(2,\), expected \(rows, features\)"),
        (np.zeros((2, 2, 2)), r"Source 'a' has shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), r"Source 'a' is empty: shape \(0, 3\)"),
        ([["x", "y"]], "Source 'a' has dtype <U1, expected real numbers"),
        ([[1.0, 2.0], [3.0]], "Source 'a' has rows of different lengths"),
    ],
)
def test_invalid_rows_raise_errors(bad, message):
    with pytest.raises(InputError, match=message):
        Source("a", bad)


def test_number_of_times_must_match():
    with pytest.raises(InputError, match=r"Source 'a' has 3 rows but times of shape \(2,\)"):
        Source("a", np.zeros((3, 2)), times=[1, 2])


def test_chunk_size_must_be_positive():
    with pytest.raises(InputError, match="size must be at least 1 row per chunk, got 0"):
        Source("a", np.zeros((3, 2))).chunks(size=0)


def test_focus_fits_sources_and_arrays_equally():
    rng = np.random.default_rng(0)
    arrays = {f"day {m}": rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)}
    from_groups = Focus().fit_groups(Source(name, rows) for name, rows in arrays.items())
    from_arrays = Focus().fit_groups(arrays)
    assert from_groups.moments_.names == tuple(arrays)
    assert np.array_equal(from_groups.distraction_, from_arrays.distraction_)


@given(rows, st.lists(st.integers(0, 6), max_size=5), st.integers(1, 20))
def test_rows_do_not_depend_on_chunks_of_the_reader(rows, cuts, size):
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    pieces = [(rows[a:b], np.arange(a, b)) for a, b in itertools.pairwise(bounds)]  # some of them empty
    source = Source.from_reader("a", lambda: iter(pieces))
    for _ in range(2):
        chunks, times = zip(*source.timed_chunks(size), strict=True)
        assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
        assert np.array_equal(np.concatenate(chunks), rows)
        assert np.array_equal(np.concatenate(times), np.arange(len(rows)))
    assert (len(source), source.n_features) == rows.shape
    assert np.array_equal(source.rows, rows)
    assert np.array_equal(source.times, np.arange(len(rows)))


def test_rows_from_reader_are_read_only_and_have_no_times():
    source = Source.from_reader("a", lambda: [np.ones((3, 2))])
    assert source.times is None
    with pytest.raises(ValueError, match="read-only"):
        next(source.chunks())[0, 0] = 5.0


def test_reader_that_cannot_restart_raises_error():
    spent = iter([np.ones((3, 2))])
    source = Source.from_reader("a", lambda: spent)
    list(source.chunks(size=2))
    with pytest.raises(InputError, match="had 3 rows before and has 0 now"):
        list(source.chunks(size=2))


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([np.ones((3, 2)), np.ones((3, 4))], "Source 'a' has 2 features, but from row 3 on 4"),
        ([(np.ones((3, 2)), [1, 2])], r"Source 'a' has 3 rows but times of shape \(2,\)"),
        ([(np.ones((1, 2)), [1]), np.ones((3, 2))], "times for some rows and none for others, from row 1 on"),
        ([np.ones(3)], r"Source 'a' has shape \(3,\)"),
        ([], "Source 'a' has no rows"),
    ],
)
def test_invalid_chunks_raise_errors(pieces, message):
    source = Source.from_reader("a", lambda: pieces)
    with pytest.raises(InputError, match=message):
        _ = source.rows
    with pytest.raises(InputError, match=message):
        Moments.of([source])


def test_reader_is_consumed_lazily():
    chunk_numbers = []

    def read():
        for number in range(5):
            chunk_numbers.append(number)
            yield np.full((10, 2), number)

    source = Source.from_reader("a", read)
    assert source.n_features == 2
    assert chunk_numbers == [0]
    next(source.chunks(size=15))
    assert chunk_numbers == [0, 0, 1]


def test_chunks_of_wide_rows_are_shorter():
    wide = np.zeros((64, 2**18), dtype=np.uint8)
    assert {len(chunk) for chunk in Source("wide", wide).chunks()} == {32}


def test_memory_map_is_not_copied(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(20.0).reshape(10, 2))
    source = Source("a", np.load(tmp_path / "rows.npy", mmap_mode="r"))
    chunk = next(source.chunks(size=4))
    assert not chunk.flags.owndata
    assert isinstance(chunk.base, np.memmap) or isinstance(chunk.base.base, np.memmap | mmap.mmap)


def test_fit_reads_chunks_and_never_all_rows(monkeypatch):
    monkeypatch.setattr(Source, "rows", property(lambda self: pytest.fail("all rows were read at once")))
    rng = np.random.default_rng(0)
    arrays = {f"day {m}": rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)}
    from_readers = Focus().fit_groups(
        Source.from_reader(name, lambda rows=rows: np.split(rows, [7, 30])) for name, rows in arrays.items()
    )
    assert np.array_equal(from_readers.distraction_, Focus().fit_groups(arrays).distraction_)


def test_wrapped_reader_is_called_once_per_read():
    readings = []

    def read():
        readings.append(None)
        yield np.ones((4, 2))

    inner = Source.from_reader("a", read)
    outer = Source.from_reader("a", inner.timed_chunks)
    assert [len(rows) for rows in outer.chunks()] == [4]
    assert len(readings) == 1  # regression: it was called three times to find the width


def test_nan_is_reported_with_its_row_in_the_source():
    # Regression: the row was counted within the chunk.
    rows = np.ones((10_000, 2))
    rows[9000, 1] = np.nan
    with pytest.raises(InputError, match="Source 'day' holds nan at row 9000, feature 1"):
        Moments.of([Source("day", rows)])


def test_number_of_names_must_match():
    # Regression: the number was not checked until a name was used.
    for names, message in (
        ({"feature_names": ["load"]}, r"Source 'day' has 1 feature_names for 2 features. Pass one name for each."),
        ({"row_names": ["a", "b"]}, r"Source 'day' has 2 row_names for 3 rows. Pass one name for each."),
    ):
        with pytest.raises(InputError, match=message):
            Source("day", np.ones((3, 2)), **names)
        with pytest.raises(InputError, match=message):
            Source.from_reader("day", lambda: [np.ones((3, 2))], n_features=2, n_rows=3, **names)


def test_rows_and_times_are_read_together():
    # Regression: a video was decoded twice.
    read = []

    def pieces():
        read.append(1)
        yield np.ones((3, 2)), np.arange(3.0)

    source = Source.from_reader("day", pieces, n_features=2)
    (doubled,) = mix_features([source], 2 * np.eye(2))
    assert (doubled.rows.tolist(), doubled.times.tolist()) == ([[2.0, 2.0]] * 3, [0.0, 1.0, 2.0])
    assert len(read) == 1
