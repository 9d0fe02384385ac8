"""Explanations of scores."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from undistract import Focus, InputError, KernelFocus
from undistract.detect import Alarm, FocusDetector, NearestDetector, RidgeMahalanobis, explain

LIGHT = np.linspace(-30, 30, 8)


def fitted(detector, removal="orthogonal", adapt=False):
    rng = np.random.default_rng(0)
    days = np.repeat(np.arange(20), 50)
    X = rng.normal(size=(20, 8))[days] * 0.3 + rng.normal(size=(1000, 8)) + rng.normal(size=(1000, 1)) * LIGHT
    today = X[:60] + 0.0
    today[7, 3] += 12
    model = FocusDetector(Focus(removal=removal, n_remove=1), detector, 0.05, adapt=adapt).fit(X, groups=days)
    return model, today


EXACT = [NearestDetector(), NearestDetector(aggregate="kth"), RidgeMahalanobis()]


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique"])
@pytest.mark.parametrize("detector", EXACT, ids=str)
def test_contributions_sum_to_score_and_show_the_feature(detector, removal, adapt):
    model, today = fitted(detector, removal, adapt)
    scores = model.anomaly_score(today)
    for explanation in explain(model, today, [7, 20, 33]):
        assert explanation.exact
        assert explanation.contributions.sum() == pytest.approx(explanation.score, rel=1e-9)
        assert explanation.score == pytest.approx(scores[explanation.row], rel=1e-9)
    assert explain(model, today, [7])[0].strongest(1)[0][0] == "x3"


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize(
    "detector", [IsolationForest(n_estimators=50, random_state=0), LocalOutlierFactor(novelty=True)], ids=str
)
def test_other_detectors_are_explained_by_occlusion(detector, adapt):
    model, today = fitted(detector, adapt=adapt)
    (explanation,) = explain(model, today, [7])
    assert not explanation.exact
    assert explanation.score == pytest.approx(model.anomaly_score(today)[7])
    assert explanation.strongest(1)[0][0] == "x3"
    assert "falls most without x3" in str(explanation)


def test_features_are_occluded_in_groups():
    model, today = fitted(IsolationForest(n_estimators=50, random_state=0))
    (explanation,) = explain(model, today, [7], feature_groups=[[0, 1], [2, 3], [4, 5, 6, 7]])
    assert explanation.contributions[2] == explanation.contributions[3] == explanation.contributions.max()


def test_ignored_share_is_one_along_light_and_zero_across():
    model, today = fitted(NearestDetector())
    today[10] = np.median(today, axis=0) + 3 * LIGHT
    today[11] = np.median(today, axis=0) + 20 * np.array([1, -1, -1, 1, 1, -1, -1, 1])  # orthogonal to LIGHT
    along, across = explain(model, today, [10, 11])
    assert along.ignored > 0.99
    assert across.ignored < 0.01
    assert f"{100 * along.ignored:.3g}% of its deviation" in str(along)
    assert along.score < 0.3 * across.score


def test_alarm_is_explained_at_its_peak():
    model, today = fitted(NearestDetector())
    assert explain(model, today, [Alarm("today", 5, 9, peak=7, score=1.0)])[0].row == 7


def test_feature_names_come_from_frame_or_argument():
    rng = np.random.default_rng(0)
    names = [f"sensor {index}" for index in range(4)]
    days = np.repeat(np.arange(10), 30)
    X = pd.DataFrame(rng.normal(size=(300, 4)) * [1, 20, 1, 1], columns=names)
    model = FocusDetector(Focus()).fit(X, groups=days)
    assert explain(model, X, [3])[0].feature_names == tuple(names)
    assert explain(model, X, [3], feature_names="abcd")[0].feature_names == ("a", "b", "c", "d")
    with pytest.raises(InputError, match="must have 4 names, one per feature, got 3"):
        explain(model, X, [3], feature_names="abc")


def test_row_out_of_range_raises_input_error():
    model, today = fitted(NearestDetector())
    with pytest.raises(InputError, match="between 0 and 59, the rows of X, got 60 to 60"):
        explain(model, today, [60])
    assert explain(model, today, []) == []


def test_nonlinear_focus_raises_input_error():
    # Regression: an AttributeError about projection_.
    rng = np.random.default_rng(0)
    X, days = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    model = FocusDetector(KernelFocus(n_remove=1)).fit(X, groups=days)
    with pytest.raises(InputError, match=r"KernelFocus is not a linear map.*linear Focus"):
        explain(model, X[:20], [3])


@pytest.mark.parametrize("groups", [[[0, 9]], [[0, 1], []], [[-1]]], ids=str)
def test_invalid_feature_groups_raise_input_error(groups):
    # Regression: an IndexError, a division by zero, and silently the last feature.
    model, today = fitted("lof")
    with pytest.raises(InputError, match="indices between 0 and 7"):
        explain(model, today, [7], feature_groups=groups)
