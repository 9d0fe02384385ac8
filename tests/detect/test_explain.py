"""Why a row was flagged."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from undistract import Focus, InputError, KernelFocus
from undistract.detect import Alarm, FocusDetector, NearestDetector, RidgeMahalanobis, explain

LIGHT = np.linspace(-30, 30, 8)


def fitted(detector, removal="kept_span", adapt=False):
    rng = np.random.default_rng(0)
    days = np.repeat(np.arange(20), 50)
    X = rng.normal(size=(20, 8))[days] * 0.3 + rng.normal(size=(1000, 8)) + rng.normal(size=(1000, 1)) * LIGHT
    today = X[:60] + 0.0
    today[7, 3] += 12
    watch = FocusDetector(Focus(removal=removal, n_remove=1), detector, 0.05, adapt=adapt).fit(X, sets=days)
    return watch, today


EXACT = [NearestDetector(), NearestDetector(how="kth"), RidgeMahalanobis()]


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique"])
@pytest.mark.parametrize("detector", EXACT, ids=str)
def test_contributions_sum_to_the_score_and_name_the_feature(detector, removal, adapt):
    watch, today = fitted(detector, removal, adapt)
    scores = watch.anomaly_score(today)
    for one in explain(watch, today, [7, 20, 33]):
        assert one.exact
        assert one.contributions.sum() == pytest.approx(one.score, rel=1e-9)
        assert one.score == pytest.approx(scores[one.row], rel=1e-9)
    assert explain(watch, today, [7])[0].strongest(1)[0][0] == "x3"


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize(
    "detector", [IsolationForest(n_estimators=50, random_state=0), LocalOutlierFactor(novelty=True)], ids=str
)
def test_any_other_detector_is_explained_by_occlusion(detector, adapt):
    watch, today = fitted(detector, adapt=adapt)
    (one,) = explain(watch, today, [7])
    assert not one.exact
    assert one.score == pytest.approx(watch.anomaly_score(today)[7])
    assert one.strongest(1)[0][0] == "x3"
    assert "falls most without x3" in str(one)


def test_features_can_be_occluded_in_groups():
    watch, today = fitted(IsolationForest(n_estimators=50, random_state=0))
    (one,) = explain(watch, today, [7], groups=[[0, 1], [2, 3], [4, 5, 6, 7]])
    assert one.contributions[2] == one.contributions[3] == one.contributions.max()


def test_a_deviation_along_the_light_is_ignored_and_one_across_is_not():
    watch, today = fitted(NearestDetector())
    today[10] = np.median(today, axis=0) + 3 * LIGHT
    today[11] = np.median(today, axis=0) + 20 * np.array([1, -1, -1, 1, 1, -1, -1, 1])  # orthogonal to LIGHT
    along, across = explain(watch, today, [10, 11])
    assert along.ignored > 0.99
    assert across.ignored < 0.01
    assert f"{100 * along.ignored:.3g}% of its deviation" in str(along)
    assert along.score < 0.3 * across.score


def test_an_alarm_is_explained_at_its_peak():
    watch, today = fitted(NearestDetector())
    assert explain(watch, today, [Alarm("today", 5, 9, peak=7, score=1.0)])[0].row == 7


def test_names_come_from_the_data_frame_or_are_given():
    rng = np.random.default_rng(0)
    names = [f"sensor {place}" for place in range(4)]
    days = np.repeat(np.arange(10), 30)
    X = pd.DataFrame(rng.normal(size=(300, 4)) * [1, 20, 1, 1], columns=names)
    watch = FocusDetector(Focus()).fit(X, sets=days)
    assert explain(watch, X, [3])[0].feature_names == tuple(names)
    assert explain(watch, X, [3], feature_names="abcd")[0].feature_names == ("a", "b", "c", "d")
    with pytest.raises(InputError, match="3 names for 4 features"):
        explain(watch, X, [3], feature_names="abc")


def test_a_row_that_is_not_there_is_refused():
    watch, today = fitted(NearestDetector())
    with pytest.raises(InputError, match="rows go from 60 to 60, but X has rows 0 to 59"):
        explain(watch, today, [60])
    assert explain(watch, today, []) == []


def test_a_focus_along_curves_is_told_to_have_no_directions():
    # It was an AttributeError about projection_.
    rng = np.random.default_rng(0)
    X, days = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    watch = FocusDetector(KernelFocus(n_remove=1)).fit(X, sets=days)
    with pytest.raises(InputError, match=r"KernelFocus removes no straight directions.*behind a Focus"):
        explain(watch, X[:20], [3])


@pytest.mark.parametrize("groups", [[[0, 9]], [[0, 1], []], [[-1]]], ids=str)
def test_groups_of_features_that_are_not_there_are_refused(groups):
    # An IndexError, a division by nothing, and the last feature.
    watch, today = fitted("lof")
    with pytest.raises(InputError, match="give features from 0 to 7"):
        explain(watch, today, [7], groups=groups)
