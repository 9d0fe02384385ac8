"""A saved and loaded object gives the same results, bit for bit."""

import json
from dataclasses import replace
from datetime import date, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.strategies import hard_groups, law, plain_groups, removals, wide_groups
from undistract import FewShotClassifier, Focus, InputError, Moments, NearestDetector, Scores, describe_file, load, save
from undistract._schema import REGISTRY
from undistract.algebra import Feedback
from undistract.detect import as_detector

from .things import DAYS, arrays_of, focus, folded, rows, same_bits, things

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
THINGS = things()


def again(saved, folder):
    return load(save(saved, folder / "thing.undistract"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("name", THINGS)
def test_loaded_object_gives_same_bits(name, tmp_path):
    saved = THINGS[name]
    loaded = again(saved, tmp_path)
    assert type(loaded) is type(saved)
    assert same_bits(arrays_of(saved), arrays_of(loaded))


@pytest.mark.parametrize("name", [name for name, saved in THINGS.items() if hasattr(saved, "get_params")])
def test_loaded_estimator_has_same_attributes_and_settings(name, tmp_path):
    saved = THINGS[name]
    loaded = again(saved, tmp_path)
    assert set(vars(loaded)) == set(vars(saved))
    assert repr(loaded) == repr(saved)


@pytest.mark.parametrize("name", THINGS)
def test_saving_is_deterministic(name, tmp_path):
    first = save(THINGS[name], tmp_path / "first").read_bytes()
    assert save(load(tmp_path / "first"), tmp_path / "second").read_bytes() == first


@law
@given(hard_groups(), st.sampled_from(["uniform", "by_size"]))
def test_loaded_moments_add_to_the_same_bits(folder, groups, prior):
    names = list(groups)
    first, second = (
        Moments.of({names[0]: groups[names[0]]}, prior),
        Moments.of({n: groups[n] for n in names[1:]}, prior),
    )
    assert same_bits(arrays_of_sum(first + second), arrays_of_sum(again(first, folder) + again(second, folder)))


@law
@given(
    st.one_of(plain_groups(), wide_groups()),
    st.sampled_from([*removals, "soft"]),
    st.sampled_from(["uniform", "by_size", "given"]),
)
def test_loaded_focus_transforms_to_the_same_bits(folder, groups, removal, prior):
    weights = prior if prior != "given" else tuple(range(1, len(groups) + 1))
    learned = Focus(n_remove=1, removal=removal, prior=weights).fit_groups(groups)
    loaded = again(learned, folder)
    X = np.concatenate(groups)
    for narrow in (X, X.astype(np.float32)):
        assert same_bits([learned.transform(narrow)], [loaded.transform(narrow)])
    assert loaded.prior == weights


def arrays_of_sum(moments):
    return [moments.names, moments.counts, moments.weights, moments.mean, moments.within, moments.between]


@pytest.mark.parametrize("start", ["fit", "partial_fit"])
def test_partial_fit_continues_after_loading(start, tmp_path):
    X, first = rows(), DAYS < 4
    learned = getattr(Focus(), start)(X[first], groups=DAYS[first])
    loaded = again(learned, tmp_path)
    for model in (learned, loaded):
        model.partial_fit(X[50:], groups=DAYS[50:])  # day 3 gets more rows, days 4 to 7 are new
    assert same_bits(arrays_of(learned), arrays_of(loaded))
    assert loaded.moments_.names == tuple(range(8))
    assert loaded.moments_.n_rows == 130


def test_folded_moments_cannot_grow_after_loading(tmp_path):
    loaded = again(Focus().fit_moments(folded()), tmp_path)
    with pytest.raises(InputError, match="was folded into matrices together with 7 others"):
        loaded.partial_fit(rows()[:2], groups=[0, 0])


def test_feature_names_survive(tmp_path):
    frame = pd.DataFrame(rows(), columns=["load", "heat", "Zähler", "fan", "x<y"])
    loaded = again(Focus(n_remove=1).fit(frame, groups=DAYS), tmp_path)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert loaded.transform(frame).shape == (120, 4)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"fan": "van"}))
    nearest = again(NearestDetector().fit(frame), tmp_path)
    assert nearest.anomaly_score(frame).shape == (120,)


