"""The demo tells the truth: FOCUS finds the light by itself, and the hidden digits after it."""

import warnings
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from undistract import Focus
from undistract.demo import DETECTORS, NEIGHBOURS, compare, run_demo, tell
from undistract.errors import EvidenceWarning
from undistract.sets import digits_under_light

OTHER_SEEDS = range(1, 6)


@pytest.fixture(scope="module")
def demo():
    return run_demo()


def learned(digits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # 64 sets leave one of 64 directions without evidence
        return Focus().fit_sets(digits.training)


def test_focus_removes_the_two_directions_of_light(demo):
    across = np.linspace(-1, 1, 8)
    light = np.column_stack([np.tile(across, 8), np.repeat(across, 8)])
    removed = np.linalg.qr(demo.focus.patterns_[:, : demo.focus.n_removed_])[0]
    cosines = np.linalg.svd(removed.T @ np.linalg.qr(light)[0], compute_uv=False)
    assert demo.focus.n_removed_ == 2
    assert np.degrees(np.arccos(cosines.min())) < 5  # between 1° and 3° in practice


def test_focus_raises_the_average_precision_of_every_detector(demo):
    assert [one.detector for one in demo.comparisons] == list(DETECTORS)
    for one in demo.comparisons:
        assert one.focus.average_precision > one.raw.average_precision + 0.4
        assert one.focus.false_alarms < one.raw.false_alarms


def test_focus_is_about_as_good_as_if_no_light_had_fallen_on_the_average_of_other_seeds():
    precision = []
    for seed in OTHER_SEEDS:
        digits = digits_under_light(seed=seed)
        found = compare(NEIGHBOURS, digits, learned(digits))
        precision.append([found.raw.average_precision, found.focus.average_precision, found.clean.average_precision])
    raw, focus, clean = np.mean(precision, axis=0)
    assert focus > raw + 0.5
    assert focus > clean - 0.05


def test_without_light_there_is_nothing_to_remove():
    digits = digits_under_light(amplitude=0.0)
    focus = learned(digits)
    found = compare(NEIGHBOURS, digits, focus)
    assert focus.n_removed_ == 0
    assert found.raw.average_precision == found.focus.average_precision == found.clean.average_precision


def test_false_alarms_are_the_normal_rows_among_the_strongest(demo):
    found = demo.comparison(NEIGHBOURS).raw
    strongest = sorted(range(len(found.scores)), key=lambda row: -found.scores[row])[:8]
    assert found.false_alarms == sum(not demo.digits.is_anomaly[row] for row in strongest)


def test_the_story_shows_cautions_as_words_and_not_as_a_warning(demo):
    told = StringIO()
    tell(demo, Console(width=300, file=told))
    told = told.getvalue()
    assert demo.focus.describe() in told
    assert "Caution: 64 sets can describe at most 63 directions" in told
    assert "182 fives with 8 fours hidden among them" in told
    for one in demo.comparisons:
        assert f"{one.focus.average_precision:.2f}, {one.focus.false_alarms} false" in told


def test_the_demo_raises_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_demo(seed=9)
