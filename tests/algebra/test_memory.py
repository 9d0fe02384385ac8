"""Sums stay flat: what is remembered does not grow with the rows that were read."""

import tracemalloc

import numpy as np
import pytest

from undistract import InputError, Moments, SetMoments

WIDTH = 150


def peak_of(n_sets, n_rows):
    """The most memory that a stream of sets takes, in bytes, the set at hand included."""

    def stream():
        rng = np.random.default_rng(0)
        for number in range(n_sets):
            # Unequal sizes: the sums behind the de-biased value are then matrices of their own.
            yield number, rng.normal(size=(n_rows + number % 2, WIDTH))

    return peak(lambda: Moments.of(stream()))


def peak(work):
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


# Small sets are summed many at a time, large ones one by one; both streams are longer than what is kept as rows.
@pytest.mark.parametrize(("n_sets", "n_rows"), [(60, 500), (12, 5000)])
def test_ten_times_the_sets_take_no_more_memory(n_sets, n_rows):
    assert peak_of(10 * n_sets, n_rows) < 1.2 * peak_of(n_sets, n_rows)


def test_large_matrices_do_not_wait_for_their_like():
    wide = 700

    def stream():
        rng = np.random.default_rng(0)
        for number in range(32):
            yield number, SetMoments.of(rng.normal(size=(360 + number % 2, wide)))

    # The piece at hand, two sums of four matrices each and the one they become, with what is needed on the way.
    assert peak(lambda: Moments.of(stream())) < 16 * 8 * wide**2


def test_sets_too_far_apart_to_be_squared_are_refused_when_they_join():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    with pytest.raises(InputError, match="leave the range of numbers"):
        Moments.of({"a": rows}) + Moments.of({"b": rows + 1e200})
