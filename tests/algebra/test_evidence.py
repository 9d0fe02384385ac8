"""How much the sets can tell: numbers known by hand."""

import numpy as np
import pytest

from undistract import Moments
from undistract.algebra import Evidence
from undistract.algebra.evidence import speaks


def evidence(n_sets, n_rows, n_directions):
    return Evidence(n_sets, n_rows, n_directions, pure_distractor=0.9)


@pytest.mark.parametrize(("n_directions", "expected"), [(1, True), (18, True), (19, False)])
def test_ten_sets_speak_about_up_to_eighteen_directions(n_directions, expected):
    assert speaks(10, n_directions) is expected
    assert evidence(10, 100, n_directions).speaks is expected


def test_as_many_directions_are_silent_as_set_means_cannot_span():
    assert [evidence(10, 100, n).n_silent for n in (0, 9, 10, 40)] == [0, 0, 1, 31]
    assert [evidence(10, 100, n).heard for n in (0, 1, 9, 10, 90)] == [1.0, 1.0, 1.0, 0.9, 0.1]


def test_the_edges_of_noise_are_those_of_wachter():
    # n = 101, M = 51, d = 20: p = 1/2, q = 1/5, and (√.4 ± √.1)² = .5 ± .4
    assert evidence(51, 101, 20).noise_edges == (pytest.approx(0.1), pytest.approx(0.9))


@pytest.mark.parametrize("n_directions", [0, 10, 11])
def test_without_rows_to_spare_noise_can_read_anything(n_directions):
    few = evidence(3, 11, n_directions)
    assert few.noise_edges == (0.0, 1.0)
    assert few.noise_above(0.5) == few.n_silent == max(n_directions - 2, 0)


def test_noise_above_its_upper_edge_are_the_silent_alone():
    assert evidence(51, 101, 20).noise_above(0.9001) == 0
    assert evidence(11, 101, 20).noise_above(1.0) == 10
    assert evidence(51, 101, 20).noise_above(0.0) == pytest.approx(20, rel=1e-6)
    assert evidence(51, 101, 20).noise_above(0.05) == pytest.approx(20, rel=1e-6)  # below the lower edge is nothing


def test_one_row_is_no_freedom():
    assert evidence(1, 1, 0).noise_edges == (0.0, 1.0)


def test_a_pure_distractor_reads_by_rows_and_weights():
    # Sets of 2 and 6 rows that weigh 1 and 3: within = 1/4 · 1/2 + 3/4 · 5/6, wander = 1/4 · 3/4 · (1/2 + 1/6)
    sets = {"a": np.ones((2, 1)), "b": np.zeros((6, 1))}
    found = Evidence.of(Moments.of(sets, {"a": 1.0, "b": 3.0}), 1)
    within, wander = 1 / 8 + 5 / 8, 3 / 16 * (1 / 2 + 1 / 6)
    assert found.pure_distractor == pytest.approx(within / (within + wander), rel=1e-14)
    assert (found.n_sets, found.n_rows, found.n_directions) == (2, 8, 1)


def test_sets_of_one_row_each_show_no_distractor():
    assert Evidence.of(Moments.of([[[1.0]], [[2.0]]]), 1).pure_distractor == 0.0
