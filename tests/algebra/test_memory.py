"""Memory of moments does not grow with the number of rows."""

import tracemalloc

import numpy as np
import pytest

from undistract import GroupMoments, InputError, Moments

WIDTH = 150


def peak_of(n_groups, n_rows):
    """Return the peak memory of `Moments.of` for a stream of groups, in bytes, including the current group."""

    def stream():
        rng = np.random.default_rng(0)
        for number in range(n_groups):
            # Unequal sizes: then the sums for the de-biased distraction need separate matrices.
            yield number, rng.normal(size=(n_rows + number % 2, WIDTH))

    return peak(lambda: Moments.of(stream()))


def peak(function):
    tracemalloc.start()
    function()
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak_bytes


# Small groups are summed in batches, large ones one by one; both streams exceed the limit for stored rows.
@pytest.mark.parametrize(("n_groups", "n_rows"), [(60, 500), (12, 5000)])
def test_memory_does_not_grow_with_the_number_of_groups(n_groups, n_rows):
    assert peak_of(10 * n_groups, n_rows) < 1.2 * peak_of(n_groups, n_rows)


def test_large_matrices_are_joined_at_once():
    wide = 700

    def stream():
        rng = np.random.default_rng(0)
        for number in range(32):
            yield number, GroupMoments.of(rng.normal(size=(360 + number % 2, wide)))

    # The current group, two sums of four matrices each, their sum, and temporary arrays.
    assert peak(lambda: Moments.of(stream())) < 16 * 8 * wide**2


def test_join_raises_if_squared_distance_overflows():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    with pytest.raises(InputError, match="leave the range of numbers"):
        Moments.of({"a": rows}) + Moments.of({"b": rows + 1e200})
