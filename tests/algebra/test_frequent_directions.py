"""Frequent Directions in two dimensions, by hand; its bounds are laws (tests/laws/test_sketch_laws.py)."""

import numpy as np
import pytest

from undistract import InputError, SetMoments
from undistract.algebra import set_sketch
from undistract.algebra.frequent_directions import FrequentDirections
from undistract.algebra.set_sketch import SetSketch


def squares(sketch):
    return sketch.rows.T @ sketch.rows


def test_the_first_row_that_is_too_many_takes_its_square_off_all():
    # Two rows fill a sketch of size 1. For the third, the squares 16 and 9 become 16 - 9 and nothing.
    sketch = FrequentDirections.of([np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([[1.0, 0.0]])], 1, 2)
    assert squares(sketch) == pytest.approx(np.diag([1.0, 7.0]))
    assert len(sketch.rows) == 2
    assert sketch.dropped == pytest.approx(9.0)
    assert sketch.mass == 26.0
    assert sketch.bound == 13.0
    assert sketch.held == pytest.approx(8.0)


def test_nothing_is_dropped_while_there_is_room_nor_where_rows_lie_in_few_directions():
    rows = np.arange(80.0).reshape(40, 2)
    sketch = FrequentDirections.of([rows[:5], rows[5:17], rows[17:]], 20, 2)
    np.testing.assert_array_equal(sketch.rows, rows)  # as they came
    assert (sketch.dropped, sketch.mass) == (0.0, (rows**2).sum())
    line = np.outer(np.arange(1.0, 50.0), [3.0, 4.0])
    sketch = FrequentDirections.of([line], 2, 2)
    assert squares(sketch) == pytest.approx(line.T @ line)
    assert sketch.dropped <= 1e-12 * sketch.mass


def test_a_sum_may_be_scaled_and_joined():
    one = FrequentDirections.of([np.array([[3.0, 0.0], [0.0, 4.0], [1.0, 0.0]])], 1, 2)
    double = one.scaled(4.0)
    assert squares(double) == pytest.approx(4 * squares(one))
    assert (double.size, double.dropped, double.mass) == (1, pytest.approx(36.0), 104.0)
    # diag(1, 7) and a row of 2: the squares 7 and 1 become 6 and nothing before it comes in.
    both = one + FrequentDirections.of([np.array([[2.0, 0.0]])], 1, 2)
    assert squares(both) == pytest.approx(np.diag([4.0, 6.0]))
    assert (both.dropped, both.mass) == (pytest.approx(10.0), 30.0)
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize("block_values", [1, 4, 2**22])
def test_a_set_in_pieces_is_the_set(block_values, monkeypatch):
    monkeypatch.setattr(set_sketch, "BLOCK_VALUES", block_values)
    rows = 1e6 + np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 4.0], [3.0, 2.0], [8.0, 2.0]])
    one = SetSketch.of("mon", iter([rows[:1], rows[1:4], rows[4:]]), size=9)
    centred = rows - rows.mean(axis=0)
    assert one.count == 5
    assert one.origin.tolist() == rows[0].tolist()
    assert one.offset == pytest.approx(rows.mean(axis=0) - rows[0])
    assert squares(one.scatter) == pytest.approx(centred.T @ centred)
    assert one.squares == pytest.approx((centred**2).sum(axis=0))
    assert one.scatter.dropped == 0.0


def test_pieces_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="Set 'mon' has 1 features, the others have 2"):
        SetSketch.of("mon", iter([np.ones((2, 2)), np.ones((2, 1))]), size=2)
    with pytest.raises(InputError, match="Set 'mon' came as SetMoments"):
        SetSketch.of("mon", iter([SetMoments.of([[1.0]])]), size=2)
    with pytest.raises(InputError, match="leave the range of numbers"):
        SetSketch.of("mon", iter([np.array([[0.0], [1e150]])]), size=2)
