"""Selection of directions, and cautions if the evidence is weak."""

import warnings

import numpy as np
import pytest
from scipy import stats

from tests.algebra.by_hand import first_of, spectrum_of
from undistract import EvidenceWarning, Focus, InputError, Moments, Spectrum
from undistract.algebra import Evidence, select_directions
from undistract.algebra.selection import eigen_request
from undistract.algebra.solvers import EigenRequest
from undistract.algebra.spectrum import Variances


def noise(n_groups, n_rows, n_features, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_groups * n_rows, n_features))
    return X, np.repeat(np.arange(n_groups), n_rows)


def distractor(n_groups, n_rows, n_features, seed=0, strength=10.0):
    """Return noise in which one random direction varies strongly within each group."""
    X, groups = noise(n_groups, n_rows, n_features, seed)
    rng = np.random.default_rng([seed, 1])
    pattern = rng.normal(size=n_features)
    pattern /= np.linalg.norm(pattern)
    X += np.repeat(rng.normal(size=(n_groups, n_features)), n_rows, axis=0)  # differences between groups
    return X + strength * rng.normal(size=(len(X), 1)) * pattern, groups, pattern


def test_automatic_rule_removes_one_distractor_and_nothing_else():
    X, groups, pattern = distractor(50, 60, 20)
    focus = Focus().fit(X, groups=groups)
    assert focus.n_removed_ == 1
    assert focus.cutoff_ == 0.95
    learned = focus.patterns_[:, 0] / np.linalg.norm(focus.patterns_[:, 0])
    assert abs(learned @ pattern) > 0.999


def test_automatic_rule_removes_nothing_from_pure_noise():
    X, groups = noise(50, 60, 20)
    assert Focus().fit(X, groups=groups).n_removed_ == 0


def test_fixed_cutoff_removes_all_directions_above_it():
    X, groups = noise(40, 50, 5)
    focus = Focus(cutoff=0.978, ridge=1e-8).fit(X, groups=groups)
    assert focus.n_removed_ == (focus.distraction_ >= 0.978).sum() == 3


def test_n_remove_removes_that_number():
    X, groups = noise(40, 50, 5)
    assert Focus(n_remove=3).fit(X, groups=groups).transform(X).shape == (2000, 2)


def test_n_remove_beyond_varying_directions_is_an_error():
    X, groups = noise(10, 50, 5)
    X[:, 2] = 7.0
    with pytest.raises(InputError, match="only 4 of 5 directions vary within groups"):
        Focus(n_remove=5).fit(X, groups=groups)


def test_removing_all_directions_is_an_error():
    X, groups = noise(10, 50, 3)
    with pytest.raises(InputError, match="nothing would be left"):
        Focus(cutoff=0.5, ridge=1e-8).fit(X, groups=groups)


