"""PROMISES 4 at all other public entry points: a finite result, or one typed error with a next step.

`test_bad_input.py` has `Focus` and the moments, `detect/test_degenerate.py` the detectors, `neural/` the encoder.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

from tests.test_bad_input import LABELS, extreme, good_rows, labels_for, refused, result_or_reason, split, usable
from undistract import (
    AlarmBudget,
    Conformal,
    FewShotClassifier,
    Focus,
    FocusDetector,
    FocusPenalty,
    GroupQuantile,
    InputError,
    Moments,
    NearestDetector,
    Quantile,
    Scores,
    SketchedMoments,
    Source,
    Tail,
    explain,
    find_alarms,
    learn,
    score,
    transform,
)
from undistract.detect.metrics import quality

pytestmark = [
    pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning"),
    pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning"),
    pytest.mark.filterwarnings("ignore:X has feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
]


def watch():
    return FocusDetector(Focus(n_remove=1), NearestDetector(n_neighbors=2), Quantile(0.1))


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings(action="ignore"):
        return watch().fit(good_rows(), groups=LABELS)


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings(action="ignore"):
        return learn([Source(name, rows) for name, rows in split(good_rows()).items()], n_known=20)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "z.npy"


def penalised(rows):
    labels = labels_for(rows)
    penalty = FocusPenalty(Ridge(), Focus(n_remove=1)).fit(rows, labels % 2, groups=labels)
    return np.concatenate([penalty.coef_.ravel(), penalty.predict(rows)])


def sketched(rows):
    moments = SketchedMoments.of(split(rows), size=3)
    return np.concatenate([moments.mean, moments.rows_within.ravel(), moments.rows_between.ravel()])


def recognised(rows, examples=None):
    """Fit to these rows, or to good ones, and classify these rows by examples."""
    taught = Moments.of(split(rows)) if examples is None else Moments.of(split(good_rows()))
    shown = good_rows()[::20]
    return (
        FewShotClassifier(taught)
        .fit(shown, np.arange(len(shown)))
        .predict_proba(good_rows() if examples is None else rows)
    )


def sources_of(rows):
    return [Source(name, part) for name, part in split(rows).items()]


DOORS = {
    "FocusDetector.fit": lambda rows, *_: watch().fit(rows, groups=labels_for(rows)).scores_,
    "FocusDetector.fit_groups": lambda rows, *_: watch().fit_groups(sources_of(rows)).anomaly_score(good_rows()),
    "FocusDetector.anomaly_score": lambda rows, fitted, *_: fitted.anomaly_score(rows),
    "FocusDetector.p_values": lambda rows, fitted, *_: fitted.p_values(rows),
    "FocusDetector.predict": lambda rows, fitted, *_: fitted.predict(rows),
    "FocusPenalty.fit": lambda rows, *_: penalised(rows),
    "FewShotClassifier taught": lambda rows, *_: recognised(rows),
    "FewShotClassifier.predict_proba": lambda rows, *_: recognised(rows, examples=True),
    "SketchedMoments.of": lambda rows, *_: sketched(rows),
    "explain": lambda rows, fitted, *_: [explanation.ignored for explanation in explain(fitted, rows, [0, 1])],
    "learn": lambda rows, *_: learn(sources_of(rows), n_known=20).detector.anomaly_score(good_rows()),
    "learn without rows": lambda rows, *_: learn(sources_of(rows), keep_rows=False).detector.distraction_,
    "score": lambda rows, _, model, __: score([Source("new", rows)], model).sources[0].after.values,
    "transform": lambda rows, fitted, _, target: transform(rows, fitted, target),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("rows", [*usable, *refused, *extreme])
def test_any_rows_give_finite_numbers_or_a_helpful_error(rows, door, fitted, model, target):
    data = (usable | refused | extreme)[rows]()
    result = result_or_reason(lambda: DOORS[door](data, fitted, model, target))
    assert result is None or np.isfinite(np.asarray(result, dtype=float)).all()
    if rows in ("NaN", "inf", "-inf", "no rows", "ragged", "strings", "complex", "nothing"):
        assert result is None, "an error was expected"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("rows", ["float32", "lists", "columns first", "read only", "int8"])
def test_usable_rows_are_used(rows, door, fitted, model, target):
    data = usable[rows]()
    if rows == "lists" and door in ("transform", "learn", "learn without rows", "score", "FocusDetector.fit_groups"):
        data = np.array(data)  # sources are created from arrays
    assert np.isfinite(np.asarray(DOORS[door](data, fitted, model, target), dtype=float)).all()


RNG = np.random.default_rng(0)
VALUES = {
    "plain": RNG.normal(size=300),
    "NaN": [0.0, np.nan, 2.0],
    "all NaN": [np.nan] * 5,
    "inf": [0.0, np.inf],
    "empty": [],
    "one": [1.0],
    "constant": [3.0] * 20,
    "1e308": np.sign(RNG.normal(size=20)) * 1e308,
    "1e-308": RNG.normal(size=20) * 1e-308,
    "float16": RNG.normal(size=20).astype(np.float16),
    "booleans": [True, False, True],
    "two dimensions": np.ones((3, 2)),
    "text": ["high", "low"],
    "objects": np.array([1, "a", None], dtype=object),
    "complex": [1j, 2.0],
    "sparse": scipy.sparse.csr_array(np.eye(3)),
    "nothing": None,
    "a number": 3.0,
    "ragged": [[1.0], [1.0, 2.0]],
}


def threshold_of(rule, values):
    threshold = rule([values] * 25)
    return [*threshold.p_values([0.0, 1.0, 9.0]), *threshold.alarms([0.0, 1e9])]


ON_VALUES = {
    "Scores": lambda values: Scores("a", values).values,
    "find_alarms": lambda values: [alarm.score for alarm in find_alarms(Scores("a", values), 0.5)],
    "Quantile": lambda values: threshold_of(Quantile(0.1), values),
    "Conformal": lambda values: threshold_of(Conformal(0.1), values),
    "GroupQuantile": lambda values: threshold_of(GroupQuantile(0.1), values),
    "Tail": lambda values: threshold_of(Tail(0.01), values),
    "AlarmBudget": lambda values: threshold_of(AlarmBudget(5, rows_per_day=100), values),
    "Threshold.alarms": lambda values: Quantile(0.1)([RNG.normal(size=20)] * 25).alarms(values),
    "Threshold.p_values": lambda values: Quantile(0.1)([RNG.normal(size=20)] * 25).p_values(values),
    "quality": lambda values: quality(values, np.arange(300) % 2).auroc,
}


@pytest.mark.parametrize("door", ON_VALUES)
@pytest.mark.parametrize("values", VALUES)
def test_any_scores_give_numbers_or_a_helpful_error(values, door):
    result = result_or_reason(lambda: ON_VALUES[door](VALUES[values]))
    if result is not None and values not in ("NaN", "all NaN"):  # a row without a score keeps NaN
        assert np.isfinite(np.asarray(result, dtype=float)).all()


@pytest.mark.parametrize("door", ON_VALUES)
def test_plain_scores_are_used(door):
    assert result_or_reason(lambda: ON_VALUES[door](VALUES["plain"])) is not None


@pytest.mark.parametrize(
    "groups", [good_rows(), split(good_rows()), list(split(good_rows()).items()), "days", None, 3, [None], [3.0, "a"]]
)
@pytest.mark.parametrize("door", ["learn", "score", "fit_groups"])
def test_error_for_other_types_explains_how_to_create_sources(door, groups, model):
    """Regression: arrays gave an AttributeError."""
    doors = {"learn": learn, "score": lambda groups: score(groups, model), "fit_groups": watch().fit_groups}
    with pytest.raises(InputError, match=r"Source\(name, rows\)"):
        doors[door](groups)
