"""The leading directions alone: the same answer as all directions, proved, or none."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from undistract import EvidenceWarning, Focus, load, save
from undistract.algebra import Moments, Spectrum, Taught, cut, solvers, symmetric
from undistract.algebra.cutoff import needed
from undistract.algebra.few_rows import FewRows, FromRows, few_rows, few_rows_leading
from undistract.algebra.leading import LEAST_FEATURES, Leading, Wanted, leading
from undistract.algebra.solvers import dense, dense_leading

WIDTH = LEAST_FEATURES + 20


def matrices(values, seed=0):
    """within and total whose distraction is as given, in a random basis, with a cushion of .1."""
    rng = np.random.default_rng(seed)
    size = len(values)
    root = rng.uniform(0.5, 5, size)[:, None] * np.linalg.qr(rng.normal(size=(size, size)))[0]
    return root.T @ (values[:, None] * root), root.T @ root - 0.1 * np.eye(size)


def spectrum_with(first, rest=0.5, seed=0):
    return np.sort(np.append(first, np.linspace(0, rest, WIDTH - len(first))))[::-1]


@pytest.mark.parametrize(
    "first",
    [
        [],
        [0.99],
        [0.999, 0.99, 0.86],
        np.linspace(0.86, 0.9999, 30),
        [0.99, 0.99, 0.99, 0.95],
    ],
    ids=["none", "one", "three", "thirty", "equal ones"],
)
def test_the_leading_directions_are_those_of_the_whole_spectrum(first):
    values = spectrum_with(first)
    within, total = matrices(values)
    found, whole = dense_leading(within, total, 0.1, Wanted(0.85)), dense(within, total, 0.1)
    n = len(first)
    np.testing.assert_allclose(found.distraction, values[:n], atol=1e-10)
    np.testing.assert_allclose(found.filters.T @ found.patterns, np.eye(n), atol=1e-9)
    # Equal ones may be turned among themselves: what they span is the same.
    span, span_of_whole = (one.patterns[:, :n] @ one.filters[:, :n].T for one in (found, whole))
    np.testing.assert_allclose(span, span_of_whole, atol=1e-7)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_a_number_of_directions_can_be_asked_for(number):
    values = spectrum_with(np.linspace(0.6, 0.9, 10))
    found = dense_leading(*matrices(values), 0.1, needed("auto", number))
    np.testing.assert_allclose(found.distraction, values[:number], atol=1e-10)


@pytest.mark.parametrize(
    "values",
    [1 - np.linspace(1e-9, 1e-5, WIDTH), spectrum_with(np.linspace(0.86, 0.99, 200)), np.zeros(WIDTH)],
    ids=["a crowd", "too many", "nothing"],
)
def test_what_crowds_is_left_to_the_whole_spectrum(values):
    wanted = Wanted(0.85) if values.any() else Wanted(np.inf, 1)
    assert dense_leading(*matrices(values), 0.1, wanted) is None


def test_a_direction_that_was_missed_is_noticed(monkeypatch):
    values = spectrum_with([0.99, 0.97, 0.95])
    problem = matrices(values)

    def forgetful(operator, size, wanted):
        found = leading(operator, size, wanted)
        return Leading(found.values[[0, 2]], found.vectors[:, [0, 2]])

    assert dense_leading(*problem, 0.1, Wanted(0.85)) is not None
    monkeypatch.setattr(solvers, "leading", forgetful)
    assert dense_leading(*problem, 0.1, Wanted(0.85)) is None


def test_none_is_missed_over_many_spectra():
    rng = np.random.default_rng(1)
    n_given = 0
    for _ in range(60):
        values = rng.uniform(0.3, 0.9) * rng.random(WIDTH) ** rng.uniform(0.2, 3)
        n_high = rng.integers(0, 25)
        values[:n_high] = rng.uniform(0.8, 1, n_high)
        values = np.sort(values)[::-1]
        # In its own basis the problem is diagonal; the proof is the same.
        found = dense_leading(np.diag(values * 2), np.eye(WIDTH) * 1.9, 0.1, Wanted(0.85))
        if found is not None:
            n_given += 1
            np.testing.assert_allclose(found.distraction, values[values >= 0.85], atol=1e-9)
    assert n_given > 10


def sets_of(n_sets, n_rows, width, *, light=6.0, seed=0):
    rng = np.random.default_rng(seed)
    pattern = rng.normal(size=(2, width)) / np.sqrt(width)
    return [
        rng.normal(size=width)
        + rng.normal(size=(n_rows + m % 3, width))
        + light * rng.normal(size=(n_rows + m % 3, 2)) @ pattern * 3
        for m in range(n_sets)
    ]


@pytest.mark.parametrize("n_sets", [700, 60], ids=["many rows", "few rows"])
@pytest.mark.parametrize("settings", [{}, {"n_remove": 1}, {"cutoff": 0.9}], ids=["auto", "number", "fixed"])
def test_focus_learns_the_same_whether_it_looks_at_all_directions_or_not(n_sets, settings):
    width = WIDTH if n_sets == 700 else 1500
    moments = Moments.of(sets_of(n_sets, 10, width))
    assert (2 * moments.n_rows <= width) == (n_sets == 60)
    wanted = needed(settings.get("cutoff", "auto"), settings.get("n_remove"))
    part, whole = Spectrum.of(moments, wanted=wanted), Spectrum.of(moments)
    decision = cut(whole, **settings)
    n = decision.n_removed
    assert n >= 1
    assert not part.is_whole
    assert whole.is_whole
    assert replace(cut(part, **settings), cutoff=0) == replace(decision, cutoff=0)
    assert cut(part, **settings).cutoff == pytest.approx(decision.cutoff, abs=1e-12)
    for name in ("distraction", "debiased", "unevenness", "variation", "variation_inside"):
        np.testing.assert_allclose(getattr(part, name)[:n], getattr(whole, name)[:n], atol=1e-9)
    assert part.relative_cushion == pytest.approx(whole.relative_cushion) == pytest.approx(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus(**settings).fit_moments(moments)
    assert not focus.spectrum_.is_whole
    rows = np.random.default_rng(1).normal(size=(5, width))
    kept = rows @ np.linalg.svd(whole.patterns[:, :n])[0][:, n:]
    np.testing.assert_allclose(np.linalg.norm(focus.transform(rows), axis=1), np.linalg.norm(kept, axis=1), rtol=1e-9)
    np.testing.assert_allclose(focus.distraction_[: len(whole.distraction)], whole.distraction, atol=1e-9)
    assert focus.spectrum_.is_whole


def test_a_model_is_saved_with_what_it_needs_and_finds_the_rest_when_asked(tmp_path):
    focus = Focus(cutoff=0.9).fit_moments(Moments.of(sets_of(700, 10, WIDTH)))
    back = load(save(focus, tmp_path / "part.focus"))
    assert not back.spectrum_.is_whole
    assert back.describe() == focus.describe()
    assert np.array_equal(back.distraction_, focus.distraction_)
    whole = save(focus, tmp_path / "whole.focus")
    assert (tmp_path / "part.focus").stat().st_size < 0.7 * whole.stat().st_size


def test_all_directions_are_solved_for_once_however_often_people_teach(monkeypatch):
    focus = Focus(cutoff=0.9).fit_moments(Moments.of(sets_of(700, 10, WIDTH)))
    focus.taught_by(Taught(np.ones((1, WIDTH))))
    monkeypatch.setattr(Spectrum, "of", None)
    assert focus.taught_by(Taught(9 * np.eye(WIDTH)[:2])).taught_ is not None


def test_constant_features_are_set_aside():
    sets = [np.insert(rows, [3, 50], 7.0, axis=1) for rows in sets_of(700, 10, WIDTH)]
    moments = Moments.of(sets)
    part, whole = Spectrum.of(moments, wanted=Wanted(0.85)), Spectrum.of(moments)
    assert part.n_directions == whole.n_directions == WIDTH
    assert (part.patterns[[3, 51]] == 0).all()
    np.testing.assert_allclose(part.distraction, whole.distraction[: len(part.distraction)], atol=1e-10)


def test_few_rows_with_a_tiny_cushion_take_the_careful_road():
    moments = Moments.of(sets_of(10, 10, 300))
    store = moments.store
    rows = FewRows(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    assert few_rows_leading(rows, 1e-13, Wanted(0.85)) is None
    found = few_rows_leading(rows, 0.5, Wanted(0.1))
    part, whole = FromRows(moments, rows, found, 0.5), few_rows(rows, 0.5)
    n = len(found.odds)
    assert n > 50
    assert found.n_directions == len(whole.distraction)
    np.testing.assert_allclose(found.distraction, whole.distraction[:n], atol=1e-11)
    readings = part.filters.T @ whole.patterns[:, :n]
    np.testing.assert_allclose(np.abs(readings), np.eye(n), atol=1e-6)


def crowd(n_rows, epsilon):
    """Rows whose directions crowd on both sides of .95, in ten sets of unlike size and weight."""
    rng = np.random.default_rng(4)
    counts = np.full(10, n_rows // 10) + np.arange(-5, 5)
    shares = np.linspace(1, 2, 10) / 15
    deviations = rng.normal(size=(counts.sum(), 5 * n_rows // 2))
    deviations -= np.repeat(
        [part.mean(axis=0) for part in np.split(deviations, np.cumsum(counts)[:-1])], counts, axis=0
    )
    means = 0.3 * rng.normal(size=(10, deviations.shape[1]))
    return FewRows(deviations, means - shares @ means, counts, shares), epsilon


@pytest.mark.parametrize(
    ("n_rows", "epsilon", "low", "high"),
    [(700, 0.2, 140, 700), (900, 0.2, 140, 225), (900, 0.1, 226, 900)],
    ids=["all", "tridiagonal", "tridiagonal, then all"],
)
def test_directions_that_crowd_are_all_found_where_rows_are_few(n_rows, epsilon, low, high):
    rows, epsilon = crowd(n_rows, epsilon)
    whole = few_rows(rows, epsilon)
    found = few_rows_leading(rows, epsilon, Wanted(0.95))
    n = int((whole.distraction >= 0.95).sum())
    assert low < n < high
    np.testing.assert_allclose(found.distraction, whole.distraction[:n], atol=1e-12)
    part = FromRows(None, rows, found, epsilon)
    np.testing.assert_allclose(part.filters.T @ part.patterns, np.eye(n), atol=1e-10)
    span, span_of_whole = (one.patterns[:, :n] @ one.filters[:, :n].T for one in (part, whole))
    np.testing.assert_allclose(span, span_of_whole, atol=1e-7)
    # What is said without forming anything as wide as the features is what they would say.
    np.testing.assert_allclose(part.filter_squares, (whole.filters[:, :n] ** 2).sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(part.pattern_squares, (whole.patterns[:, :n] ** 2).sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(part.readings, rows.deviations @ part.filters, atol=1e-9)
    assert part.first(3).patterns.shape == (rows.deviations.shape[1], 3)
    np.testing.assert_array_equal(part.first(3).patterns, part.patterns[:, :3])


def test_a_tridiagonal_form_that_cannot_be_solved_is_left_for_the_whole_problem(monkeypatch):
    """LAPACK's stemr gave up on noise of 1200 rows, where half of the directions were asked for."""
    rows, epsilon = crowd(900, 0.2)
    expected = few_rows_leading(rows, epsilon, Wanted(0.95))

    def give_up(*_, **__):
        raise np.linalg.LinAlgError("stemr did not converge")

    monkeypatch.setattr(symmetric, "eigh_tridiagonal", give_up)
    found = few_rows_leading(rows, epsilon, Wanted(0.95))
    np.testing.assert_allclose(found.odds, expected.odds, rtol=1e-10)


