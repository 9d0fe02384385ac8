from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from undistract.detect.discriminative import solve_margin

margins = st.floats(-1e99, 1e99) | st.floats(-50, 50)
reaches = st.floats(1e-300, 1e200) | st.floats(1e-6, 1e6)


@given(st.lists(st.tuples(margins, reaches), min_size=1, max_size=20))
def test_equation_is_solved_for_any_margin_and_reach(pairs):
    margin, reach = np.array(pairs).T
    solved = solve_margin(margin, reach)
    assert (solved >= margin).all()
    # Within 1e-9 of the solution (relative, at least absolute) the difference of both sides changes its sign.
    tolerance = 1e-9 * (1 + np.abs(solved))
    assert (solved - tolerance - margin <= reach * expit(tolerance - solved)).all()
    assert (solved + tolerance - margin >= reach * expit(-tolerance - solved)).all()


@given(margins, st.tuples(reaches, reaches))
def test_solution_increases_with_reach(margin, pair):
    less, more = sorted(pair)
    low, high = solve_margin(np.full(2, margin), np.array([less, more]))
    assert low <= high or low == pytest.approx(high, rel=1e-12)
