"""partial_fit: sums at once, solves lazily, closes groups, counts no batch twice."""

import pickle

import numpy as np
import pytest

from undistract import Focus, InputError, load, save

DAYS = np.repeat(np.arange(8), 40)


def rows(d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(8, d))[DAYS] * 3 + rng.normal(size=(320, d)) * [30, *[1] * (d - 1)]


@pytest.fixture
def solved(monkeypatch):
    """Record the number of rows of each solved spectrum."""
    counted = []
    solve = Focus._solve

    def count(self, moments, *arguments, **settings):
        counted.append(moments.n_rows)
        return solve(self, moments, *arguments, **settings)

    monkeypatch.setattr(Focus, "_solve", count)
    return counted


def stream(focus, X, n_rows=50, **more):
    for start in range(0, len(X), n_rows):
        focus.partial_fit(X[start : start + n_rows], groups=DAYS[start : start + n_rows], **more)
    return focus


def test_partial_fit_solves_lazily(solved):
    focus = stream(Focus(), rows())
    assert solved == []
    assert focus.n_removed_ == 1
    focus.transform(rows())
    focus.summary()
    assert solved == [320]
    focus.partial_fit(rows()[:40], groups=DAYS[:40])
    assert solved == [320]
    assert focus.transform(rows()).shape == (320, 5)
    assert solved == [320, 360]


@pytest.mark.parametrize("attribute", ["moments_", "spectrum_", "n_removed_", "cutoff_", "kinds_", "components_"])
def test_any_attribute_triggers_the_solution(attribute):
    X = rows()
    streamed, fitted = (getattr(focus, attribute) for focus in (stream(Focus(), X), Focus().fit(X, groups=DAYS)))
    if attribute == "moments_":
        streamed, fitted = streamed.total, fitted.total
    elif attribute == "spectrum_":
        streamed, fitted = streamed.distraction, fitted.distraction
    if isinstance(streamed, np.ndarray) and streamed.dtype.kind == "f":
        assert np.abs(streamed) == pytest.approx(np.abs(fitted), abs=1e-12)
    else:
        assert np.array_equal(streamed, fitted)


def test_changed_parameters_apply_to_the_next_partial_fit(tmp_path):
    focus = stream(Focus(n_remove=1), rows()).set_params(n_remove=2, removal="oblique")
    loaded = load(save(focus, tmp_path / "street.focus"))
    for streamed in (focus, loaded):
        assert streamed.n_removed_ == 1
        assert streamed.projection_.removal == "orthogonal"
        streamed.partial_fit(rows()[:5], groups=DAYS[:5])
        assert streamed.n_removed_ == 2


@pytest.mark.parametrize("settings", [{"removal": "sideways"}, {"cutoff": 7}, {"ridge": -1}, {"prior": {0: 1.0}}])
def test_invalid_parameters_raise_in_partial_fit(settings):
    with pytest.raises(InputError):
        Focus(**settings).partial_fit(rows(), groups=DAYS)


def test_overflow_raises_and_changes_nothing():
    focus = stream(Focus(), rows())
    with pytest.raises(InputError, match="range of numbers"):
        focus.partial_fit(rows()[:9] + 1e200, groups=["far"] * 9)
    assert focus.moments_.n_groups == 8


def test_unsolved_state_can_be_pickled_and_saved(tmp_path, solved):
    focus = stream(Focus(), rows(), batch_id=None)
    loaded = load(save(focus, tmp_path / "street.focus"))
    pickled = pickle.loads(pickle.dumps(focus))
    assert solved == []
    for copy in (loaded, pickled):
        assert np.array_equal(copy.transform(rows()), focus.transform(rows()))


def test_killed_loop_resumes_to_the_same_bits(tmp_path):
    X, path = rows(), tmp_path / "street.focus"
    hours = [slice(start, start + 30) for start in range(0, 320, 30)]

    def add_hours(focus, hours):
        for hour in hours:
            focus.partial_fit(X[hour], groups=DAYS[hour], batch_id=f"2026-11-16T{hour.start:03}")
        return focus

    uninterrupted = add_hours(Focus(), hours)
    save(add_hours(Focus(), hours[:4]), path)
    add_hours(load(path), hours[4:6])  # killed before it saves
    resumed = add_hours(load(path), hours[2:])  # some batches are passed again
    assert resumed.moments_.n_rows == 320
    assert np.array_equal(resumed.transform(X), uninterrupted.transform(X))
    assert list(resumed.streaming_.batch_ids) == list(uninterrupted.streaming_.batch_ids)


