"""The story in a few functions, from files to a report."""

import numpy as np
import pytest

from undistract import (
    FeatureSet,
    Focus,
    InputError,
    Model,
    Moments,
    Reading,
    Recogniser,
    learn,
    merge,
    read_sets,
    save,
    score,
)
from undistract.detect import Scores
from undistract.workflow import ScoredSets, render, write_report
from undistract.workflow.scoring import Scored

LIGHT = np.linspace(-30, 30, 8)


def day(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    return rng.normal(size=8) + rng.normal(size=(n_rows, 8)) + rng.normal(size=(n_rows, 1)) * LIGHT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Thirty calm days and one with an event, as files."""
    folder = tmp_path_factory.mktemp("days")
    (folder / "calm").mkdir()
    for seed in range(30):
        np.save(folder / "calm" / f"day{seed}.npy", day(seed))
    odd = day(99)
    odd[31, 2] += 7
    np.save(folder / "odd.npy", odd)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return learn(read_sets(folder / "calm"))


def test_the_event_alarms_and_the_light_does_not(folder, model):
    scored = score(read_sets(folder / "odd.npy"), model)
    assert [(alarm.name, alarm.peak) for alarm in scored.alarms()[:1]] == [("odd.npy", 31)]
    one = scored.sets[0]
    assert one.after.values.argmax() == 31
    # It stands out further from what is allowed than it does as it is.
    assert one.after.values[31] / scored.threshold.value > 1.3 * one.before.values[31] / scored.plain_threshold.value
    assert one.ignored.mean() > 0.8
    assert one.source is not None


def test_a_model_says_the_same_after_saving(folder, model, tmp_path):
    again = Model.load(model.save(tmp_path / "street.focus", provenance={"command": "test"}))
    sets = read_sets(folder / "odd.npy")
    for one, two in zip(score(sets, model), score(sets, again), strict=True):
        np.testing.assert_array_equal(one.after.values, two.after.values)
        np.testing.assert_array_equal(one.before.values, two.before.values)
    assert again.threshold.value == model.threshold.value
    assert again.reading == model.reading


def test_scores_say_the_same_after_saving(folder, model, tmp_path):
    scored = score(read_sets(folder / "odd.npy"), model)
    again = ScoredSets.load(scored.save(tmp_path / "odd.scores"))
    assert [alarm.peak for alarm in again.alarms()] == [alarm.peak for alarm in scored.alarms()]
    np.testing.assert_array_equal(again.sets[0].ignored, scored.sets[0].ignored)
    assert again.sets[0].source == scored.sets[0].source


def test_two_sites_learn_as_one_without_sharing_a_row(folder):
    sets = read_sets(folder / "calm")
    together = Focus().fit_sets(sets)
    sites = [learn(some, keep_rows=False) for some in (sets[:15], sets[15:])]
    merged = merge(sites)
    np.testing.assert_allclose(merged.focus.distraction_, together.distraction_, rtol=1e-9)
    assert merged.focus.n_removed_ == together.n_removed_ == 1
    rows = np.concatenate([one.rows for one in sets])
    for site in sites:
        held = [value for value in vars(site.focus.moments_).values() if isinstance(value, np.ndarray)]
        held += [value for value in vars(site.focus.moments_.store).values() if isinstance(value, np.ndarray)]
        for value in held:
            if value.shape[-1:] == (8,):
                assert not (np.abs(np.atleast_2d(value)[:, None] - rows).max(axis=2) < 1e-9).any()


def test_sites_that_read_differently_are_not_merged(folder):
    sets = read_sets(folder / "calm")
    with pytest.raises(InputError, match="different features"):
        merge([learn(sets[:15], keep_rows=False), learn(sets[15:], keep_rows=False, reading=Reading(time="t"))])


def test_a_model_without_rows_judges_a_set_by_itself(folder):
    model = learn(read_sets(folder / "calm"), keep_rows=False)
    scored = score(read_sets(folder / "odd.npy"), model)
    assert scored.threshold is None
    assert scored.sets[0].after.values.argmax() == 31


def test_moments_and_a_focus_will_do_as_a_model(folder, tmp_path):
    sets = read_sets(folder / "calm")
    for thing in (Moments.of(sets), Focus().fit_sets(sets)):
        assert Model.load(save(thing, tmp_path / "thing")).focus.n_removed_ == 1


def test_other_files_are_no_model_and_no_scores(folder, model, tmp_path):
    scored = score(read_sets(folder / "odd.npy"), model).save(tmp_path / "odd.scores")
    rows = np.random.default_rng(0).normal(size=(6, 2))
    recogniser = save(Recogniser().fit(rows, [0, 0, 0, 1, 1, 1]), tmp_path / "faces.recogniser")
    for path in (scored, recogniser):
        with pytest.raises(InputError, match=f"{path.name} holds no model. Make one with: undistract learn"):
            Model.load(path)
    with pytest.raises(InputError, match="holds no scores"):
        ScoredSets.load(model.save(tmp_path / "model"))


def test_a_set_of_another_width_is_refused_with_numbers(model):
    with pytest.raises(InputError, match="has 5 features, the model learned from 8"):
        score([FeatureSet("wide", np.ones((4, 5)))], model)


def test_a_set_with_other_columns_is_refused_by_name(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"sensor {place}" for place in range(8)]
    for seed in range(12):
        pd.DataFrame(day(seed), columns=names).to_csv(tmp_path / f"day{seed}.csv", index=False)
    model = learn(read_sets(tmp_path))
    assert model.feature_names == tuple(names)
    pd.DataFrame(day(77), columns=[*names[:7], "other"]).to_csv(tmp_path / "odd.csv", index=False)
    with pytest.raises(InputError, match="the feature 'other' where the model learned from 'sensor 7'"):
        score(read_sets(tmp_path / "odd.csv"), model)


def test_windows_are_read_again_in_the_same_way(folder):
    how = Reading(window=3, stride=2)
    model = learn(read_sets(folder / "calm", how), reading=how)
    scored = score(read_sets(folder / "odd.npy", model.reading), model)
    peak = scored.sets[0].after.values.argmax()
    assert 2 * peak <= 31 <= 2 * peak + 2  # a window that holds row 31


def test_the_report_tells_of_the_event(folder, model, tmp_path):
    sets = read_sets(folder / "odd.npy")
    page = write_report(tmp_path / "odd.html", model, score(sets, model), sets=sets).read_text()
    for words in ("1 of 8 directions is ignored", "odd.npy, row 31", "carried by x2"):
        assert words in page


def test_nothing_to_learn_from_is_said():
    with pytest.raises(InputError, match="There are no sets to learn from"):
        learn([])


def test_a_clip_is_not_drawn_over_itself(tmp_path):
    source = tmp_path / "match.mp4"
    source.write_bytes(b"frames")
    one = Scored(Scores("match.mp4", [1.0], np.array([0.0])), None, np.array([0.5]), str(source))
    with pytest.raises(InputError, match=r"match\.mp4 is what is read; written there, it would be lost"):
        render(ScoredSets((one,), None, None), source)
    assert source.read_bytes() == b"frames"


@pytest.mark.parametrize("rate", [0.0, 5.0])
def test_a_rate_that_is_none_is_refused_before_a_row_is_read(rate):
    # It was refused at the very end, after all sets had been learned from.
    def read():
        raise AssertionError("a row was read")

    days = [FeatureSet.reading(day, read, n_features=3) for day in range(3)]
    with pytest.raises(InputError, match="rate="):
        learn(days, threshold=rate)


def test_one_row_cannot_be_judged_by_itself_and_its_set_is_named(model):
    # "Found array with 1 sample(s) ... required by NearestDetector": which of a hundred files, and what now?
    with pytest.raises(InputError, match=r"Set 'short' has 1 row.*Leave it out \(--ignore\)"):
        score([FeatureSet("long", day(1)), FeatureSet("short", day(2)[:1])], model, adapt=True)
