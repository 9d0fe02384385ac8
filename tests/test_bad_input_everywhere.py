"""PROMISES 4, at every other public door: a finite result, or one typed error that says what to do.

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
    FeatureSet,
    Focus,
    FocusDetector,
    FocusPenalty,
    InputError,
    Moments,
    MostSets,
    NearestDetector,
    Quantile,
    Recogniser,
    Scores,
    SketchedMoments,
    Tail,
    explain,
    find_alarms,
    learn,
    score,
    transform,
)
from undistract.detect.quality import quality

pytestmark = [
    pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning"),
    pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning"),
    pytest.mark.filterwarnings("ignore:X has feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
]


def watch():
    return FocusDetector(Focus(n_remove=1), NearestDetector(n_neighbors=2), Quantile(0.1))


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings(action="ignore"):
        return watch().fit(good_rows(), sets=LABELS)


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings(action="ignore"):
        return learn([FeatureSet(name, rows) for name, rows in split(good_rows()).items()], n_known=20)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "z.npy"


def penalised(rows):
    labels = labels_for(rows)
    found = FocusPenalty(Ridge(), Focus(n_remove=1)).fit(rows, labels % 2, sets=labels)
    return np.concatenate([found.coef_.ravel(), found.predict(rows)])


def sketched(rows):
    found = SketchedMoments.of(split(rows), size=3)
    return np.concatenate([found.mean, found.rows_inside.ravel(), found.rows_apart.ravel()])


def recognised(rows, examples=None):
    """Be taught by these rows, or by good ones, and tell these from examples."""
    taught = Moments.of(split(rows)) if examples is None else Moments.of(split(good_rows()))
    shown = good_rows()[::20]
    return Recogniser(taught).fit(shown, np.arange(len(shown))).predict_proba(good_rows() if examples is None else rows)


def sets_of(rows):
    return [FeatureSet(name, part) for name, part in split(rows).items()]


DOORS = {
    "FocusDetector.fit": lambda rows, *_: watch().fit(rows, sets=labels_for(rows)).scores_,
    "FocusDetector.fit_sets": lambda rows, *_: watch().fit_sets(sets_of(rows)).anomaly_score(good_rows()),
    "FocusDetector.anomaly_score": lambda rows, fitted, *_: fitted.anomaly_score(rows),
    "FocusDetector.p_values": lambda rows, fitted, *_: fitted.p_values(rows),
    "FocusDetector.predict": lambda rows, fitted, *_: fitted.predict(rows),
    "FocusPenalty.fit": lambda rows, *_: penalised(rows),
    "Recogniser taught": lambda rows, *_: recognised(rows),
    "Recogniser.predict_proba": lambda rows, *_: recognised(rows, examples=True),
    "SketchedMoments.of": lambda rows, *_: sketched(rows),
    "explain": lambda rows, fitted, *_: [one.ignored for one in explain(fitted, rows, [0, 1])],
    "learn": lambda rows, *_: learn(sets_of(rows), n_known=20).watch.anomaly_score(good_rows()),
    "learn without rows": lambda rows, *_: learn(sets_of(rows), keep_rows=False).watch.distraction_,
    "score": lambda rows, _, model, __: score([FeatureSet("new", rows)], model).sets[0].after.values,
    "transform": lambda rows, fitted, _, target: transform(rows, fitted, target),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("rows", [*usable, *refused, *extreme])
def test_any_rows_give_finite_numbers_or_a_reason(rows, door, fitted, model, target):
    given = (usable | refused | extreme)[rows]()
    found = result_or_reason(lambda: DOORS[door](given, fitted, model, target))
    assert found is None or np.isfinite(np.asarray(found, dtype=float)).all()
    if rows in ("NaN", "inf", "-inf", "no rows", "ragged", "strings", "complex", "nothing"):
        assert found is None, "it must be refused"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("rows", ["float32", "lists", "columns first", "read only", "int8"])
def test_usable_rows_are_used(rows, door, fitted, model, target):
    given = usable[rows]()
    if rows == "lists" and door in ("transform", "learn", "learn without rows", "score", "FocusDetector.fit_sets"):
        given = np.array(given)  # sets are made of arrays
    assert np.isfinite(np.asarray(DOORS[door](given, fitted, model, target), dtype=float)).all()


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
    found = rule([values] * 25)
    return [*found.p_values([0.0, 1.0, 9.0]), *found.alarms([0.0, 1e9])]


ON_VALUES = {
    "Scores": lambda values: Scores("a", values).values,
    "find_alarms": lambda values: [alarm.score for alarm in find_alarms(Scores("a", values), 0.5)],
    "Quantile": lambda values: threshold_of(Quantile(0.1), values),
    "Conformal": lambda values: threshold_of(Conformal(0.1), values),
    "MostSets": lambda values: threshold_of(MostSets(0.1), values),
    "Tail": lambda values: threshold_of(Tail(0.01), values),
    "AlarmBudget": lambda values: threshold_of(AlarmBudget(5, rows_per_day=100), values),
    "Threshold.alarms": lambda values: Quantile(0.1)([RNG.normal(size=20)] * 25).alarms(values),
    "Threshold.p_values": lambda values: Quantile(0.1)([RNG.normal(size=20)] * 25).p_values(values),
    "quality": lambda values: quality(values, np.arange(300) % 2).auroc,
}


@pytest.mark.parametrize("door", ON_VALUES)
@pytest.mark.parametrize("values", VALUES)
def test_any_scores_give_numbers_or_a_reason(values, door):
    found = result_or_reason(lambda: ON_VALUES[door](VALUES[values]))
    if found is not None and values not in ("NaN", "all NaN"):  # a row that was never scored stays so
        assert np.isfinite(np.asarray(found, dtype=float)).all()


@pytest.mark.parametrize("door", ON_VALUES)
def test_plain_scores_are_used(door):
    assert result_or_reason(lambda: ON_VALUES[door](VALUES["plain"])) is not None


@pytest.mark.parametrize(
    "sets", [good_rows(), split(good_rows()), list(split(good_rows()).items()), "days", None, 3, [None], [3.0, "a"]]
)
@pytest.mark.parametrize("door", ["learn", "score", "fit_sets"])
def test_what_are_no_sets_is_told_with_how_to_make_them(door, sets, model):
    """Arrays gave an AttributeError."""
    doors = {"learn": learn, "score": lambda sets: score(sets, model), "fit_sets": watch().fit_sets}
    with pytest.raises(InputError, match=r"FeatureSet\(name, rows\)"):
        doors[door](sets)
