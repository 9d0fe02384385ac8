"""Labels and collections of groups: small cases with known results."""

from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest

from undistract import GroupMoments, InputError
from undistract.algebra import moments as moments_module
from undistract.algebra.groups import is_pair, iter_groups, number_groups, sort_groups
from undistract.algebra.moments import _batches, iter_rows

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
def test_labels_are_numbered_in_order_of_appearance(labels, names, codes):
    distinct, numbers = number_groups(labels, len(labels))
    assert numbers.tolist() == codes
    if names is not None:
        assert distinct == names
        assert [type(name) for name in distinct] == [type(name) for name in names]
    else:
        assert [str(name)[:10] for name in distinct] == ["2026-01-02", "2026-01-01"]
        assert all(isinstance(name, date) for name in distinct)


def test_nanosecond_dates_become_integers():
    fine = np.array(["2026-01-02T00:00:00.000000001", "2026-01-01"], dtype="datetime64[ns]")
    assert number_groups(fine, 2)[0] == (int(fine[0].astype(int)), int(fine[1].astype(int)))


@pytest.mark.parametrize(
    ("labels", "names", "counts", "order"),
    [
        (np.array([1, 1, 2]), (1, 2), [2, 1], None),
        (np.array([2, 2, 1]), (2, 1), [2, 1], None),  # grouped, in any order
        (np.array(["b", "b", "a"]), ("b", "a"), [2, 1], None),
        (np.array([1, 2, 1]), (1, 2), [2, 1], [0, 2, 1]),
        (np.array([2, 1, 1, 2, 2]), (2, 1), [3, 2], [0, 3, 4, 1, 2]),
        (["x", "x", "y"], ("x", "y"), [2, 1], None),
        (["x", "y", "x"], ("x", "y"), [2, 1], [0, 2, 1]),
        (np.array([0.5, 0.5, 0.1]), (0.5, 0.1), [2, 1], None),
        (np.array([7]), (7,), [1], None),
    ],
)
def test_rows_are_sorted_by_group(labels, names, counts, order):
    found_names, found_counts, found_order = sort_groups(labels, len(labels))
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
def test_error_names_the_first_row_without_label(labels):
    for function in (number_groups, sort_groups):
        with pytest.raises(InputError, match=r"Row 1 has no group label \(missing or NaN\)"):
            function(labels, 3)


@pytest.mark.parametrize(
    "labels", [[None, 1, 2], np.array([NAN, 1.0, 2.0]), np.ma.array([1, 2, 3], mask=[True, False, False])]
)
def test_missing_label_of_first_row(labels):
    with pytest.raises(InputError, match="Row 0 has no group label"):
        number_groups(labels, 3)


def test_empty_mask_is_accepted():
    assert number_groups(np.ma.array([1, 2], mask=[False, False]), 2)[0] == (1, 2)


def test_pandas_na_is_missing():
    pandas = pytest.importorskip("pandas", reason='needs pandas: pip install "undistract[tables]"')
    with pytest.raises(InputError, match="Row 1 has no group label"):
        number_groups(pandas.array(["a", pandas.NA], dtype="string"), 2)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b"], "2 labels for 3 rows"),
        ("abc", "must have one label per row"),
        (b"abc", "must have one label per row"),
        (7, "must have one label per row"),
        (np.ones((3, 1)), r"must have one label per row.*got shape \(3, 1\)"),
        ([[1], [2], [3]], "must be hashable"),
    ],
)
def test_invalid_labels_raise(labels, message):
    for function in (number_groups, sort_groups):
        with pytest.raises(InputError, match=message):
            function(labels, 3)


def names_and_shapes(groups):
    return [(name, rows.count if isinstance(rows, GroupMoments) else rows.shape) for name, rows in iter_rows(groups)]


def test_all_collection_types_are_accepted():
    rows, more = np.ones((2, 3)), np.zeros((4, 3))
    stream = SimpleNamespace(name="film", chunks=lambda: [rows, more])
    assert names_and_shapes({"a": rows, "b": more}) == [("a", (2, 3)), ("b", (4, 3))]
    assert names_and_shapes([("a", rows), ["b", more]]) == [("a", (2, 3)), ("b", (4, 3))]
    assert names_and_shapes([rows, more]) == [(0, (2, 3)), (1, (4, 3))]
    assert names_and_shapes(np.ones((5, 2, 3))) == [(number, (2, 3)) for number in range(5)]
    assert names_and_shapes([stream, ("b", more)]) == [("film", (2, 3)), ("film", (4, 3)), ("b", (4, 3))]
    assert names_and_shapes({"a": GroupMoments.of(rows)}) == [("a", 2)]