def test_few_groups_are_no_warning_but_evidence_in_the_summary():
    X, groups, _ = distractor(6, 100, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        focus = Focus().fit(X, groups=groups)
    assert focus.summary().evidence.n_unresolved == 35
    assert "6 groups can show differences in 5 of 40 directions; for the other 35" in str(focus.summary())


def test_automatic_rule_removes_at_most_half_with_few_groups():
    X, groups, _ = distractor(4, 100, 40)
    with pytest.warns(EvidenceWarning) as caught:  # without a ridge λ is 1 for all but three directions
        focus = Focus(ridge=0.0).fit(X, groups=groups)
    assert focus.n_removed_ == 20
    assert any("it keeps 17 of them" in str(warning.message) for warning in caught)
    with pytest.warns(EvidenceWarning) as caught:
        assert Focus(ridge=0.0, cutoff=0.95).fit(X, groups=groups).n_removed_ == 37  # an explicit cut-off removes them
    assert any("37 of 40 directions that vary are removed" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("n_groups", [4, 60])
def test_strong_distractor_is_removed(n_groups):
    X, groups, pattern = distractor(n_groups, 100, 40, strength=100.0)
    focus = Focus().fit(X, groups=groups)
    assert focus.n_removed_ == 1
    assert abs(focus.patterns_[:, 0] @ pattern) > 0.99 * np.linalg.norm(focus.patterns_[:, 0])
    assert "1 of 40 directions, with 100% of the within-group variance and 99% of the total" in str(focus.summary())


def test_direction_constant_in_some_of_few_groups_is_kept():
    X, groups, pattern = distractor(8, 100, 40)
    assert Focus().fit(X, groups=groups).n_removed_ == 1
    constant = groups < 4  # half of the groups do not vary along it
    X[constant] -= np.outer(X[constant] @ pattern, pattern)
    with pytest.warns(EvidenceWarning) as caught:
        focus = Focus().fit(X, groups=groups)
    assert focus.distraction_[0] > 0.95
    assert focus.n_removed_ == 0
    assert any(
        "they vary in some groups and not in others (heterogeneity 0." in str(warning.message) for warning in caught
    )


def test_weak_distractor_before_a_gap_is_removed_with_many_groups():
    X, groups, _ = distractor(60, 60, 40, strength=3.0)
    focus = Focus().fit(X, groups=groups)
    assert focus.n_removed_ == 1
    assert 0.9 <= focus.cutoff_ == focus.distraction_[0] < 0.95
    assert 1 - focus.distraction_[1] >= 1.5 * (1 - focus.distraction_[0])


def test_removing_almost_everything_warns():
    X, groups = noise(3, 200, 20)
    with pytest.warns(EvidenceWarning) as caught:
        focus = Focus(cutoff=0.999, ridge=1e-9).fit(X, groups=groups)
    assert any(
        "18 of 20 directions that vary are removed, with 90% of the total" in str(warning.message) for warning in caught
    )
    assert "Caution: 18 of 20" in str(focus.summary())


def test_warning_about_few_rows_has_numbers():
    X, groups = noise(300, 20, 10)
    with pytest.warns(EvidenceWarning, match=r"about 20 rows per group .* about 0\.95\d, below the cut-off 0\.999"):
        Focus(cutoff=0.999).fit(X, groups=groups)


@pytest.mark.parametrize("bad", [0, -1, 1.5, float("nan"), "best", None, [0.9]])
def test_invalid_cutoff_is_an_error(bad):
    X, groups = noise(5, 10, 3)
    with pytest.raises(InputError, match="cutoff must be"):
        Focus(cutoff=bad).fit(X, groups=groups)


@pytest.mark.parametrize("bad", [-1, 1.5, "two", True])
def test_invalid_n_remove_is_an_error(bad):
    X, groups = noise(5, 10, 3)
    with pytest.raises(InputError, match="n_remove must be"):
        Focus(n_remove=bad).fit(X, groups=groups)


def test_noise_is_within_the_edges_of_wachter():
    X, groups = noise(100, 30, 200)
    spectrum = Spectrum.of(Moments.from_labels(X, groups), ridge=0)
    low, high = spectrum.evidence.noise_edges
    # 100 groups span 99 directions, so λ is exactly 1 for 101 of the 200; the law is about the others.
    assert spectrum.evidence.n_unresolved == 101
    assert spectrum.distraction[:101] == pytest.approx(1.0)
    bulk = spectrum.distraction[101:]
    assert low - 0.01 < bulk.min() < low + 0.01  # edges are met up to n^(-2/3)
    assert high - 0.01 < bulk.max() < high + 0.01


@pytest.mark.parametrize(("n_groups", "n_rows", "n_features"), [(400, 20, 100), (300, 10, 200), (50, 40, 120)])
def test_number_of_noise_directions_above_a_cutoff_is_predicted(n_groups, n_rows, n_features):
    X, groups = noise(n_groups, n_rows, n_features, seed=3)
    spectrum = Spectrum.of(Moments.from_labels(X, groups), ridge=0)
    for cutoff in np.quantile(spectrum.distraction, [0.2, 0.5, 0.8]):
        predicted = spectrum.evidence.noise_above(cutoff - 1e-12)
        assert predicted == pytest.approx((spectrum.distraction >= cutoff - 1e-12).sum(), abs=0.02 * n_features)


def test_noise_above_zero_counts_all_directions():
    evidence = Evidence(n_groups=954, n_rows=95400, n_directions=784, pure_distractor=0.99)
    assert evidence.noise_above(0.0) == pytest.approx(784, rel=1e-6)


def test_pure_distractor_has_the_expected_value_for_unequal_groups():
    rng = np.random.default_rng(5)
    counts = rng.integers(2, 40, size=30)
    groups = np.repeat(np.arange(30), counts)
    readings = []
    for prior in ("uniform", "by_size"):
        values = [
            Spectrum.of(Moments.from_labels(rng.normal(size=(len(groups), 1)), groups, prior), ridge=0).distraction[0]
            for _ in range(400)
        ]
        expected = Evidence.of(Moments.from_labels(np.ones((len(groups), 1)), groups, prior), 1).pure_distractor
        readings.append((np.mean(values), expected, stats.sem(values)))
    for mean, expected, error in readings:
        # A ratio of means is not a mean of ratios: the second-order term is about 2 / M of the gap to 1.
        assert mean == pytest.approx(expected, abs=4 * error + (1 - expected) * 2 / 30)


def test_cut_with_a_number():
    X, groups, _ = distractor(50, 60, 20)
    decision = select_directions(Spectrum.of(Moments.from_labels(X, groups)), n_remove=2)
    assert (decision.n_removed, decision.rule) == (2, "number")
    assert decision.cutoff == pytest.approx(Spectrum.of(Moments.from_labels(X, groups)).distraction[1])


def readings(*values, **more):
    """Return a spectrum with these distractions: independent features, each with a variance of 1."""
    return spectrum_of(values, [1 - value for value in values], **more)


@pytest.mark.parametrize(
    ("values", "n_removed", "cutoff"),
    [
        ((0.95, 0.9499, 0.9498), 1, 0.95),  # exactly at the cut-off: removed
        ((0.97, 0.96, 0.5), 2, 0.95),
        ((0.9, 0.8, 0.7), 1, 0.9),  # a gap: 1 - λ doubles
        ((0.92, 0.88, 0.86), 1, 0.92),  # grows by half, just enough
        ((0.92, 0.89, 0.87), 0, 0.95),  # grows by less
        ((0.8999, 0.5, 0.1), 0, 0.95),  # a gap, but below .9
        ((0.99, 0.94, 0.93, 0.5), 3, 0.93),  # the last gap counts
        ((0.99, 0.93, 0.5, 0.1), 2, 0.93),
        ((0.99, 0.94, 0.93, 0.92), 1, 0.95),  # a gap after the first does not concern the others
        ((0.94, 0.9399, 0.9398), 0, 0.95),  # no gap after them
        ((0.94,), 0, 0.95),  # no next direction, so no gap
    ],
)
def test_automatic_rule_for_known_spectra(values, n_removed, cutoff):
    decision = select_directions(readings(*values))
    assert (decision.n_removed, decision.rule) == (n_removed, "auto")
    assert decision.cutoff == pytest.approx(cutoff, rel=1e-12)


def test_partial_spectrum_ends_with_a_gap():
    full = readings(0.93, 0.92, 0.91, 0.91)
    partial = first_of(full, 2, n_varying=2, variances=Variances(total=4.0, within=3.67, mean=1.0))
    assert (select_directions(partial).n_removed, select_directions(partial).cutoff) == (2, pytest.approx(0.92))
    assert select_directions(full).n_removed == 0  # the full spectrum has no gap


def test_few_groups_remove_at_most_half_and_only_if_homogeneous():
    values = (0.99, 0.98, 0.97, 0.93, 0.5)
    few = {"n_groups": 3, "n_rows": 600}
    even, border, uneven = (readings(*values, **few, heterogeneity=np.full(5, u)) for u in (0.0, 0.25, 0.2501))
    assert [select_directions(spectrum).n_removed for spectrum in (even, border, uneven)] == [2, 2, 0]
    assert [select_directions(spectrum, cutoff=0.97).n_removed for spectrum in (even, uneven)] == [
        3,
        3,
    ]  # an explicit cut-off removes them
    assert {select_directions(spectrum).cutoff for spectrum in (even, uneven)} == {0.95}  # gaps do not count
    # The heterogeneity of the other directions does not matter.
    assert select_directions(readings(*values, **few, heterogeneity=np.array([0.0, 0.0, 0.0, 9.0, 9.0]))).n_removed == 2
    caution = " ".join(select_directions(uneven).warnings)
    assert (
        "would have removed 3 directions with 60% of the total variance; with so few groups it keeps 3 of them, "
        in caution
    )
    assert (
        "they vary in some groups and not in others (heterogeneity 0.25, at most 0.25 is removed). Set n_remo"
        in caution
    )
    caution = " ".join(select_directions(even).warnings)
    assert "with so few groups it keeps 1 of them. Set n_remove" in caution
    assert select_directions(readings(0.5, 0.4, 0.3, 0.2, 0.1, **few, heterogeneity=np.full(5, 9.0))).n_removed == 0


def test_few_groups_alone_are_no_warning():
    few = readings(0.5, 0.4, 0.3, 0.2, n_groups=3, n_rows=600)
    assert select_directions(few).warnings == ()
    assert few.evidence.n_unresolved == 2


def test_n_remove_may_be_zero_or_all_varying_directions():
    spectrum = spectrum_of([3, 2, 0], [1, 2, 5])
    assert [select_directions(spectrum, n_remove=n).n_removed for n in (0, 1, 2)] == [0, 1, 2]
    assert [select_directions(spectrum, n_remove=n).cutoff for n in (0, 1, 2)] == [1.0, 0.75, 0.5]
    with pytest.raises(InputError, match="n_remove is 3, but only 2 of 3 directions vary within groups"):
        select_directions(spectrum, n_remove=3)
    assert select_directions(spectrum, n_remove=1).warnings == ()


def test_invalid_settings_are_errors_for_any_spectrum():
    for settings in ({"cutoff": 0}, {"cutoff": 1.01}, {"cutoff": "best"}, {"n_remove": -1}, {"n_remove": True}):
        with pytest.raises(InputError, match=f"{next(iter(settings))} must be"):
            select_directions(readings(0.9, 0.1), **settings)
    assert select_directions(readings(1.0, 0.1), cutoff=1).n_removed == 1  # both ends are allowed
    assert select_directions(readings(0.9, 0.1), n_remove=0).n_removed == 0


def test_directions_needed_for_the_decision():
    assert eigen_request(0.97, None) == EigenRequest(min_value=0.97)
    assert eigen_request("auto", 3) == EigenRequest(min_value=np.inf, number=3)
    automatic = eigen_request("auto", None)
    # A gap can follow from .9 on: the next 1 - λ is at least 1.5 times as large.
    assert (automatic.min_value, automatic.number, automatic.min_value_if_unresolved) == (pytest.approx(0.85), 0, 0.95)


def test_no_variance_means_nothing_to_remove():
    nothing = Spectrum.empty(Moments.of(np.ones((2, 3, 2))))
    assert select_directions(nothing).warnings == ("Nothing varies in these groups, so there is nothing to remove.",)


def test_caution_about_a_cutoff_above_the_pure_distractor_suggests_a_fix():
    few = readings(0.5, 0.4, n_rows=2000)  # ten rows per group: λ of a pure distractor is .9
    assert select_directions(few, cutoff=0.9).warnings == ()
    (caution,) = select_directions(few, cutoff=0.96).warnings
    assert (
        "With about 10 rows per group even a pure distractor has a distraction of about 0.900, below the cut-off 0.96; "
        in caution
    )
    assert caution.endswith(
        "pure noise would put 0 of 2 directions above it. Pass more than 25 rows per group, or lower the cut-off."
    )
    (caution,) = select_directions(few, cutoff=1.0).warnings
    assert caution.endswith("directions above it. Lower the cut-off.")


def test_caution_has_the_number_of_noise_directions_for_the_sizes_of_the_paper():
    paper = readings(*np.full(784, 0.5), n_groups=954, n_rows=95_400)
    assert (
        "; pure noise would put 105 of 784 directions above it. " in select_directions(paper, cutoff=0.999).warnings[0]
    )


@pytest.mark.parametrize(("n_removed", "warns"), [(8, False), (9, True)])
def test_nine_of_ten_counts_as_almost_everything(n_removed, warns):
    decision = select_directions(readings(*np.linspace(0.5, 0.4, 10), n_rows=200_000), n_remove=n_removed)
    expected = (
        f"{n_removed} of 10 directions that vary are removed, with {n_removed}0% of the total variance: little remains"
    )
    assert [caution.startswith(expected) for caution in decision.warnings] == [True] * warns


def test_one_of_one_varying_direction_is_not_almost_everything():
    assert select_directions(spectrum_of([1, 0], [1, 1]), n_remove=1).warnings == ()


def test_single_computed_direction_before_a_gap_is_removed():
    """The next direction was not computed, because it is too small to close the gap."""
    spectrum = spectrum_of([94, 10, 10], [6, 90, 90], n_groups=200)
    partial = first_of(spectrum, 1, variances=Variances(300.0, 114.0, 100.0))
    assert not partial.is_complete
    decision = select_directions(partial)
    assert (decision.n_removed, decision.cutoff) == (1, pytest.approx(0.94))