def test_key_counts_once_and_rejects_other_rows():
    X = rows()
    focus = Focus().partial_fit(X[:60], groups=DAYS[:60], batch_id="monday")
    assert focus.partial_fit(X[:60], groups=DAYS[:60], batch_id="monday") is focus
    assert focus.moments_.n_rows == 60
    with pytest.raises(InputError, match="'monday' was counted before with 60 rows, got 61 rows now"):
        focus.partial_fit(X[:61], groups=DAYS[:61], batch_id="monday")
    with pytest.raises(InputError, match="batch_id must be hashable"):
        focus.partial_fit(X[:61], groups=DAYS[:61], batch_id=["monday"])
    assert focus.partial_fit(X[60:], groups=DAYS[60:], batch_id="tuesday").moments_.n_rows == 320


def test_rejected_batch_can_be_repeated_with_its_key():
    X = rows()
    focus = Focus().partial_fit(X[:60], groups=DAYS[:60], batch_id="monday")
    with pytest.raises(InputError):
        focus.partial_fit(X[60:], groups=DAYS[:3], batch_id="tuesday")
    assert focus.partial_fit(X[60:], groups=DAYS[60:], batch_id="tuesday").moments_.n_rows == 320


@pytest.mark.parametrize("prior", ["uniform", "by_size", dict.fromkeys(range(8), 2.0) | {3: 5.0}])
def test_closing_does_not_change_the_result(prior, monkeypatch):
    monkeypatch.setattr("undistract.algebra.moments.KEPT_VALUES", 300)  # fold rows early
    X, closing = rows(), Focus(prior=prior)
    for day in range(8):
        row_numbers = np.flatnonzero(day == DAYS)
        for part in np.array_split(row_numbers[: 20 + 2 * day], 3):
            closing.partial_fit(X[part], groups=DAYS[part])
        closing.close_groups([day] if day % 2 else None)
        assert not closing.streaming_.open_groups
    used = np.concatenate([np.flatnonzero(day == DAYS)[: 20 + 2 * day] for day in range(8)])
    fitted = Focus(prior=prior).fit(X[used], groups=DAYS[used])
    assert closing.moments_.total == pytest.approx(fitted.moments_.total, rel=1e-12)
    assert closing.distraction_ == pytest.approx(fitted.distraction_, rel=1e-10)
    assert closing.debiased_distraction_ == pytest.approx(fitted.debiased_distraction_, rel=1e-10)


def test_closed_group_with_new_rows_raises(monkeypatch):
    monkeypatch.setattr("undistract.algebra.moments.KEPT_VALUES", 300)
    focus = stream(Focus(), rows()).close_groups()
    with pytest.raises(InputError, match=r"Group 3 was folded .* Call close_groups only after the last row"):
        focus.partial_fit(rows()[:5], groups=[3] * 5)
    assert focus.partial_fit(rows()[:5], groups=["new"] * 5).moments_.n_groups == 9


def test_closing_keeps_the_solution(solved):
    focus = stream(Focus(), rows())
    before = focus.transform(rows())
    focus.close_groups([5, 2])
    assert focus.moments_.names == focus.streaming_.names == (5, 2, 0, 1, 3, 4, 6, 7)
    assert np.array_equal(focus.transform(rows()), before)
    assert len(solved) == 1


def test_closing_unknown_groups_raises():
    focus = stream(Focus(), rows())
    with pytest.raises(InputError, match=r"There is no group 'monday' to close. Open are 0, 1"):
        focus.close_groups(["monday"])
    with pytest.raises(InputError, match="collection of group names"):
        focus.close_groups("monday")
    assert focus.close_groups([0]).close_groups([0]).streaming_.names[0] == 0
    with pytest.raises(ValueError, match="not fitted"):
        Focus().close_groups()


def test_closed_and_saved_state_continues(tmp_path):
    focus = stream(Focus(), rows()).close_groups([0, 1])
    loaded = load(save(focus, tmp_path / "street.focus"))
    for streamed in (focus, loaded):
        streamed.partial_fit(rows()[-5:], groups=[7] * 5)
    assert loaded.moments_.names == focus.moments_.names
    assert np.array_equal(loaded.transform(rows()), focus.transform(rows()))
