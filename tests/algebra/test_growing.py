"""Sets that grow, a few rows at a time, by hand."""

import numpy as np
import pytest

from undistract import InputError, Moments
from undistract.algebra.growing import Growing

NARROW = np.array([[0.0, 1.0], [2.0, 5.0], [6.0, 2.0], [7.0, 4.0], [9.0, 3.0], [4.0, 4.0]])
ROWS = np.hstack([NARROW, np.zeros((6, 18))])  # so wide that rows are kept
NAMES, CODES = ("mon", "tue"), np.array([0, 1, 1, 0, 1, 0])
MON, TUE = ROWS[CODES == 0], ROWS[CODES == 1]


def same(found, expected):
    assert found.names == expected.names
    for name in ("counts", "weights", "mean", "within", "between"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("prior", ["uniform", "by_size", {"mon": 3.0, "tue": 1.0}])
def test_rows_find_their_sets_and_sums_are_those_of_all(prior):
    stream = Growing().grown(ROWS, NAMES, CODES, prior)
    assert stream.names == NAMES
    same(stream.moments(prior), Moments.of({"mon": MON, "tue": TUE}, prior))
    more = stream.grown(ROWS + 1, NAMES, CODES, prior)
    expected = Moments.of({"mon": np.vstack([MON, MON + 1]), "tue": np.vstack([TUE, TUE + 1])}, prior)
    same(more.moments(prior), expected)
    same(stream.moments(prior), Moments.of({"mon": MON, "tue": TUE}, prior))  # the one before is as it was


@pytest.mark.parametrize("closing", [["mon"], ["tue"], ["tue", "mon"], None])
def test_closing_changes_no_sum_and_a_set_that_is_kept_can_be_opened_again(closing):
    stream = Growing().grown(ROWS, NAMES, CODES, "uniform").with_closed(closing, "uniform")
    closed = ("mon", "tue") if closing is None else tuple(closing)
    assert stream.closed.names == closed
    assert set(stream.opened) == set(NAMES) - set(closed)
    assert stream.names == closed + tuple(stream.opened)
    same(stream.moments("uniform"), Moments.of({name: {"mon": MON, "tue": TUE}[name] for name in stream.names}))
    again = stream.grown(ROWS + 1, NAMES, CODES, "uniform")
    assert again.closed is None
    whole = {"mon": np.vstack([MON, MON + 1]), "tue": np.vstack([TUE, TUE + 1])}
    same(again.moments("uniform"), Moments.of({name: whole[name] for name in again.names}))


def test_only_the_set_that_comes_back_is_opened():
    stream = Growing().grown(ROWS, NAMES, CODES, "uniform").with_closed(None, "uniform")
    again = stream.grown(ROWS[:1], ("tue",), np.array([0]), "uniform")
    assert (again.closed.names, tuple(again.opened)) == (("mon",), ("tue",))
    same(again.moments("uniform"), Moments.of({"mon": MON, "tue": np.vstack([TUE, ROWS[:1]])}))


def test_closing_what_is_closed_changes_nothing_and_what_is_unknown_is_told():
    stream = Growing().grown(ROWS, NAMES, CODES, "uniform").with_closed(["mon"], "uniform")
    assert stream.with_closed(["mon"], "uniform") is stream
    with pytest.raises(InputError, match="no set 'wed' to close; open are 'tue'"):
        stream.with_closed(["tue", "wed"], "uniform")
    both = stream.with_closed(["tue", "tue"], "uniform")
    assert (both.closed.names, dict(both.opened)) == (NAMES, {})


def test_a_set_that_was_folded_away_cannot_grow():
    stream = Growing().grown(NARROW, NAMES, CODES, "uniform").with_closed(None, "uniform")
    with pytest.raises(InputError, match=r"do not close it before its last row \(close_sets\)"):
        stream.grown(NARROW, NAMES, CODES, "uniform")


def test_what_was_closed_with_another_prior_is_refused():
    stream = Growing().grown(ROWS, NAMES, CODES, "uniform").with_closed(["mon"], "uniform")
    with pytest.raises(InputError, match="closed with prior 'uniform', now it is 'by_size'"):
        stream.grown(ROWS, NAMES, CODES, "by_size")
    Growing().grown(ROWS, NAMES, CODES, "uniform").grown(ROWS, NAMES, CODES, "by_size")  # nothing is closed yet


def test_a_delivery_counts_once_by_its_key():
    stream = Growing().grown(ROWS, NAMES, CODES, "uniform", key="monday 8 o'clock")
    assert stream.has("monday 8 o'clock", 6)
    assert not stream.has("monday 9 o'clock", 6)
    assert dict(stream.grown(ROWS[:2], NAMES, CODES[:2], "uniform", key=2).keys) == {"monday 8 o'clock": 6, 2: 2}
    assert dict(stream.grown(ROWS, NAMES, CODES, "uniform").keys) == {"monday 8 o'clock": 6}
    with pytest.raises(InputError, match="counted before with 6 rows and comes with 5 now"):
        stream.has("monday 8 o'clock", 5)
    with pytest.raises(InputError, match="expected something hashable"):
        stream.has([1], 6)


def test_what_sums_would_refuse_later_is_refused_when_it_comes():
    with pytest.raises(InputError, match="no weight for set 'tue'"):
        Growing().grown(ROWS, NAMES, CODES, {"mon": 1.0})
    far = np.array([[0.0], [1.0], [1e150], [1e150]])
    with pytest.raises(InputError, match="leave the range of numbers"):
        Growing().grown(far, NAMES, np.array([0, 0, 1, 1]), "uniform")
    near = Growing().grown(far[:2], ("mon",), np.array([0, 0]), "uniform")
    for stream in (near, near.with_closed(None, "uniform")):
        with pytest.raises(InputError, match="leave the range of numbers"):
            stream.grown(far[2:], ("tue",), np.array([0, 0]), "uniform")
    apart = np.array([[0.0], [1.0], [1e140], [1e140]])  # its square is just a number
    assert Growing().grown(apart, NAMES, np.array([0, 0, 1, 1]), "uniform").names == NAMES
    # Far from zero, but near to one another.
    near = far[2:] * np.array([[1.0], [1 + 1e-10]])
    assert Growing().grown(near, ("tue",), np.array([0, 0]), "uniform").names == ("tue",)
