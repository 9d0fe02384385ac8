"""The contract of every registered detector and threshold rule."""

import numpy as np
import pytest
from sklearn.base import clone

from undistract import load, save
from undistract.detect import DETECTORS, SAVEABLE_DETECTORS, THRESHOLDS, as_detector

ROWS = np.random.default_rng(0).normal(size=(240, 5))
GROUPS = np.random.default_rng(1).exponential(size=(10, 400))


@pytest.mark.parametrize("name", DETECTORS)
def test_detector_scores_fitted_and_new_rows(name):
    detector = as_detector(name)
    assert detector.fit(ROWS) is detector
    assert detector.scores_.shape == (240,)
    scores = detector.anomaly_score(ROWS[:7] + 0.1)
    assert scores.shape == (7,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert not hasattr(clone(detector), "n_features_in_")


@pytest.mark.parametrize("name", SAVEABLE_DETECTORS)
def test_detector_is_saved_and_loaded(name, tmp_path):
    detector = as_detector(name).fit(ROWS)
    loaded = load(save(detector, tmp_path / "detector"))
    np.testing.assert_array_equal(loaded.anomaly_score(ROWS), detector.anomaly_score(ROWS))


@pytest.mark.parametrize("name", THRESHOLDS)
def test_rule_makes_a_threshold_with_decreasing_p_values(name, tmp_path):
    options = {"rows_per_day": 100} if name == "alarm_budget" else {}
    rule = THRESHOLDS[name](**options)
    threshold = rule(GROUPS)
    grid = np.linspace(0, 20, 300)
    # Each score alone: only Conformal judges the scores of a group together.
    p_values = np.concatenate([threshold.p_values([score]) for score in grid])
    assert (np.diff(p_values) <= 0).all()
    assert 0 < threshold.rate < 1
    assert threshold.guarantee <= 1
    assert repr(rule) == threshold.rule
    assert threshold.rule in str(threshold)
    loaded = load(save(threshold, tmp_path / "threshold"))
    assert loaded == threshold
    np.testing.assert_array_equal(loaded.p_values(GROUPS[0]), threshold.p_values(GROUPS[0]))
    assert load(save(rule, tmp_path / "rule")) == rule
