"""Which row belongs to which set, and what may hold sets: small cases by hand."""

from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest

from undistract import InputError, SetMoments
from undistract.algebra import named_sets
from undistract.algebra.named_sets import batches, is_pair, named_pieces
from undistract.algebra.set_labels import number_sets, sort_sets

NAN = float("nan")


@pytest.mark.parametrize(
    ("labels", "names", "codes"),
    [
        (["b", "a", "b"], ("b", "a"), [0, 1, 0]),
        (np.array(["b", "a", "b"]), ("b", "a"), [0, 1, 0]),
        (np.array([3, 1, 3, 2]), (3, 1, 2), [0, 1, 0, 2]),
        (np.array([2.5, 1.0, 2.5]), (2.5, 1.0), [0, 1, 0]),
        (np.array([True, False]), (True, False), [0, 1]),
        ([1, "1", 1], (1, "1"), [0, 1, 0]),
        ([("cam", 1), ("cam", 2), ("cam", 1)], (("cam", 1), ("cam", 2)), [0, 1, 0]),
        (np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[D]"), None, [0, 1]),
        (np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[ns]"), None, [0, 1]),
    ],
)
def test_labels_are_numbered_in_the_order_they_appear(labels, names, codes):
    found, numbers = number_sets(labels, len(labels))
    assert numbers.tolist() == codes
    if names is not None:
        assert found == names
        assert [type(name) for name in found] == [type(name) for name in names]
    else:
        assert [str(name)[:10] for name in found] == ["2026-01-02", "2026-01-01"]
        assert all(isinstance(name, date) for name in found)


def test_moments_finer_than_python_knows_stay_numbers():
    fine = np.array(["2026-01-02T00:00:00.000000001", "2026-01-01"], dtype="datetime64[ns]")
    assert number_sets(fine, 2)[0] == (int(fine[0].astype(int)), int(fine[1].astype(int)))


@pytest.mark.parametrize(
    ("labels", "names", "counts", "order"),
    [
        (np.array([1, 1, 2]), (1, 2), [2, 1], None),
        (np.array([2, 2, 1]), (2, 1), [2, 1], None),  # side by side in any order
        (np.array(["b", "b", "a"]), ("b", "a"), [2, 1], None),
        (np.array([1, 2, 1]), (1, 2), [2, 1], [0, 2, 1]),
        (np.array([2, 1, 1, 2, 2]), (2, 1), [3, 2], [0, 3, 4, 1, 2]),
        (["x", "x", "y"], ("x", "y"), [2, 1], None),
        (["x", "y", "x"], ("x", "y"), [2, 1], [0, 2, 1]),
        (np.array([0.5, 0.5, 0.1]), (0.5, 0.1), [2, 1], None),
        (np.array([7]), (7,), [1], None),
    ],
)
def test_rows_of_one_set_are_brought_side_by_side(labels, names, counts, order):
    found_names, found_counts, found_order = sort_sets(labels, len(labels))
    assert (found_names, found_counts.tolist()) == (names, counts)
    assert (None if found_order is None else found_order.tolist()) == order


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.0, NAN, 2.0]),
        [1, None, 2],
        ["a", NAN, "b"],
        np.array(["2026-01-01", "NaT", "2026-01-01"], dtype="datetime64[D]"),
        np.ma.array([1, 2, 3], mask=[False, True, False]),
    ],
)
def test_the_first_row_without_a_label_is_told(labels):
    for find in (number_sets, sort_sets):
        with pytest.raises(InputError, match=r"Row 1 has no set label \(missing or NaN\)"):
            find(labels, 3)


@pytest.mark.parametrize(
    "labels", [[None, 1, 2], np.array([NAN, 1.0, 2.0]), np.ma.array([1, 2, 3], mask=[True, False, False])]
)
def test_the_very_first_row_may_lack_its_label(labels):
    with pytest.raises(InputError, match="Row 0 has no set label"):
        number_sets(labels, 3)


def test_a_mask_that_hides_nothing_is_no_harm():
    assert number_sets(np.ma.array([1, 2], mask=[False, False]), 2)[0] == (1, 2)


def test_what_pandas_calls_missing_is_missing():
    pandas = pytest.importorskip("pandas", reason='needs pandas: pip install "undistract[tables]"')
    with pytest.raises(InputError, match="Row 1 has no set label"):
        number_sets(pandas.array(["a", pandas.NA], dtype="string"), 2)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", "b"], "2 labels for 3 rows"),
        ("abc", "expected one label per row"),
        (b"abc", "expected one label per row"),
        (7, "expected one label per row"),
        (np.ones((3, 1)), r"shape \(3, 1\); expected one label per row"),
        ([[1], [2], [3]], "must be hashable"),
    ],
)
def test_labels_that_cannot_be_are_refused(labels, words):
    for find in (number_sets, sort_sets):
        with pytest.raises(InputError, match=words):
            find(labels, 3)


