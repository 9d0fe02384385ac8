"""The demo: FOCUS removes the light, and detectors find the hidden digits."""

import warnings
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from undistract import Focus
from undistract.datasets import make_illuminated_digits
from undistract.demo import DETECTORS, NEIGHBOURS, compare, print_demo, run_demo
from undistract.errors import EvidenceWarning

OTHER_SEEDS = range(1, 6)


@pytest.fixture(scope="module")
def demo():
    return run_demo()


def fit(digits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # 64 groups cannot resolve all of 64 directions
        return Focus().fit_groups(digits.training)


def test_focus_removes_the_two_directions_of_light(demo):
    across = np.linspace(-1, 1, 8)
    light = np.column_stack([np.tile(across, 8), np.repeat(across, 8)])
    removed = np.linalg.qr(demo.focus.patterns_[:, : demo.focus.n_removed_])[0]
    cosines = np.linalg.svd(removed.T @ np.linalg.qr(light)[0], compute_uv=False)
    assert demo.focus.n_removed_ == 2
    assert np.degrees(np.arccos(cosines.min())) < 5  # between 1° and 3° in practice


def test_focus_raises_the_average_precision_of_every_detector(demo):
    assert [comparison.detector for comparison in demo.comparisons] == list(DETECTORS)
    for comparison in demo.comparisons:
        assert comparison.focus.average_precision > comparison.raw.average_precision + 0.4
        assert comparison.focus.false_alarms < comparison.raw.false_alarms


def test_focus_is_as_good_as_the_oracle_over_other_seeds():
    precision = []
    for seed in OTHER_SEEDS:
        digits = make_illuminated_digits(seed=seed)
        result = compare(NEIGHBOURS, digits, fit(digits))
        precision.append([result.raw.average_precision, result.focus.average_precision, result.clean.average_precision])
    raw, focus, clean = np.mean(precision, axis=0)
    assert focus > raw + 0.5
    assert focus > clean - 0.05


def test_nothing_is_removed_without_light():
    digits = make_illuminated_digits(amplitude=0.0)
    focus = fit(digits)
    result = compare(NEIGHBOURS, digits, focus)
    assert focus.n_removed_ == 0
    assert result.raw.average_precision == result.focus.average_precision == result.clean.average_precision


def test_false_alarms_are_normal_rows_with_the_highest_scores(demo):
    outcome = demo.comparison(NEIGHBOURS).raw
    strongest = sorted(range(len(outcome.scores)), key=lambda row: -outcome.scores[row])[:8]
    assert outcome.false_alarms == sum(not demo.digits.is_anomaly[row] for row in strongest)


def test_output_contains_the_evidence_and_no_caution(demo):
    buffer = StringIO()
    print_demo(demo, Console(width=300, file=buffer))
    text = buffer.getvalue()
    assert str(demo.focus.summary()) in text
    assert "Evidence: 64 groups can show differences in 63 of 64 directions; for the other one there is no" in text
    assert "Caution" not in text
    assert "182 fives with 8 fours hidden among them" in text
    for comparison in demo.comparisons:
        assert f"{comparison.focus.average_precision:.2f}, {comparison.focus.false_alarms} false" in text


def test_the_demo_raises_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_demo(seed=9)
