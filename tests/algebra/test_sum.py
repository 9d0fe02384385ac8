"""Python's own `sum` joins moments."""

import numpy as np
import pytest

from undistract import Moments, SetMoments


@pytest.mark.parametrize("kind", [lambda number, rows: Moments.of({number: rows}), lambda _, rows: SetMoments.of(rows)])
def test_sum_joins_what_plus_joins(kind):
    parts = [kind(number, rows) for number, rows in enumerate(np.random.default_rng(0).normal(size=(3, 9, 2)))]
    by_plus, by_sum = parts[0] + parts[1] + parts[2], sum(parts)
    assert np.array_equal(by_plus.mean, by_sum.mean)
    with pytest.raises(TypeError):
        1 + parts[0]