def names_and_shapes(sets):
    return [(name, piece.count if isinstance(piece, SetMoments) else piece.shape) for name, piece in named_pieces(sets)]


def test_sets_may_come_in_many_ways():
    rows, more = np.ones((2, 3)), np.zeros((4, 3))
    stream = SimpleNamespace(name="film", chunks=lambda: [rows, more])
    assert names_and_shapes({"a": rows, "b": more}) == [("a", (2, 3)), ("b", (4, 3))]
    assert names_and_shapes([("a", rows), ["b", more]]) == [("a", (2, 3)), ("b", (4, 3))]
    assert names_and_shapes([rows, more]) == [(0, (2, 3)), (1, (4, 3))]
    assert names_and_shapes(np.ones((5, 2, 3))) == [(place, (2, 3)) for place in range(5)]
    assert names_and_shapes([stream, ("b", more)]) == [("film", (2, 3)), ("film", (4, 3)), ("b", (4, 3))]
    assert names_and_shapes({"a": SetMoments.of(rows)}) == [("a", 2)]


def test_a_name_with_rows_is_told_from_two_rows():
    assert is_pair("a", [[1.0]])
    assert is_pair(7, [[1.0]])
    assert is_pair(("cam", 1), ((1.0, 2.0), (3.0, 4.0)))
    assert is_pair([1.0], SetMoments.of([[1.0]]))
    assert not is_pair((1.0, 2.0), (3.0, 4.0))
    assert not is_pair([1.0, 2.0], [3.0, 4.0])
    assert names_and_shapes([((1.0, 2.0), (3.0, 4.0))]) == [(0, (2, 2))]


@pytest.mark.parametrize("sets", [np.ones((2, 3)), np.ones(3), "days", 7, None])
def test_one_thing_is_no_collection_of_sets(sets):
    with pytest.raises(InputError, match=f"Sets came as one {type(sets).__name__}; expected several"):
        list(named_pieces(sets))


def test_a_table_or_a_sparse_matrix_is_one_thing():
    for one in (SimpleNamespace(columns=["a"], __iter__=iter), SimpleNamespace(toarray=None)):
        with pytest.raises(InputError, match="Sets came as one SimpleNamespace"):
            list(named_pieces(one))


def test_a_stream_without_rows_is_told():
    with pytest.raises(InputError, match="Set 'film' is empty"):
        list(named_pieces([SimpleNamespace(name="film", chunks=lambda: [])]))


def test_small_sets_are_read_together_and_large_ones_alone(monkeypatch):
    monkeypatch.setattr(named_sets, "BATCH_ROWS", 4)
    ones = lambda n: np.ones((n, 2))  # noqa: E731
    found = list(batches({"a": ones(3), "b": ones(3), "c": ones(1), "d": ones(4), "e": ones(2)}))
    told = [
        [(name, len(rows)) for name, rows in batch] if isinstance(batch, list) else (batch[0], batch[1].count)
        for batch in found
    ]
    assert told == [[("a", 3), ("b", 3)], [("c", 1)], ("d", 4), [("e", 2)]]


def test_pieces_of_one_set_are_joined_and_a_set_that_comes_back_is_refused():
    ((name, whole),) = batches([("a", [[0.0], [2.0]]), ("a", [[4.0]])])
    assert (name, whole.count, whole.mean.tolist()) == ("a", 3, [2.0])
    with pytest.raises(InputError, match="Set 'a' is already in these moments"):
        list(batches([("a", [[0.0]]), ("b", [[0.0]]), ("a", [[4.0]])]))
    with pytest.raises(InputError, match="Set 'b' has 1 features, the others have 2"):
        list(batches([("a", [[0.0, 1.0]]), ("b", [[0.0]])]))


def test_a_missing_number_is_told_by_its_row_in_the_whole_stream():
    film = SimpleNamespace(name="film", chunks=lambda: [np.ones((3, 2)), np.ones((4, 2)), [[1.0, 1.0], [1.0, np.nan]]])
    with pytest.raises(InputError, match=r"row 8\b"):
        list(named_pieces([film]))


def test_each_batch_waits_for_as_many_rows_as_the_first(monkeypatch):
    monkeypatch.setattr(named_sets, "BATCH_ROWS", 4)
    sets = {name: np.ones((n, 2)) for name, n in [("a", 2), ("b", 2), ("c", 3), ("d", 3), ("e", 1)]}
    assert [[name for name, _ in batch] for batch in batches(sets)] == [["a", "b"], ["c", "d"], ["e"]]
