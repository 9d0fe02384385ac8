"""The main functions end to end, from files to a report."""

import numpy as np
import pytest

from undistract import (
    FewShotClassifier,
    Focus,
    InputError,
    Model,
    Moments,
    ReadOptions,
    Source,
    learn,
    merge,
    read_sources,
    save,
    score,
)
from undistract.detect import Scores
from undistract.pipeline import ScoreResult, render, write_report
from undistract.pipeline.scoring import SourceScores

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
    return learn(read_sources(folder / "calm"))


def test_event_alarms_and_light_does_not(folder, model):
    scored = score(read_sources(folder / "odd.npy"), model)
    assert [(alarm.name, alarm.peak) for alarm in scored.alarms()[:1]] == [("odd.npy", 31)]
    one = scored.sources[0]
    assert one.after.values.argmax() == 31
    # Relative to its threshold, it scores higher with focus than without.
    assert one.after.values[31] / scored.threshold.value > 1.3 * one.before.values[31] / scored.baseline_threshold.value
    assert one.ignored.mean() > 0.8
    assert one.source is not None


def test_saved_model_gives_the_same_scores(folder, model, tmp_path):
    again = Model.load(model.save(tmp_path / "street.focus", provenance={"command": "test"}))
    groups = read_sources(folder / "odd.npy")
    for one, two in zip(score(groups, model), score(groups, again), strict=True):
        np.testing.assert_array_equal(one.after.values, two.after.values)
        np.testing.assert_array_equal(one.before.values, two.before.values)
    assert again.threshold.value == model.threshold.value
    assert again.reading == model.reading


def test_saved_scores_give_the_same_alarms(folder, model, tmp_path):
    scored = score(read_sources(folder / "odd.npy"), model)
    again = ScoreResult.load(scored.save(tmp_path / "odd.scores"))
    assert [alarm.peak for alarm in again.alarms()] == [alarm.peak for alarm in scored.alarms()]
    np.testing.assert_array_equal(again.sources[0].ignored, scored.sources[0].ignored)
    assert again.sources[0].source == scored.sources[0].source


def test_two_sites_can_be_merged_without_sharing_rows(folder):
    groups = read_sources(folder / "calm")
    together = Focus().fit_groups(groups)
    sites = [learn(some, keep_rows=False) for some in (groups[:15], groups[15:])]
    merged = merge(sites)
    np.testing.assert_allclose(merged.focus.distraction_, together.distraction_, rtol=1e-9)
    assert merged.focus.n_removed_ == together.n_removed_ == 1
    rows = np.concatenate([one.rows for one in groups])
    for site in sites:
        held = [value for value in vars(site.focus.moments_).values() if isinstance(value, np.ndarray)]
        held += [value for value in vars(site.focus.moments_.store).values() if isinstance(value, np.ndarray)]
        for value in held:
            if value.shape[-1:] == (8,):
                assert not (np.abs(np.atleast_2d(value)[:, None] - rows).max(axis=2) < 1e-9).any()


def test_models_with_other_options_are_not_merged(folder):
    groups = read_sources(folder / "calm")
    with pytest.raises(InputError, match="different features"):
        merge([learn(groups[:15], keep_rows=False), learn(groups[15:], keep_rows=False, reading=ReadOptions(time="t"))])


def test_model_without_rows_scores_a_source_by_its_own_rows(folder):
    model = learn(read_sources(folder / "calm"), keep_rows=False)
    scored = score(read_sources(folder / "odd.npy"), model)
    assert scored.threshold is None
    assert scored.sources[0].after.values.argmax() == 31


def test_moments_and_focus_are_accepted_as_a_model(folder, tmp_path):
    groups = read_sources(folder / "calm")
    for thing in (Moments.of(groups), Focus().fit_groups(groups)):
        assert Model.load(save(thing, tmp_path / "thing")).focus.n_removed_ == 1


def test_other_files_are_rejected_as_model_and_scores(folder, model, tmp_path):
    scored = score(read_sources(folder / "odd.npy"), model).save(tmp_path / "odd.scores")
    rows = np.random.default_rng(0).normal(size=(6, 2))
    few_shot = save(FewShotClassifier().fit(rows, [0, 0, 0, 1, 1, 1]), tmp_path / "faces.few_shot")
    for path in (scored, few_shot):
        with pytest.raises(InputError, match=f"{path.name} is not a model. Create one with: undistract learn"):
            Model.load(path)
    with pytest.raises(InputError, match="has no scores"):
        ScoreResult.load(model.save(tmp_path / "model"))


def test_source_of_another_width_is_rejected_with_numbers(model):
    with pytest.raises(InputError, match="has 5 features, the model has 8"):
        score([Source("wide", np.ones((4, 5)))], model)


def test_source_with_other_columns_is_rejected_by_name(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"sensor {place}" for place in range(8)]
    for seed in range(12):
        pd.DataFrame(day(seed), columns=names).to_csv(tmp_path / f"day{seed}.csv", index=False)
    model = learn(read_sources(tmp_path))
    assert model.feature_names == tuple(names)
    pd.DataFrame(day(77), columns=[*names[:7], "other"]).to_csv(tmp_path / "odd.csv", index=False)
    with pytest.raises(InputError, match="the feature 'other', the model has 'sensor 7'"):
        score(read_sources(tmp_path / "odd.csv"), model)


def test_windows_are_read_with_the_options_of_the_model(folder):
    how = ReadOptions(window=3, stride=2)
    model = learn(read_sources(folder / "calm", how), reading=how)
    scored = score(read_sources(folder / "odd.npy", model.reading), model)
    peak = scored.sources[0].after.values.argmax()
    assert 2 * peak <= 31 <= 2 * peak + 2  # a window that contains row 31


def test_report_contains_the_event(folder, model, tmp_path):
    groups = read_sources(folder / "odd.npy")
    page = write_report(tmp_path / "odd.html", model, score(groups, model), sources=groups).read_text()
    for words in ("1 of 8 directions is ignored", "odd.npy, row 31", "carried by x2"):
        assert words in page


def test_learn_without_groups_raises():
    with pytest.raises(InputError, match="There are no groups to train on"):
        learn([])


def test_clip_is_not_overwritten(tmp_path):
    source = tmp_path / "match.mp4"
    source.write_bytes(b"frames")
    one = SourceScores(Scores("match.mp4", [1.0], np.array([0.0])), None, np.array([0.5]), str(source))
    with pytest.raises(InputError, match=r"match\.mp4 is an input and would be overwritten"):
        render(ScoreResult((one,), None, None), source)
    assert source.read_bytes() == b"frames"


@pytest.mark.parametrize("rate", [0.0, 5.0])
def test_invalid_rate_raises_before_reading(rate):
    # Regression: it was rejected at the very end, after the training.
    def read():
        raise AssertionError("a row was read")

    days = [Source.from_reader(day, read, n_features=3) for day in range(3)]
    with pytest.raises(InputError, match="rate must be"):
        learn(days, threshold=rate)


def test_single_row_cannot_be_scored_by_its_own_rows(model):
    # Regression: "Found array with 1 sample(s) ... required by NearestDetector" did not name the file.
    with pytest.raises(InputError, match=r"'short' has 1 row.*Leave it out \(--ignore\)"):
        score([Source("long", day(1)), Source("short", day(2)[:1])], model, adapt=True)
