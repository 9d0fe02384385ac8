"""Rows that come in pieces: summed up now, solved when somebody asks, closed when they end, never counted twice."""

import pickle

import numpy as np
import pytest

import undistract.learned
from undistract import Focus, InputError, load, save

DAYS = np.repeat(np.arange(8), 40)


def rows(d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(8, d))[DAYS] * 3 + rng.normal(size=(320, d)) * [30, *[1] * (d - 1)]


@pytest.fixture
def solved(monkeypatch):
    """How many times a spectrum was solved."""
    counted = []
    solve = undistract.learned.Settings.solve

    def count(self, moments, **how):
        counted.append(moments.n_rows)
        return solve(self, moments, **how)

    monkeypatch.setattr(undistract.learned.Settings, "solve", count)
    return counted


def stream(focus, X, n_rows=50, **more):
    for start in range(0, len(X), n_rows):
        focus.partial_fit(X[start : start + n_rows], sets=DAYS[start : start + n_rows], **more)
    return focus


def test_partial_fit_solves_nothing_until_somebody_asks(solved):
    focus = stream(Focus(), rows())
    assert solved == []
    assert focus.n_removed_ == 1
    focus.transform(rows())
    focus.describe()
    assert solved == [320]
    focus.partial_fit(rows()[:40], sets=DAYS[:40])
    assert solved == [320]
    assert focus.transform(rows()).shape == (320, 5)
    assert solved == [320, 360]


@pytest.mark.parametrize("question", ["moments_", "spectrum_", "n_removed_", "cutoff_", "kinds_", "components_"])
def test_any_question_may_be_the_first(question):
    X = rows()
    asked, fitted = (getattr(focus, question) for focus in (stream(Focus(), X), Focus().fit(X, sets=DAYS)))
    if question == "moments_":
        asked, fitted = asked.total, fitted.total
    elif question == "spectrum_":
        asked, fitted = asked.distraction, fitted.distraction
    if isinstance(asked, np.ndarray) and asked.dtype.kind == "f":
        assert np.abs(asked) == pytest.approx(np.abs(fitted), abs=1e-12)
    else:
        assert np.array_equal(asked, fitted)


def test_a_setting_changed_while_rows_wait_waits_for_the_next_rows(tmp_path):
    focus = stream(Focus(n_remove=1), rows()).set_params(n_remove=2, removal="oblique")
    loaded = load(save(focus, tmp_path / "street.focus"))
    for one in (focus, loaded):
        assert one.n_removed_ == 1
        assert one.projection_.removal == "kept_span"
        one.partial_fit(rows()[:5], sets=DAYS[:5])
        assert one.n_removed_ == 2


@pytest.mark.parametrize("settings", [{"removal": "sideways"}, {"cutoff": 7}, {"cushion": -1}, {"prior": {0: 1.0}}])
def test_settings_that_make_no_sense_are_refused_when_rows_come(settings):
    with pytest.raises(InputError):
        Focus(**settings).partial_fit(rows(), sets=DAYS)


def test_rows_too_far_away_are_refused_when_they_come_and_change_nothing():
    focus = stream(Focus(), rows())
    with pytest.raises(InputError, match="range of numbers"):
        focus.partial_fit(rows()[:9] + 1e200, sets=["far"] * 9)
    assert focus.moments_.n_sets == 8


def test_what_waits_can_be_pickled_and_saved_without_being_solved(tmp_path, solved):
    focus = stream(Focus(), rows(), key=None)
    loaded = load(save(focus, tmp_path / "street.focus"))
    pickled = pickle.loads(pickle.dumps(focus))
    assert solved == []
    for one in (loaded, pickled):
        assert np.array_equal(one.transform(rows()), focus.transform(rows()))


def test_a_loop_that_is_killed_goes_on_from_its_last_save_to_the_same_bits(tmp_path):
    X, path = rows(), tmp_path / "street.focus"
    hours = [slice(start, start + 30) for start in range(0, 320, 30)]

    def deliver(focus, some):
        for hour in some:
            focus.partial_fit(X[hour], sets=DAYS[hour], key=f"2026-11-16T{hour.start:03}")
        return focus

    without_a_break = deliver(Focus(), hours)
    save(deliver(Focus(), hours[:4]), path)
    deliver(load(path), hours[4:6])  # this one is killed before it saves
    resumed = deliver(load(path), hours[2:])  # who delivers is not sure what was kept
    assert resumed.moments_.n_rows == 320
    assert np.array_equal(resumed.transform(X), without_a_break.transform(X))
    assert list(resumed.growing_.keys) == list(without_a_break.growing_.keys)


