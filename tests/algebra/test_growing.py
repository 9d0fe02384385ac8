"""State of `partial_fit`: small cases with known results."""

import numpy as np
import pytest

from undistract import InputError, Moments
from undistract.algebra.streaming import StreamingMoments

NARROW = np.array([[0.0, 1.0], [2.0, 5.0], [6.0, 2.0], [7.0, 4.0], [9.0, 3.0], [4.0, 4.0]])
ROWS = np.hstack([NARROW, np.zeros((6, 18))])  # so wide that rows are stored one by one
NAMES, CODES = ("mon", "tue"), np.array([0, 1, 1, 0, 1, 0])
MON, TUE = ROWS[CODES == 0], ROWS[CODES == 1]


def assert_same(moments, expected):
    assert moments.names == expected.names
    for name in ("counts", "weights", "mean", "within", "between"):
        np.testing.assert_allclose(
            getattr(moments, name), getattr(expected, name), rtol=1e-12, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("prior", ["uniform", "by_size", {"mon": 3.0, "tue": 1.0}])
def test_moments_equal_those_of_all_rows(prior):
    stream = StreamingMoments().update(ROWS, NAMES, CODES, prior)
    assert stream.names == NAMES
    assert_same(stream.moments(prior), Moments.of({"mon": MON, "tue": TUE}, prior))
    more = stream.update(ROWS + 1, NAMES, CODES, prior)
    expected = Moments.of({"mon": np.vstack([MON, MON + 1]), "tue": np.vstack([TUE, TUE + 1])}, prior)
    assert_same(more.moments(prior), expected)
    assert_same(stream.moments(prior), Moments.of({"mon": MON, "tue": TUE}, prior))  # the previous state is unchanged


@pytest.mark.parametrize("closing", [["mon"], ["tue"], ["tue", "mon"], None])
def test_closing_keeps_the_moments_and_stored_groups_can_reopen(closing):
    stream = StreamingMoments().update(ROWS, NAMES, CODES, "uniform").close(closing, "uniform")
    closed = ("mon", "tue") if closing is None else tuple(closing)
    assert stream.closed.names == closed
    assert set(stream.open_groups) == set(NAMES) - set(closed)
    assert stream.names == closed + tuple(stream.open_groups)
    assert_same(stream.moments("uniform"), Moments.of({name: {"mon": MON, "tue": TUE}[name] for name in stream.names}))
    again = stream.update(ROWS + 1, NAMES, CODES, "uniform")
    assert again.closed is None
    all_rows = {"mon": np.vstack([MON, MON + 1]), "tue": np.vstack([TUE, TUE + 1])}
    assert_same(again.moments("uniform"), Moments.of({name: all_rows[name] for name in again.names}))


def test_only_the_group_with_new_rows_reopens():
    stream = StreamingMoments().update(ROWS, NAMES, CODES, "uniform").close(None, "uniform")
    again = stream.update(ROWS[:1], ("tue",), np.array([0]), "uniform")
    assert (again.closed.names, tuple(again.open_groups)) == (("mon",), ("tue",))
    assert_same(again.moments("uniform"), Moments.of({"mon": MON, "tue": np.vstack([TUE, ROWS[:1]])}))


def test_closing_twice_is_harmless_and_unknown_groups_raise():
    stream = StreamingMoments().update(ROWS, NAMES, CODES, "uniform").close(["mon"], "uniform")
    assert stream.close(["mon"], "uniform") is stream
    with pytest.raises(InputError, match=r"no group 'wed' to close. Open are 'tue'"):
        stream.close(["tue", "wed"], "uniform")
    both = stream.close(["tue", "tue"], "uniform")
    assert (both.closed.names, dict(both.open_groups)) == (NAMES, {})


def test_folded_group_cannot_grow():
    stream = StreamingMoments().update(NARROW, NAMES, CODES, "uniform").close(None, "uniform")
    with pytest.raises(InputError, match="Call close_groups only after the last row"):
        stream.update(NARROW, NAMES, CODES, "uniform")


def test_prior_must_not_change_after_closing():
    stream = StreamingMoments().update(ROWS, NAMES, CODES, "uniform").close(["mon"], "uniform")
    with pytest.raises(InputError, match="closed with prior 'uniform', now it is 'by_size'"):
        stream.update(ROWS, NAMES, CODES, "by_size")
    StreamingMoments().update(ROWS, NAMES, CODES, "uniform").update(
        ROWS, NAMES, CODES, "by_size"
    )  # allowed while no group is closed


def test_batch_with_same_key_counts_once():
    stream = StreamingMoments().update(ROWS, NAMES, CODES, "uniform", batch_id="monday 8 o'clock")
    assert stream.has_batch("monday 8 o'clock", 6)
    assert not stream.has_batch("monday 9 o'clock", 6)
    assert dict(stream.update(ROWS[:2], NAMES, CODES[:2], "uniform", batch_id=2).batch_ids) == {
        "monday 8 o'clock": 6,
        2: 2,
    }
    assert dict(stream.update(ROWS, NAMES, CODES, "uniform").batch_ids) == {"monday 8 o'clock": 6}
    with pytest.raises(InputError, match="counted before with 6 rows, got 5 rows now"):
        stream.has_batch("monday 8 o'clock", 5)
    with pytest.raises(InputError, match="batch_id must be hashable"):
        stream.has_batch([1], 6)


def test_invalid_weights_and_distances_raise_at_once():
    with pytest.raises(InputError, match="no weight for group 'tue'"):
        StreamingMoments().update(ROWS, NAMES, CODES, {"mon": 1.0})
    far = np.array([[0.0], [1.0], [1e150], [1e150]])
    with pytest.raises(InputError, match="leave the range of numbers"):
        StreamingMoments().update(far, NAMES, np.array([0, 0, 1, 1]), "uniform")
    near = StreamingMoments().update(far[:2], ("mon",), np.array([0, 0]), "uniform")
    for stream in (near, near.close(None, "uniform")):
        with pytest.raises(InputError, match="leave the range of numbers"):
            stream.update(far[2:], ("tue",), np.array([0, 0]), "uniform")
    distant = np.array([[0.0], [1.0], [1e140], [1e140]])  # its square does not overflow
    assert StreamingMoments().update(distant, NAMES, np.array([0, 0, 1, 1]), "uniform").names == NAMES
    # Far from zero, but close to each other.
    near = far[2:] * np.array([[1.0], [1 + 1e-10]])
    assert StreamingMoments().update(near, ("tue",), np.array([0, 0]), "uniform").names == ("tue",)
