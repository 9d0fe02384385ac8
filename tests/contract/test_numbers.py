"""The numbers of the package are those that were recorded."""

import numpy as np
import pytest

from tests.contract import data, numbers


@pytest.mark.parametrize("section", numbers.SECTIONS)
def test_numbers_are_as_recorded(section):
    if needed := numbers.missing(section):
        pytest.skip(f"not available: {needed}")
    lines = numbers.compare(section, numbers.recorded()[section], numbers.compute(section))
    assert not lines, (
        "\n".join(lines) + "\nIf the change is intended, add a line to tests/contract/CHANGES.md and run "
        "python -m tests.contract.write --numbers"
    )


@pytest.mark.parametrize("name", data.MADE)
def test_all_ways_to_fit_agree(name):
    """Labels, groups, chunks, batches and moments give one result; 1e-9 of the largest value is far above rounding.

    Far from the origin the rows themselves have only ten digits left, and float32 rows are added in another order.
    """
    if not data.is_available(name):
        pytest.skip("real data is not here")
    sample = data.MADE[name]()
    arrivals = dict(numbers.arrivals(sample))
    expected = numbers.calls.fit_focus(sample.rows, sample.groups)
    allowed = {"far_from_origin": 1e-7, "single_precision": 1e-6}.get(name, 1e-9)
    for way, focus in arrivals.items():
        assert focus.n_removed_ == expected.n_removed_, way
        np.testing.assert_allclose(focus.distraction_, expected.distraction_, rtol=0, atol=allowed, err_msg=way)


def test_file_is_small():
    """The record is read by people in diffs: 400 KB is the limit."""
    assert numbers.RECORDED.stat().st_size < 400_000


def test_difference_is_noticed():
    """A change of a thousandth of the tolerance passes, ten times the tolerance fails."""
    values = np.linspace(-1, 1, 40)
    expected = numbers.reduce_array(values)
    other = values.copy()
    other[17] += 1e-15
    assert numbers.difference(expected, numbers.reduce_array(other)) < numbers.TOLERANCE
    other[17] += 1e-10
    assert numbers.difference(expected, numbers.reduce_array(other)) > numbers.TOLERANCE
    assert numbers.difference(expected, numbers.reduce_array(values[::-1])) > 0.1
    assert numbers.difference(expected, numbers.reduce_array(values[:-1])) == np.inf
    assert numbers.difference(3, 4) == np.inf