day = date(2024, 2, 29)
name_leaves = st.one_of(
    st.text(),
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, timezone(timedelta(hours=2))])).map(lambda t: t.replace(fold=0)),
)


@law
@given(st.recursive(name_leaves, lambda names: st.lists(names, max_size=3).map(tuple), max_leaves=5))
def test_group_names_survive_with_their_types(folder, name):
    loaded = again(Scores(name, [1.0]), folder).name
    assert loaded == name
    assert repr(loaded) == repr(name)  # 1, 1.0 and True are equal


@pytest.mark.parametrize(
    "name", [b"bytes", frozenset("a"), 1j, pd.Timestamp("2024-01-01 00:00:00.000000001"), object()]
)
def test_unsupported_group_name_is_rejected(name, tmp_path):
    with pytest.raises(InputError, match=r"moments\.names\.0 is .* which a file cannot hold.*with str"):
        save(Moments.of([(name, rows())]), tmp_path / "moments")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
def test_numpy_datetime_as_group_name(unit, tmp_path):
    """Regression: with a list of them as labels the model could not be saved."""
    names = np.array([0, 1, 2], dtype=f"datetime64[{unit}]")
    learned = Focus(n_remove=1).fit(rows()[:30], groups=[names[number // 10] for number in range(30)])
    loaded = again(learned, tmp_path)
    assert loaded.moments_.names == learned.moments_.names == tuple(names)
    assert [name.dtype for name in loaded.moments_.names] == [names.dtype] * 3
    assert loaded.partial_fit(rows()[:10], groups=[names[0]] * 10).moments_.n_groups == 3


@pytest.mark.parametrize("name", [np.datetime64("NaT"), np.datetime64(3, "W"), np.datetime64(3, "25s")])
def test_unsupported_numpy_datetime_is_rejected(name, tmp_path):
    with pytest.raises(InputError, match=r"scores\.name is .* which a file cannot hold.*with str"):
        save(Scores(name, [1.0]), tmp_path / "scores")


@pytest.mark.parametrize("unit", ["Y", "D", "s", "ms", "us", "ns"])
def test_times_of_scores_keep_their_unit(unit, tmp_path):
    times = np.array(["2024-02-29", "2031-01-01"], dtype=f"datetime64[{unit}]")
    loaded = again(Scores(day, [1.0, 2.0], times), tmp_path)
    assert loaded.times.dtype == times.dtype
    assert (loaded.times == times).all()
    assert loaded.name == day


CLASSES = {
    "texts": ["left", "right", "left"],
    "wide texts": np.array(["é", "", "é"], dtype="U9"),
    "texts of a frame": pd.Series(["left", "right", "left"]),
    "categories": pd.Categorical(["left", "right", "left"]),
    "numbers": [7, -3, 7],
    "narrow numbers": np.array([7, 255, 7], dtype=np.uint8),
    "floats": [1.0, 2.0, 1.0],
    "truth": [True, False, True],
    "days": np.array(["2024-02-29", "2031-01-01", "2024-02-29"], dtype="datetime64[D]"),
}


def few_shot(names):
    return FewShotClassifier(Moments.from_labels(rows(), DAYS)).fit(rows()[[0, 60, 90]], names)


@pytest.mark.parametrize("kind", CLASSES)
def test_class_labels_survive_with_their_types(kind, tmp_path):
    learned = few_shot(CLASSES[kind])
    loaded = again(learned, tmp_path)
    assert same_bits(arrays_of(learned), arrays_of(loaded))
    assert list(map(type, loaded.classes_)) == list(map(type, learned.classes_))


@pytest.mark.parametrize("names", [np.array([1, 2, 1], dtype=np.longdouble), np.array([1, 2, 1], dtype="m8[s]")])
def test_unsupported_class_labels_are_rejected(names, tmp_path):
    with pytest.raises(InputError, match=r"fewshotclassifier\.classes is an array of .*Convert it first"):
        save(few_shot(names), tmp_path / "few_shot")
    assert list(tmp_path.iterdir()) == []


def test_too_long_class_labels_are_rejected(tmp_path, monkeypatch):
    module = REGISTRY["FewShotClassifier"].validate.__module__
    monkeypatch.setattr(f"{module}.MAX_CHARACTERS", 100)
    with pytest.raises(InputError, match="2 labels of 80 letters take more than 100 in total; use shorter labels"):
        save(few_shot(np.array(["a", "b", "a"], dtype="U80")), tmp_path / "few_shot")


def test_loading_a_recogniser_solves_nothing(tmp_path, monkeypatch):
    path = save(few_shot(["left", "right", "left"]), tmp_path / "few_shot")
    monkeypatch.setattr("undistract.few_shot._Solved.of", None)
    assert load(path).predict(rows()).shape == (120,)


def test_numpy_settings_become_python_numbers(tmp_path):
    weights = pd.Series([1.0, 2.0], index=["mon", "tue"])
    loaded = again(Focus(cutoff=np.float64(0.9), n_remove=np.int64(3), prior=weights), tmp_path)
    assert (loaded.cutoff, loaded.n_remove, loaded.prior) == (0.9, 3, {"mon": 1.0, "tue": 2.0})


@pytest.mark.parametrize("name", ["lof", "isolation_forest"])
def test_models_of_other_libraries_are_rejected_by_name(name, tmp_path):
    fitted = as_detector(name).fit(rows())
    for saved in (fitted, {"detector": fitted}, fitted.estimator_):
        with pytest.raises(InputError, match=r"(LocalOutlierFactor|IsolationForest) .*run code.*NearestDetector"):
            save(saved, tmp_path / "model")


@pytest.mark.parametrize("saved", [3, None, [1.0], "focus", np.eye(2), Focus])
def test_unsupported_objects_are_rejected(saved, tmp_path):
    with pytest.raises(InputError):
        save(saved, tmp_path / "model")


def test_unloadable_objects_are_not_written(tmp_path):
    nearest = NearestDetector(n_neighbors=3).fit(rows()).set_params(n_neighbors=500)
    with pytest.raises(InputError, match=r"got 500, .* n_samples = 120"):
        save(nearest, tmp_path / "model")
    with pytest.raises(InputError, match=r"threshold\.tail is <function .* which a file cannot hold"):
        save(replace(THINGS["quantile"], tail=lambda scores: scores), tmp_path / "model")
    loop = {}
    loop["loop"] = loop
    with pytest.raises(InputError, match="part of itself"):
        save(loop, tmp_path / "model")
    with pytest.raises(InputError, match="provenance is not plain JSON"):
        save(focus(), tmp_path / "model", provenance={"when": np.nan})
    assert list(tmp_path.iterdir()) == []


def test_describe_file_reads_only_the_header(tmp_path):
    path = save(THINGS["bundle"], tmp_path / "model", provenance={"sources": ["a.mp4"], "seconds": 1.5})
    # Damage the last number: describe_file does not read it, load does.
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    about = describe_file(path)
    assert about["kind"] == "bundle"
    assert about["format_version"] == 1
    assert about["provenance"] == {"sources": ["a.mp4"], "seconds": 1.5}
    assert about["content"]["features"] == {"of": "pixels", "size": [32, 32], "mean": "F64 (3,)", "whole": True}
    assert about["content"]["focus"]["settings"]["removal"] == "orthogonal"
    assert about["content"]["focus"]["moments"]["names"] == list(range(8))
    assert about["arrays"]["bundle.detector.rows"] == "F64 (120, 4)"
    json.dumps(about)
    with pytest.raises(InputError, match="damaged"):
        load(path)


def test_loaded_soft_focus_keeps_its_strength_with_feedback(tmp_path):
    learned = focus(removal="soft", strength=25.0)
    loaded = again(learned, tmp_path)
    taught = [model.with_feedback(Feedback(rows()[:3])) for model in (learned, loaded)]
    assert all(model.projection_.strength == 25.0 for model in taught)
    assert same_bits([taught[0].transform(rows())], [taught[1].transform(rows())])
