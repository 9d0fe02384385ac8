"""Frequent Directions in two dimensions with known results; laws are in tests/laws/test_sketch_laws.py."""

import numpy as np
import pytest

from undistract import GroupMoments, InputError
from undistract.algebra import sketch as sketch_module
from undistract.algebra.sketch import FrequentDirections, SketchedMoments


def squares(sketch):
    return sketch.rows.T @ sketch.rows


def test_full_sketch_subtracts_the_smallest_square():
    # Two rows fill a sketch of size 1. Before the third, the squares 16 and 9 become 16 - 9 and 0.
    sketch = FrequentDirections.of([np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([[1.0, 0.0]])], 1, 2)
    assert squares(sketch) == pytest.approx(np.diag([1.0, 7.0]))
    assert len(sketch.rows) == 2
    assert sketch.dropped == pytest.approx(9.0)
    assert sketch.mass == 26.0
    assert sketch.bound == 13.0
    assert sketch.retained == pytest.approx(8.0)


def test_few_rows_and_low_rank_are_exact():
    rows = np.arange(80.0).reshape(40, 2)
    sketch = FrequentDirections.of([rows[:5], rows[5:17], rows[17:]], 20, 2)
    np.testing.assert_array_equal(sketch.rows, rows)  # unchanged
    assert (sketch.dropped, sketch.mass) == (0.0, (rows**2).sum())
    line = np.outer(np.arange(1.0, 50.0), [3.0, 4.0])
    sketch = FrequentDirections.of([line], 2, 2)
    assert squares(sketch) == pytest.approx(line.T @ line)
    assert sketch.dropped <= 1e-12 * sketch.mass


def test_sketch_can_be_scaled_and_joined():
    sketch = FrequentDirections.of([np.array([[3.0, 0.0], [0.0, 4.0], [1.0, 0.0]])], 1, 2)
    double = sketch.scaled(4.0)
    assert squares(double) == pytest.approx(4 * squares(sketch))
    assert (double.size, double.dropped, double.mass) == (1, pytest.approx(36.0), 104.0)
    # diag(1, 7) and a row of length 2: the squares 7 and 1 become 6 and 0 before it is added.
    both = sketch + FrequentDirections.of([np.array([[2.0, 0.0]])], 1, 2)
    assert squares(both) == pytest.approx(np.diag([4.0, 6.0]))
    assert (both.dropped, both.mass) == (pytest.approx(10.0), 30.0)
    with pytest.raises(TypeError):
        sketch + 1


@pytest.mark.parametrize("block_values", [1, 4, 2**22])
def test_chunks_give_the_same_sketch(block_values, monkeypatch):
    monkeypatch.setattr(sketch_module, "BLOCK_VALUES", block_values)
    rows = 1e6 + np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 4.0], [3.0, 2.0], [8.0, 2.0]])
    sketch = SketchedMoments.of([("mon", rows[:1]), ("mon", rows[1:4]), ("mon", rows[4:])], size=9)
    centred = rows - rows.mean(axis=0)
    assert sketch.counts.tolist() == [5]
    assert sketch.origin.tolist() == rows[0].tolist()
    assert sketch.offset == pytest.approx(rows.mean(axis=0) - rows[0])
    assert 5 * squares(sketch.within_sketch) == pytest.approx(centred.T @ centred)
    assert 5 * sketch.variances_within == pytest.approx((centred**2).sum(axis=0))
    assert sketch.traces == pytest.approx([(centred**2).sum()])
    assert sketch.dropped == 0.0


def test_invalid_chunks_raise():
    with pytest.raises(InputError, match="Group 'mon' has 1 features, the others have 2"):
        SketchedMoments.of([("mon", rows) for rows in [np.ones((2, 2)), np.ones((2, 1))]], size=2)
    with pytest.raises(InputError, match="got GroupMoments for group 'mon'"):
        SketchedMoments.of([("mon", rows) for rows in [GroupMoments.of([[1.0]])]], size=2)
    with pytest.raises(InputError, match="leave the range of numbers"):
        SketchedMoments.of([("mon", rows) for rows in [np.array([[0.0], [1e150]])]], size=2)