def test_steps_are_not_taken_towards_too_many_directions():
    n_steps = 0

    def many(columns):
        nonlocal n_steps
        n_steps += 1
        return values[:, None] * columns

    values = 1 / (1 - np.linspace(0.99, 0.0, 4000) ** 0.2)
    assert leading(many, 4000, Wanted(0.85)) is None
    assert n_steps < 12


def test_nothing_as_wide_as_the_features_is_formed_until_rows_come():
    moments = Moments.of(sets_of(60, 10, 1500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus().fit_moments(moments)
    assert focus.n_removed_ >= 1
    assert "_formed" not in focus.spectrum_.directions.__dict__
    assert "_formed" not in focus.projection_.removed.__dict__
    assert focus.projection_.n_out == 1500 - focus.n_removed_
    before = focus.transform(np.eye(1500)[:3])
    assert "_formed" not in focus.spectrum_.directions.__dict__  # only what goes was
    focus.describe()
    assert np.array_equal(focus.transform(np.eye(1500)[:3]), before)


@pytest.mark.parametrize("spread", [0.0, 1.5], ids=["alike", "unlike"])
def test_whether_sets_vary_alike_is_mostly_told_by_their_features(spread):
    rng = np.random.default_rng(0)
    moments = Moments.of([np.exp(spread * rng.normal()) * rng.normal(size=(20, 900)) for _ in range(12)])
    part, whole = Spectrum.of(moments, wanted=Wanted(0.5)), Spectrum.of(moments)
    least, most = moments.unevenness_of_features()
    assert least <= whole.unevenness[: len(part.distraction)].min()
    assert most >= whole.unevenness.max()
    for bound in (0.05, 0.25, 0.5, 3.0):
        same = part.directions.are_even(5, bound), whole.directions.are_even(5, bound)
        assert same[0] == same[1]
    np.testing.assert_allclose(part.unevenness, whole.unevenness[: len(part.distraction)], atol=1e-9)


def test_matrices_that_were_spoilt_in_vain_are_made_again(monkeypatch):
    moments = Moments.of(sets_of(700, 10, WIDTH))

    def spoil(within, total, epsilon, wanted):
        total[:] = np.nan

    whole = Spectrum.of(moments)
    monkeypatch.setattr("undistract.algebra.spectrum.dense_leading", spoil)
    again = Spectrum.of(moments, wanted=Wanted(0.85))
    np.testing.assert_allclose(again.distraction, whole.distraction, atol=1e-12)


def test_few_rows_are_debiased_alike_whether_all_directions_are_solved_for_or_not():
    rng = np.random.default_rng(0)
    spread = np.append([3.0, 2.0, 1.0], np.full(197, 0.01))
    apart = np.append([1.0, 2.0, 4.0], np.full(197, 0.01))
    sets = [apart * rng.normal(size=200) + spread * rng.normal(size=(3 + m % 5, 200)) for m in range(12)]
    moments = Moments.of(sets, "by_size")
    some, whole = Spectrum.of(moments, wanted=Wanted(0.04)), Spectrum.of(moments)
    assert len(some.distraction) < len(whole.distraction)
    assert (np.sort(some.debiased)[:3] < [0.2, 0.8, 0.99]).all()  # sets differ by more than chance
    np.testing.assert_allclose(some.debiased, whole.debiased[: len(some.debiased)], rtol=1e-7)
    for found, expected in zip(
        moments.wander_read(some.directions.readings, None), moments.wander(some.filters), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_features_that_decide_whether_sets_vary_alike_need_no_patterns():
    rng = np.random.default_rng(0)
    spreads = np.arange(1.0, 7.0)[:, None, None] ** rng.uniform(1.5, 3.0, size=60)
    moments = Moments.of(spreads * rng.normal(size=(6, 5, 60)) + rng.normal(size=(6, 1, 60)))
    store, (least, most) = moments.store, moments.unevenness_of_features()
    rows = FewRows(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    assert 0 < least < 0.9 * most
    for bound, is_formed in ((most, False), (most * 0.999, True), (least, True), (least * 0.999, False)):
        directions = FromRows(moments, rows, few_rows_leading(rows, 0.5, Wanted(0.5)), 0.5)
        assert directions.are_even(3, bound) == (bound >= directions.unevenness[:3].mean())
        again = FromRows(moments, rows, directions.found, 0.5)
        again.are_even(3, bound)
        assert ("_formed" in again.__dict__) == is_formed


def test_what_reads_next_to_nothing_is_left_to_the_careful_road():
    """Whether it varies inside sets at all, or is rounding, only all directions together can tell."""
    rng = np.random.default_rng(0)
    apart, spread = np.append([3.0, 3.0], np.zeros(38)), np.append([1.0, 1e-5], np.zeros(38))
    moments = Moments.of([apart * rng.normal(size=40) + spread * rng.normal(size=(3, 40)) for _ in range(5)])
    store = moments.store
    rows = FewRows(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    assert few_rows_leading(rows, 0.1, Wanted(0.01)) is not None
    assert few_rows_leading(rows, 0.1, Wanted(1e-12)) is None


def test_a_few_features_are_solved_for_all_at_once():
    total = 2.0 * np.eye(LEAST_FEATURES - 1)
    assert dense_leading(total / 2, total, 0.1, Wanted(0.4)) is None