def test_pair_of_name_and_rows_is_not_two_rows():
    assert is_pair("a", [[1.0]])
    assert is_pair(7, [[1.0]])
    assert is_pair(("cam", 1), ((1.0, 2.0), (3.0, 4.0)))
    assert is_pair(("cam", 1), GroupMoments.of([[1.0]]))
    assert not is_pair((1.0, 2.0), (3.0, 4.0))
    assert not is_pair([1.0, 2.0], [3.0, 4.0])
    assert names_and_shapes([((1.0, 2.0), (3.0, 4.0))]) == [(0, (2, 2))]


@pytest.mark.parametrize("groups", [np.ones((2, 3)), np.ones(3), "days", 7, None])
def test_single_array_is_no_collection(groups):
    with pytest.raises(InputError, match=f"Expected several groups.*got one {type(groups).__name__}"):
        list(iter_rows(groups))


def test_table_or_sparse_matrix_is_no_collection():
    for single in (SimpleNamespace(columns=["a"], __iter__=iter), SimpleNamespace(toarray=None)):
        with pytest.raises(InputError, match="got one SimpleNamespace"):
            list(iter_rows(single))


def test_content_of_groups_is_passed_through():
    lazy = SimpleNamespace(name="array", chunks=((2, 2), (3,)))  # as of a Dask array: chunks is no method
    film = SimpleNamespace(name="film", chunks=lambda: [])
    assert list(iter_groups({"a": lazy, "b": film})) == [("a", lazy), ("b", film)]
    assert list(iter_groups([film, ("x", lazy), (("cam", 1), lazy), lazy])) == [
        ("film", film),
        ("x", lazy),
        (("cam", 1), lazy),
        (3, lazy),
    ]


def test_group_without_rows_raises():
    with pytest.raises(InputError, match="Group 'film' is empty"):
        list(iter_rows([SimpleNamespace(name="film", chunks=lambda: [])]))


def test_small_groups_are_batched(monkeypatch):
    monkeypatch.setattr(moments_module, "BATCH_ROWS", 4)
    ones = lambda n: np.ones((n, 2))  # noqa: E731
    groups = list(_batches({"a": ones(3), "b": ones(3), "c": ones(1), "d": ones(4), "e": ones(2)}))
    sizes = [
        [(name, rows.count if isinstance(rows, GroupMoments) else len(rows)) for name, rows in batch]
        for batch in groups
    ]
    assert sizes == [[("a", 3), ("b", 3)], [("c", 1)], [("d", 4)], [("e", 2)]]


def test_chunks_of_one_group_join_and_repeated_names_raise():
    (((name, moments),),) = _batches([("a", [[0.0], [2.0]]), ("a", [[4.0]])])
    assert (name, moments.count, moments.mean.tolist()) == ("a", 3, [2.0])
    with pytest.raises(InputError, match="Group 'a' is already in these moments"):
        list(_batches([("a", [[0.0]]), ("b", [[0.0]]), ("a", [[4.0]])]))
    with pytest.raises(InputError, match="Group 'b' has 1 features, the others have 2"):
        list(_batches([("a", [[0.0, 1.0]]), ("b", [[0.0]])]))


def test_missing_value_is_reported_with_its_row_in_the_group():
    film = SimpleNamespace(name="film", chunks=lambda: [np.ones((3, 2)), np.ones((4, 2)), [[1.0, 1.0], [1.0, np.nan]]])
    with pytest.raises(InputError, match=r"row 8\b"):
        list(iter_rows([film]))


def test_all_batches_have_the_same_size(monkeypatch):
    monkeypatch.setattr(moments_module, "BATCH_ROWS", 4)
    groups = {name: np.ones((n, 2)) for name, n in [("a", 2), ("b", 2), ("c", 3), ("d", 3), ("e", 1)]}
    assert [[name for name, _ in batch] for batch in _batches(groups)] == [["a", "b"], ["c", "d"], ["e"]]
