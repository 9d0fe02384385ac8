from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from undistract.detect.leave_in import risen

margins = st.floats(-1e99, 1e99) | st.floats(-50, 50)
reaches = st.floats(1e-300, 1e200) | st.floats(1e-6, 1e6)


@given(st.lists(st.tuples(margins, reaches), min_size=1, max_size=20))
def test_the_equation_is_solved_for_any_margin_and_reach(pairs):
    margin, reach = np.array(pairs).T
    found = risen(margin, reach)
    assert (found >= margin).all()
    # Between the neighbours of the answer (a relative 1e-9, and at least 1e-9) the two sides change places.
    near = 1e-9 * (1 + np.abs(found))
    assert (found - near - margin <= reach * expit(near - found)).all()
    assert (found + near - margin >= reach * expit(-near - found)).all()


@given(margins, st.tuples(reaches, reaches))
def test_more_reach_rises_higher(margin, two):
    less, more = sorted(two)
    low, high = risen(np.full(2, margin), np.array([less, more]))
    assert low <= high or low == pytest.approx(high, rel=1e-12)
