"""Evidence: numbers known by hand."""

import numpy as np
import pytest

from undistract import Moments
from undistract.algebra import Evidence
from undistract.algebra.evidence import is_resolvable


def evidence(n_groups, n_rows, n_directions):
    return Evidence(n_groups, n_rows, n_directions, pure_distractor=0.9)


@pytest.mark.parametrize(("n_directions", "expected"), [(1, True), (18, True), (19, False)])
def test_ten_groups_resolve_half_of_up_to_eighteen_directions(n_directions, expected):
    assert is_resolvable(10, n_directions) is expected
    assert evidence(10, 100, n_directions).is_resolvable is expected


def test_unresolved_directions_are_those_that_group_means_cannot_span():
    assert [evidence(10, 100, n).n_unresolved for n in (0, 9, 10, 40)] == [0, 0, 1, 31]
    assert [evidence(10, 100, n).resolvable_share for n in (0, 1, 9, 10, 90)] == [1.0, 1.0, 1.0, 0.9, 0.1]


def test_noise_edges_follow_wachter():
    # n = 101, M = 51, d = 20: p = 1/2, q = 1/5, and (√.4 ± √.1)² = .5 ± .4
    assert evidence(51, 101, 20).noise_edges == (pytest.approx(0.1), pytest.approx(0.9))


@pytest.mark.parametrize("n_directions", [0, 10, 11])
def test_noise_edges_are_zero_and_one_with_too_few_rows(n_directions):
    few = evidence(3, 11, n_directions)
    assert few.noise_edges == (0.0, 1.0)
    assert few.noise_above(0.5) == few.n_unresolved == max(n_directions - 2, 0)


def test_noise_above_the_upper_edge_counts_only_unresolved_directions():
    assert evidence(51, 101, 20).noise_above(0.9001) == 0
    assert evidence(11, 101, 20).noise_above(1.0) == 10
    assert evidence(51, 101, 20).noise_above(0.0) == pytest.approx(20, rel=1e-6)
    assert evidence(51, 101, 20).noise_above(0.05) == pytest.approx(20, rel=1e-6)  # nothing is below the lower edge


def test_one_row_has_no_degrees_of_freedom():
    assert evidence(1, 1, 0).noise_edges == (0.0, 1.0)


def test_pure_distractor_depends_on_rows_and_weights():
    # Groups of 2 and 6 rows with weights 1 and 3: within = 1/4 · 1/2 + 3/4 · 5/6, noise = 1/4 · 3/4 · (1/2 + 1/6)
    groups = {"a": np.ones((2, 1)), "b": np.zeros((6, 1))}
    evidence_of_groups = Evidence.of(Moments.of(groups, {"a": 1.0, "b": 3.0}), 1)
    within, noise = 1 / 8 + 5 / 8, 3 / 16 * (1 / 2 + 1 / 6)
    assert evidence_of_groups.pure_distractor == pytest.approx(within / (within + noise), rel=1e-14)
    assert (evidence_of_groups.n_groups, evidence_of_groups.n_rows, evidence_of_groups.n_directions) == (2, 8, 1)


def test_groups_of_one_row_have_no_pure_distractor():
    assert Evidence.of(Moments.of([[[1.0]], [[2.0]]]), 1).pure_distractor == 0.0
