"""Leading directions: the same result as the full spectrum, proved to be complete, or None."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from undistract import EvidenceWarning, Focus, load, save
from undistract.algebra import Feedback, Moments, Spectrum, select_directions, solvers
from undistract.algebra.row_solvers import RowDirections, RowProblem, solve_rows, solve_rows_leading
from undistract.algebra.selection import eigen_request
from undistract.algebra.solvers import MIN_FEATURES, EigenRequest, block_lanczos, solve_dense, solve_dense_leading

WIDTH = MIN_FEATURES + 20


def matrices(values, seed=0):
    """Return within and total with these distractions, in a random basis, with a ridge of .1."""
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
def test_leading_directions_match_the_full_spectrum(first):
    values = spectrum_with(first)
    within, total = matrices(values)
    pairs, full = solve_dense_leading(within, total, 0.1, EigenRequest(0.85)), solve_dense(within, total, 0.1)
    n = len(first)
    np.testing.assert_allclose(pairs.distraction, values[:n], atol=1e-10)
    np.testing.assert_allclose(pairs.filters.T @ pairs.patterns, np.eye(n), atol=1e-9)
    # Directions of equal λ may be rotated among themselves: compare their span.
    span, span_of_full = (solution.patterns[:, :n] @ solution.filters[:, :n].T for solution in (pairs, full))
    np.testing.assert_allclose(span, span_of_full, atol=1e-7)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_number_of_directions_can_be_requested(number):
    values = spectrum_with(np.linspace(0.6, 0.9, 10))
    pairs = solve_dense_leading(*matrices(values), 0.1, eigen_request("auto", number))
    np.testing.assert_allclose(pairs.distraction, values[:number], atol=1e-10)


@pytest.mark.parametrize(
    "values",
    [1 - np.linspace(1e-9, 1e-5, WIDTH), spectrum_with(np.linspace(0.86, 0.99, 200)), np.zeros(WIDTH)],
    ids=["clustered", "too many", "nothing"],
)
def test_clustered_eigenvalues_return_none(values):
    wanted = EigenRequest(0.85) if values.any() else EigenRequest(np.inf, 1)
    assert solve_dense_leading(*matrices(values), 0.1, wanted) is None


def test_missing_direction_is_detected(monkeypatch):
    values = spectrum_with([0.99, 0.97, 0.95])
    problem = matrices(values)

    def incomplete(operator, size, request):
        values, vectors = block_lanczos(operator, size, request)
        return values[[0, 2]], vectors[:, [0, 2]]

    assert solve_dense_leading(*problem, 0.1, EigenRequest(0.85)) is not None
    monkeypatch.setattr(solvers, "block_lanczos", incomplete)
    assert solve_dense_leading(*problem, 0.1, EigenRequest(0.85)) is None


def test_no_direction_is_missing_over_many_spectra():
    rng = np.random.default_rng(1)
    n_solved = 0
    for _ in range(60):
        values = rng.uniform(0.3, 0.9) * rng.random(WIDTH) ** rng.uniform(0.2, 3)
        n_high = rng.integers(0, 25)
        values[:n_high] = rng.uniform(0.8, 1, n_high)
        values = np.sort(values)[::-1]
        # In its own basis the problem is diagonal; the proof is the same.
        pairs = solve_dense_leading(np.diag(values * 2), np.eye(WIDTH) * 1.9, 0.1, EigenRequest(0.85))
        if pairs is not None:
            n_solved += 1
            np.testing.assert_allclose(pairs.distraction, values[values >= 0.85], atol=1e-9)
    assert n_solved > 10


def sources_of(n_groups, n_rows, width, *, light=6.0, seed=0):
    rng = np.random.default_rng(seed)
    pattern = rng.normal(size=(2, width)) / np.sqrt(width)
    return [
        rng.normal(size=width)
        + rng.normal(size=(n_rows + m % 3, width))
        + light * rng.normal(size=(n_rows + m % 3, 2)) @ pattern * 3
        for m in range(n_groups)
    ]


@pytest.mark.parametrize("n_groups", [700, 60], ids=["many rows", "few rows"])
@pytest.mark.parametrize("settings", [{}, {"n_remove": 1}, {"cutoff": 0.9}], ids=["auto", "number", "fixed"])
def test_focus_is_the_same_with_leading_and_with_all_directions(n_groups, settings):
    width = WIDTH if n_groups == 700 else 1500
    moments = Moments.of(sources_of(n_groups, 10, width))
    assert (2 * moments.n_rows <= width) == (n_groups == 60)
    request = eigen_request(settings.get("cutoff", "auto"), settings.get("n_remove"))
    part, full = Spectrum.of(moments, request=request), Spectrum.of(moments)
    decision = select_directions(full, **settings)
    n = decision.n_removed
    assert n >= 1
    assert not part.is_complete
    assert full.is_complete
    assert replace(select_directions(part, **settings), cutoff=0) == replace(decision, cutoff=0)
    assert select_directions(part, **settings).cutoff == pytest.approx(decision.cutoff, abs=1e-12)
    for name in ("distraction", "debiased", "heterogeneity", "total_share", "within_share"):
        np.testing.assert_allclose(getattr(part, name)[:n], getattr(full, name)[:n], atol=1e-9)
    assert part.relative_ridge == pytest.approx(full.relative_ridge) == pytest.approx(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus(**settings).fit_moments(moments)
    assert not focus.spectrum_.is_complete
    rows = np.random.default_rng(1).normal(size=(5, width))
    kept = rows @ np.linalg.svd(full.patterns[:, :n])[0][:, n:]
    np.testing.assert_allclose(np.linalg.norm(focus.transform(rows), axis=1), np.linalg.norm(kept, axis=1), rtol=1e-9)
    np.testing.assert_allclose(focus.distraction_[: len(full.distraction)], full.distraction, atol=1e-9)
    assert focus.spectrum_.is_complete


def test_saved_model_with_leading_directions_computes_the_others_on_demand(tmp_path):
    focus = Focus(cutoff=0.9).fit_moments(Moments.of(sources_of(700, 10, WIDTH)))
    back = load(save(focus, tmp_path / "part.focus"))
    assert not back.spectrum_.is_complete
    assert back.summary() == focus.summary()
    assert np.array_equal(back.distraction_, focus.distraction_)
    full = save(focus, tmp_path / "full.focus")
    assert (tmp_path / "part.focus").stat().st_size < 0.7 * full.stat().st_size


def test_repeated_feedback_solves_for_all_directions_once(monkeypatch):
    focus = Focus(cutoff=0.9).fit_moments(Moments.of(sources_of(700, 10, WIDTH)))
    focus.with_feedback(Feedback(np.ones((1, WIDTH))))
    monkeypatch.setattr(Spectrum, "of", None)
    assert focus.with_feedback(Feedback(9 * np.eye(WIDTH)[:2])).feedback_ is not None


def test_constant_features_have_zero_patterns():
    groups = [np.insert(rows, [3, 50], 7.0, axis=1) for rows in sources_of(700, 10, WIDTH)]
    moments = Moments.of(groups)
    part, full = Spectrum.of(moments, request=EigenRequest(0.85)), Spectrum.of(moments)
    assert part.n_directions == full.n_directions == WIDTH
    assert (part.patterns[[3, 51]] == 0).all()
    np.testing.assert_allclose(part.distraction, full.distraction[: len(part.distraction)], atol=1e-10)


def test_few_rows_with_a_tiny_ridge_use_the_full_solver():
    moments = Moments.of(sources_of(10, 10, 300))
    store = moments.store
    rows = RowProblem(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    assert solve_rows_leading(rows, 1e-13, EigenRequest(0.85)) is None
    pairs = solve_rows_leading(rows, 0.5, EigenRequest(0.1))
    part, full = RowDirections(moments, rows, pairs, 0.5), solve_rows(rows, 0.5)
    n = len(pairs.odds)
    assert n > 50
    assert pairs.n_directions == len(full.distraction)
    np.testing.assert_allclose(pairs.distraction, full.distraction[:n], atol=1e-11)
    readings = part.filters.T @ full.patterns[:, :n]
    np.testing.assert_allclose(np.abs(readings), np.eye(n), atol=1e-6)


def clustered_rows(n_rows, epsilon):
    """Return rows with clustered directions on both sides of .95, in ten groups of different size and weight."""
    rng = np.random.default_rng(4)
    counts = np.full(10, n_rows // 10) + np.arange(-5, 5)
    shares = np.linspace(1, 2, 10) / 15
    deviations = rng.normal(size=(counts.sum(), 5 * n_rows // 2))
    deviations -= np.repeat(
        [part.mean(axis=0) for part in np.split(deviations, np.cumsum(counts)[:-1])], counts, axis=0
    )
    means = 0.3 * rng.normal(size=(10, deviations.shape[1]))
    return RowProblem(deviations, means - shares @ means, counts, shares), epsilon


@pytest.mark.parametrize(
    ("n_rows", "epsilon", "low", "high"),
    [(700, 0.2, 140, 700), (900, 0.2, 140, 225), (900, 0.1, 226, 900)],
    ids=["many of 700", "few of 900", "many of 900"],
)
def test_clustered_directions_of_few_rows_are_complete(n_rows, epsilon, low, high):
    rows, epsilon = clustered_rows(n_rows, epsilon)
    full = solve_rows(rows, epsilon)
    pairs = solve_rows_leading(rows, epsilon, EigenRequest(0.95))
    n = int((full.distraction >= 0.95).sum())
    assert low < n < high
    np.testing.assert_allclose(pairs.distraction, full.distraction[:n], atol=1e-12)
    part = RowDirections(None, rows, pairs, epsilon)
    np.testing.assert_allclose(part.filters.T @ part.patterns, np.eye(n), atol=1e-10)
    span, span_of_full = (solution.patterns[:, :n] @ solution.filters[:, :n].T for solution in (part, full))
    np.testing.assert_allclose(span, span_of_full, atol=1e-7)
    # Values computed without the filters and patterns agree with those computed from them.
    np.testing.assert_allclose(part.filter_squares, (full.filters[:, :n] ** 2).sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(part.pattern_squares, (full.patterns[:, :n] ** 2).sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(part.readings, rows.deviations @ part.filters, atol=1e-9)
    assert part.first(3).patterns.shape == (rows.deviations.shape[1], 3)
    np.testing.assert_array_equal(part.first(3).patterns, part.patterns[:, :3])


def test_lanczos_stops_early_if_too_many_directions_lead():
    n_steps = 0

    def many(columns):
        nonlocal n_steps
        n_steps += 1
        return values[:, None] * columns

    values = 1 / (1 - np.linspace(0.99, 0.0, 4000) ** 0.2)
    assert block_lanczos(many, 4000, EigenRequest(0.85)) is None
    assert n_steps < 12


def test_filters_and_patterns_are_computed_on_demand():
    moments = Moments.of(sources_of(60, 10, 1500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus().fit_moments(moments)
    assert focus.n_removed_ >= 1
    assert "_columns" not in focus.spectrum_.directions.__dict__
    assert "_columns" not in focus.projection_.removed.__dict__
    assert focus.projection_.n_out == 1500 - focus.n_removed_
    before = focus.transform(np.eye(1500)[:3])
    assert "_columns" not in focus.spectrum_.directions.__dict__  # only the removed directions were computed
    focus.summary()
    assert np.array_equal(focus.transform(np.eye(1500)[:3]), before)


@pytest.mark.parametrize("spread", [0.0, 1.5], ids=["alike", "unlike"])
def test_homogeneity_is_usually_decided_by_the_features(spread):
    rng = np.random.default_rng(0)
    moments = Moments.of([np.exp(spread * rng.normal()) * rng.normal(size=(20, 900)) for _ in range(12)])
    part, full = Spectrum.of(moments, request=EigenRequest(0.5)), Spectrum.of(moments)
    least, most = moments.heterogeneity_range()
    assert least <= full.heterogeneity[: len(part.distraction)].min()
    assert most >= full.heterogeneity.max()
    for bound in (0.05, 0.25, 0.5, 3.0):
        same = part.directions.are_homogeneous(5, bound), full.directions.are_homogeneous(5, bound)
        assert same[0] == same[1]
    np.testing.assert_allclose(part.heterogeneity, full.heterogeneity[: len(part.distraction)], atol=1e-9)


def test_overwritten_matrices_are_computed_again(monkeypatch):
    moments = Moments.of(sources_of(700, 10, WIDTH))

    def overwrite(within, total, epsilon, wanted):
        total[:] = np.nan

    full = Spectrum.of(moments)
    monkeypatch.setattr("undistract.algebra.spectrum.solve_dense_leading", overwrite)
    again = Spectrum.of(moments, request=EigenRequest(0.85))
    np.testing.assert_allclose(again.distraction, full.distraction, atol=1e-12)


def test_debiased_values_of_few_rows_agree_for_leading_and_all_directions():
    rng = np.random.default_rng(0)
    spread = np.append([3.0, 2.0, 1.0], np.full(197, 0.01))
    apart = np.append([1.0, 2.0, 4.0], np.full(197, 0.01))
    groups = [apart * rng.normal(size=200) + spread * rng.normal(size=(3 + m % 5, 200)) for m in range(12)]
    moments = Moments.of(groups, "by_size")
    part, full = Spectrum.of(moments, request=EigenRequest(0.04)), Spectrum.of(moments)
    assert len(part.distraction) < len(full.distraction)
    assert (np.sort(part.debiased)[:3] < [0.2, 0.8, 0.99]).all()  # groups differ by more than chance
    np.testing.assert_allclose(part.debiased, full.debiased[: len(part.debiased)], rtol=1e-7)
    for pairs, expected in zip(
        moments.mean_noise_of(part.directions.readings, None), moments.mean_noise(part.filters), strict=True
    ):
        np.testing.assert_allclose(pairs, expected, rtol=1e-6)


def test_homogeneity_decided_by_features_needs_no_patterns():
    rng = np.random.default_rng(0)
    spreads = np.arange(1.0, 7.0)[:, None, None] ** rng.uniform(1.5, 3.0, size=60)
    moments = Moments.of(spreads * rng.normal(size=(6, 5, 60)) + rng.normal(size=(6, 1, 60)))
    store, (least, most) = moments.store, moments.heterogeneity_range()
    rows = RowProblem(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    assert 0 < least < 0.9 * most
    for bound, is_formed in ((most, False), (most * 0.999, True), (least, True), (least * 0.999, False)):
        directions = RowDirections(moments, rows, solve_rows_leading(rows, 0.5, EigenRequest(0.5)), 0.5)
        assert directions.are_homogeneous(3, bound) == (bound >= directions.heterogeneity[:3].mean())
        again = RowDirections(moments, rows, directions.pairs, 0.5)
        again.are_homogeneous(3, bound)
        assert ("_columns" in again.__dict__) == is_formed


def test_tiny_eigenvalues_are_left_to_the_full_solver():
    """Only the full solution can decide whether such a direction varies within groups or is rounding error."""
    rng = np.random.default_rng(0)
    apart, spread = np.append([3.0, 3.0], np.zeros(38)), np.append([1.0, 1e-5], np.zeros(38))
    moments = Moments.of([apart * rng.normal(size=40) + spread * rng.normal(size=(3, 40)) for _ in range(5)])
    store = moments.store
    rows = RowProblem(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    assert solve_rows_leading(rows, 0.1, EigenRequest(0.01)) is not None
    assert solve_rows_leading(rows, 0.1, EigenRequest(1e-12)) is None


def test_few_features_are_solved_at_once():
    total = 2.0 * np.eye(MIN_FEATURES - 1)
    assert solve_dense_leading(total / 2, total, 0.1, EigenRequest(0.4)) is None