def test_a_key_counts_once_and_other_rows_under_it_are_refused():
    X = rows()
    focus = Focus().partial_fit(X[:60], sets=DAYS[:60], key="monday")
    assert focus.partial_fit(X[:60], sets=DAYS[:60], key="monday") is focus
    assert focus.moments_.n_rows == 60
    with pytest.raises(InputError, match="'monday' was counted before with 60 rows and comes with 61 now"):
        focus.partial_fit(X[:61], sets=DAYS[:61], key="monday")
    with pytest.raises(InputError, match="expected something hashable"):
        focus.partial_fit(X[:61], sets=DAYS[:61], key=["monday"])
    assert focus.partial_fit(X[60:], sets=DAYS[60:], key="tuesday").moments_.n_rows == 320


def test_a_refused_delivery_may_come_again_under_its_key():
    X = rows()
    focus = Focus().partial_fit(X[:60], sets=DAYS[:60], key="monday")
    with pytest.raises(InputError):
        focus.partial_fit(X[60:], sets=DAYS[:3], key="tuesday")
    assert focus.partial_fit(X[60:], sets=DAYS[60:], key="tuesday").moments_.n_rows == 320


@pytest.mark.parametrize("prior", ["uniform", "by_size", dict.fromkeys(range(8), 2.0) | {3: 5.0}])
def test_closing_sets_changes_nothing_that_is_learned(prior, monkeypatch):
    monkeypatch.setattr("undistract.algebra.store.KEPT_VALUES", 300)  # rows are folded early
    X, closing = rows(), Focus(prior=prior)
    for day in range(8):
        here = np.flatnonzero(day == DAYS)
        for part in np.array_split(here[: 20 + 2 * day], 3):
            closing.partial_fit(X[part], sets=DAYS[part])
        closing.close_sets([day] if day % 2 else None)
        assert not closing.growing_.opened
    kept = np.concatenate([np.flatnonzero(day == DAYS)[: 20 + 2 * day] for day in range(8)])
    whole = Focus(prior=prior).fit(X[kept], sets=DAYS[kept])
    assert closing.moments_.total == pytest.approx(whole.moments_.total, rel=1e-12)
    assert closing.distraction_ == pytest.approx(whole.distraction_, rel=1e-10)
    assert closing.debiased_distraction_ == pytest.approx(whole.debiased_distraction_, rel=1e-10)


def test_a_closed_set_that_comes_back_is_refused_in_words(monkeypatch):
    monkeypatch.setattr("undistract.algebra.store.KEPT_VALUES", 300)
    focus = stream(Focus(), rows()).close_sets()
    with pytest.raises(InputError, match=r"Set 3 was folded .* do not close it before its last row \(close_sets\)"):
        focus.partial_fit(rows()[:5], sets=[3] * 5)
    assert focus.partial_fit(rows()[:5], sets=["new"] * 5).moments_.n_sets == 9


def test_closing_does_not_forget_what_was_found(solved):
    focus = stream(Focus(), rows())
    before = focus.transform(rows())
    focus.close_sets([5, 2])
    assert focus.moments_.names == focus.growing_.names == (5, 2, 0, 1, 3, 4, 6, 7)
    assert np.array_equal(focus.transform(rows()), before)
    assert len(solved) == 1


def test_closing_says_what_it_does_not_know():
    focus = stream(Focus(), rows())
    with pytest.raises(InputError, match="There is no set 'monday' to close; open are 0, 1"):
        focus.close_sets(["monday"])
    with pytest.raises(InputError, match="expected several names"):
        focus.close_sets("monday")
    assert focus.close_sets([0]).close_sets([0]).growing_.names[0] == 0
    with pytest.raises(ValueError, match="not fitted"):
        Focus().close_sets()


def test_closed_and_saved_sets_go_on_too(tmp_path):
    focus = stream(Focus(), rows()).close_sets([0, 1])
    loaded = load(save(focus, tmp_path / "street.focus"))
    for one in (focus, loaded):
        one.partial_fit(rows()[-5:], sets=[7] * 5)
    assert loaded.moments_.names == focus.moments_.names
    assert np.array_equal(loaded.transform(rows()), focus.transform(rows()))
