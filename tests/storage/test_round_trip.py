"""A thing that was saved and loaded does the same, to the bit."""

import json
from dataclasses import replace
from datetime import date, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.strategies import hard_sets, law, plain_sets, removals, wide_sets
from undistract import Focus, InputError, Moments, NearestDetector, Recogniser, Scores, describe_file, load, save
from undistract.algebra import Taught
from undistract.algebra.soft_filter import SoftFilter
from undistract.detect import detector
from undistract.storage import detector_kinds, focus_kinds, recognise_kinds

from .things import DAYS, arrays_of, focus, folded, rows, same_bits, things

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
THINGS = things()


def again(thing, folder):
    return load(save(thing, folder / "thing.undistract"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("name", THINGS)
def test_everything_does_the_same_after_it_was_loaded(name, tmp_path):
    thing = THINGS[name]
    loaded = again(thing, tmp_path)
    assert type(loaded) is type(thing)
    assert same_bits(arrays_of(thing), arrays_of(loaded))


@pytest.mark.parametrize("name", [name for name, thing in THINGS.items() if hasattr(thing, "get_params")])
def test_an_estimator_comes_back_with_every_attribute_and_setting(name, tmp_path):
    thing = THINGS[name]
    loaded = again(thing, tmp_path)
    assert set(vars(loaded)) == set(vars(thing))
    assert repr(loaded) == repr(thing)


@pytest.mark.parametrize("name", THINGS)
def test_the_same_thing_is_the_same_file(name, tmp_path):
    first = save(THINGS[name], tmp_path / "first").read_bytes()
    assert save(load(tmp_path / "first"), tmp_path / "second").read_bytes() == first


@law
@given(hard_sets(), st.sampled_from(["uniform", "by_size"]))
def test_moments_join_with_others_as_if_they_had_never_been_away(folder, sets, prior):
    names = list(sets)
    first, second = Moments.of({names[0]: sets[names[0]]}, prior), Moments.of({n: sets[n] for n in names[1:]}, prior)
    assert same_bits(arrays_of_sum(first + second), arrays_of_sum(again(first, folder) + again(second, folder)))


@law
@given(
    st.one_of(plain_sets(), wide_sets()),
    st.sampled_from([*removals, "soft"]),
    st.sampled_from(["uniform", "by_size", "given"]),
)
def test_focus_transforms_to_the_same_bits(folder, sets, removal, prior):
    weights = prior if prior != "given" else tuple(range(1, len(sets) + 1))
    learned = Focus(n_remove=1, removal=removal, prior=weights).fit_sets(sets)
    loaded = again(learned, folder)
    X = np.concatenate(sets)
    for narrow in (X, X.astype(np.float32)):
        assert same_bits([learned.transform(narrow)], [loaded.transform(narrow)])
    assert loaded.prior == weights


def arrays_of_sum(moments):
    return [moments.names, moments.counts, moments.weights, moments.mean, moments.within, moments.between]


@pytest.mark.parametrize("start", ["fit", "partial_fit"])
def test_learning_goes_on_after_loading(start, tmp_path):
    X, first = rows(), DAYS < 4
    learned = getattr(Focus(), start)(X[first], sets=DAYS[first])
    loaded = again(learned, tmp_path)
    for one in (learned, loaded):
        one.partial_fit(X[50:], sets=DAYS[50:])  # day 3 grows, days 4 to 7 are new
    assert same_bits(arrays_of(learned), arrays_of(loaded))
    assert loaded.moments_.names == tuple(range(8))
    assert loaded.moments_.n_rows == 130


def test_folded_moments_still_say_that_a_set_cannot_grow(tmp_path):
    loaded = again(Focus().fit_moments(folded()), tmp_path)
    with pytest.raises(InputError, match="was folded into matrices together with 7 others"):
        loaded.partial_fit(rows()[:2], sets=[0, 0])


def test_names_of_features_survive(tmp_path):
    frame = pd.DataFrame(rows(), columns=["load", "heat", "Zähler", "fan", "x<y"])
    loaded = again(Focus(n_remove=1).fit(frame, sets=DAYS), tmp_path)
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
@given(st.recursive(name_leaves, lambda some: st.lists(some, max_size=3).map(tuple), max_leaves=5))
def test_names_of_sets_survive_with_their_types(folder, name):
    found = again(Scores(name, [1.0]), folder).name
    assert found == name
    assert repr(found) == repr(name)  # 1, 1.0 and True are equal


@pytest.mark.parametrize(
    "name", [b"bytes", frozenset("a"), 1j, pd.Timestamp("2024-01-01 00:00:00.000000001"), object()]
)
def test_another_name_is_refused(name, tmp_path):
    with pytest.raises(InputError, match=r"moments\.names\.0 is .* which a file cannot hold.*with str"):
        save(Moments.of([(name, rows())]), tmp_path / "moments")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
def test_a_time_of_numpy_names_a_set(unit, tmp_path):
    """A list of them named sets, and the model could not be saved: "a tuple, expected a tuple of names"."""
    names = np.array([0, 1, 2], dtype=f"datetime64[{unit}]")
    learned = Focus(n_remove=1).fit(rows()[:30], sets=[names[number // 10] for number in range(30)])
    loaded = again(learned, tmp_path)
    assert loaded.moments_.names == learned.moments_.names == tuple(names)
    assert [name.dtype for name in loaded.moments_.names] == [names.dtype] * 3
    assert loaded.partial_fit(rows()[:10], sets=[names[0]] * 10).moments_.n_sets == 3


@pytest.mark.parametrize("name", [np.datetime64("NaT"), np.datetime64(3, "W"), np.datetime64(3, "25s")])
def test_a_time_of_numpy_that_is_none_or_has_another_unit_is_refused(name, tmp_path):
    with pytest.raises(InputError, match=r"scores\.name is .* which a file cannot hold.*with str"):
        save(Scores(name, [1.0]), tmp_path / "scores")


@pytest.mark.parametrize("unit", ["Y", "D", "s", "ms", "us", "ns"])
def test_times_of_scores_keep_their_unit(unit, tmp_path):
    times = np.array(["2024-02-29", "2031-01-01"], dtype=f"datetime64[{unit}]")
    found = again(Scores(day, [1.0, 2.0], times), tmp_path)
    assert found.times.dtype == times.dtype
    assert (found.times == times).all()
    assert found.name == day


CLASSES = {
    "texts": ["left", "right", "left"],
    "texts with room": np.array(["é", "", "é"], dtype="U9"),
    "texts of a frame": pd.Series(["left", "right", "left"]),
    "categories": pd.Categorical(["left", "right", "left"]),
    "numbers": [7, -3, 7],
    "narrow numbers": np.array([7, 255, 7], dtype=np.uint8),
    "floats": [1.0, 2.0, 1.0],
    "truth": [True, False, True],
    "days": np.array(["2024-02-29", "2031-01-01", "2024-02-29"], dtype="datetime64[D]"),
}


def recogniser(names):
    return Recogniser(Moments.of_labelled(rows(), DAYS)).fit(rows()[[0, 60, 90]], names)


@pytest.mark.parametrize("kind", CLASSES)
def test_names_of_classes_survive_with_their_types(kind, tmp_path):
    learned = recogniser(CLASSES[kind])
    loaded = again(learned, tmp_path)
    assert same_bits(arrays_of(learned), arrays_of(loaded))
    assert list(map(type, loaded.classes_)) == list(map(type, learned.classes_))


@pytest.mark.parametrize("names", [np.array([1, 2, 1], dtype=np.longdouble), np.array([1, 2, 1], dtype="m8[s]")])
def test_names_of_classes_that_a_file_cannot_hold_are_refused(names, tmp_path):
    with pytest.raises(InputError, match=r"recogniser\.classes is an array of .*Convert it first"):
        save(recogniser(names), tmp_path / "recogniser")
    assert list(tmp_path.iterdir()) == []


def test_names_of_classes_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(recognise_kinds, "MOST_CHARACTERS", 100)
    with pytest.raises(InputError, match=r"2 names of 80 letters each take more than 100 in all; give shorter names"):
        save(recogniser(np.array(["a", "b", "a"], dtype="U80")), tmp_path / "recogniser")


def test_nothing_is_solved_again_for_a_recogniser_that_is_loaded(tmp_path, monkeypatch):
    path = save(recogniser(["left", "right", "left"]), tmp_path / "recogniser")
    monkeypatch.setattr("undistract.algebra.likelihood._Solved.of", None)
    assert load(path).predict(rows()).shape == (120,)


def test_settings_that_numpy_made_come_back_as_plain_numbers(tmp_path):
    weights = pd.Series([1.0, 2.0], index=["mon", "tue"])
    loaded = again(Focus(cutoff=np.float64(0.9), n_remove=np.int64(3), prior=weights), tmp_path)
    assert (loaded.cutoff, loaded.n_remove, loaded.prior) == (0.9, 3, {"mon": 1.0, "tue": 2.0})


@pytest.mark.parametrize("name", ["lof", "isolation_forest"])
def test_models_of_other_libraries_are_refused_by_name(name, tmp_path):
    fitted = detector(name).fit(rows())
    for thing in (fitted, {"detector": fitted}, fitted.estimator_):
        with pytest.raises(InputError, match=r"(LocalOutlierFactor|IsolationForest) .*run code.*NearestDetector"):
            save(thing, tmp_path / "model")


@pytest.mark.parametrize("thing", [3, None, [1.0], "focus", np.eye(2), Focus])
def test_what_was_not_learned_is_refused(thing, tmp_path):
    with pytest.raises(InputError):
        save(thing, tmp_path / "model")


def test_what_load_would_refuse_is_not_written(tmp_path):
    nearest = NearestDetector(n_neighbors=3).fit(rows()).set_params(n_neighbors=500)
    with pytest.raises(InputError, match=r"500 neighbours .* n_samples = 120"):
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


def test_a_description_reads_the_header_alone(tmp_path):
    path = save(THINGS["bundle"], tmp_path / "model", provenance={"sources": ["a.mp4"], "seconds": 1.5})
    # The last number is spoilt: a description does not look at it, loading does.
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    about = describe_file(path)
    assert about["kind"] == "bundle"
    assert about["format_version"] == 1
    assert about["provenance"] == {"sources": ["a.mp4"], "seconds": 1.5}
    assert about["content"]["features"] == {"of": "pixels", "size": [32, 32], "mean": "F64 (3,)", "whole": True}
    assert about["content"]["focus"]["settings"]["removal"] == "kept_span"
    assert about["content"]["focus"]["moments"]["names"] == list(range(8))
    assert about["arrays"]["bundle.detector.rows"] == "F64 (120, 4)"
    json.dumps(about)
    with pytest.raises(InputError, match="damaged"):
        load(path)


def test_a_soft_filter_of_older_files_is_read():
    kept = SoftFilter.of(np.array([[3.0], [4.0]]), np.array([8.0]))
    fields = {"directions": kept.directions, "shrink": 1 - 1 / kept.stretch}
    found = detector_kinds.RECORDS["SoftFilter"].together(None, fields, "filter")
    assert found.stretch == pytest.approx(kept.stretch, rel=1e-14)
    with pytest.raises(InputError, match="needs either stretch or shrink"):
        detector_kinds.RECORDS["SoftFilter"].together(None, {"directions": kept.directions}, "filter")


def test_a_soft_focus_is_taught_on_with_its_own_strength_after_loading(tmp_path):
    learned = focus(removal="soft", strength=25.0)
    loaded = again(learned, tmp_path)
    taught = [one.taught_by(Taught(rows()[:3])) for one in (learned, loaded)]
    assert all(one.projection_.strength == 25.0 for one in taught)
    assert same_bits([taught[0].transform(rows())], [taught[1].transform(rows())])


def test_a_soft_projection_without_its_filter_is_refused():
    learned = focus(removal="soft")
    fields = focus_kinds._take_focus(learned) | {"settings": learned.get_params()}
    with pytest.raises(InputError, match="lacks the soft filter"):
        focus_kinds._projection(fields | {"soft_filter": None})
    with pytest.raises(InputError, match="only a soft projection has a filter"):
        focus_kinds._projection(fields | {"removal": "oblique"})
