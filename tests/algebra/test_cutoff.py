"""Which directions go, and what is said when the evidence is thin."""

import warnings

import numpy as np
import pytest
from scipy import stats

from undistract import EvidenceWarning, Focus, InputError, Moments, Spectrum
from undistract.algebra import Evidence, cut


def noise(n_sets, n_rows, n_features, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_sets * n_rows, n_features))
    return X, np.repeat(np.arange(n_sets), n_rows)


def distractor(n_sets, n_rows, n_features, seed=0, strength=10.0):
    """Noise in which one random direction moves strongly inside every set."""
    X, sets = noise(n_sets, n_rows, n_features, seed)
    rng = np.random.default_rng([seed, 1])
    pattern = rng.normal(size=n_features)
    pattern /= np.linalg.norm(pattern)
    X += np.repeat(rng.normal(size=(n_sets, n_features)), n_rows, axis=0)  # what tells sets apart
    return X + strength * rng.normal(size=(len(X), 1)) * pattern, sets, pattern


def test_the_automatic_rule_finds_one_distractor_and_nothing_else():
    X, sets, pattern = distractor(50, 60, 20)
    focus = Focus().fit(X, sets=sets)
    assert focus.n_removed_ == 1
    assert focus.cutoff_ == 0.95
    learned = focus.patterns_[:, 0] / np.linalg.norm(focus.patterns_[:, 0])
    assert abs(learned @ pattern) > 0.999


def test_the_automatic_rule_removes_nothing_from_pure_noise():
    X, sets = noise(50, 60, 20)
    assert Focus().fit(X, sets=sets).n_removed_ == 0


def test_a_fixed_cutoff_removes_every_direction_above_it():
    X, sets = noise(40, 50, 5)
    focus = Focus(cutoff=0.978, cushion=1e-8).fit(X, sets=sets)
    assert focus.n_removed_ == (focus.distraction_ >= 0.978).sum() == 3


def test_a_number_of_directions_is_taken_at_its_word():
    X, sets = noise(40, 50, 5)
    assert Focus(n_remove=3).fit(X, sets=sets).transform(X).shape == (2000, 2)


def test_a_number_that_would_take_constant_directions_is_refused():
    X, sets = noise(10, 50, 5)
    X[:, 2] = 7.0
    with pytest.raises(InputError, match="only 4 of 5 directions vary inside sets"):
        Focus(n_remove=5).fit(X, sets=sets)


def test_removing_all_there_is_is_refused():
    X, sets = noise(10, 50, 3)
    with pytest.raises(InputError, match="nothing would be left"):
        Focus(cutoff=0.5, cushion=1e-8).fit(X, sets=sets)


def test_too_few_sets_are_said_with_numbers():
    X, sets, _ = distractor(6, 100, 40)
    with pytest.warns(EvidenceWarning, match=r"6 sets can describe at most 5 directions; at least 35 of the 40"):
        Focus().fit(X, sets=sets)


def test_with_too_few_sets_the_automatic_rule_does_not_take_almost_everything():
    X, sets, _ = distractor(4, 100, 40)
    with pytest.warns(EvidenceWarning) as said:  # without a cushion all but three directions read 1
        focus = Focus(cushion=0.0).fit(X, sets=sets)
    assert focus.n_removed_ == 20
    assert any("it keeps 17 of them" in str(warning.message) for warning in said)
    with pytest.warns(EvidenceWarning) as said:
        assert Focus(cushion=0.0, cutoff=0.95).fit(X, sets=sets).n_removed_ == 37  # asked for, they go
    assert any("37 of 40 directions that vary are removed" in str(warning.message) for warning in said)


@pytest.mark.parametrize("n_sets", [4, 60])
def test_a_distractor_goes_however_strong_it_is(n_sets):
    X, sets, pattern = distractor(n_sets, 100, 40, strength=100.0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        focus = Focus().fit(X, sets=sets)
    assert focus.n_removed_ == 1
    assert abs(focus.patterns_[:, 0] @ pattern) > 0.99 * np.linalg.norm(focus.patterns_[:, 0])
    # What few sets say is done, and said with its numbers.
    assert ["1 removed, with 99% of all variation" in str(one.message) for one in said] == [True] * (n_sets == 4)


def test_with_few_sets_what_some_of_them_rest_in_stays():
    X, sets, pattern = distractor(8, 100, 40)
    with pytest.warns(EvidenceWarning, match="8 sets can describe"):
        assert Focus().fit(X, sets=sets).n_removed_ == 1
    resting = sets < 4  # half of the sets do not show it at all
    X[resting] -= np.outer(X[resting] @ pattern, pattern)
    with pytest.warns(EvidenceWarning) as said:
        focus = Focus().fit(X, sets=sets)
    assert focus.distraction_[0] > 0.95
    assert focus.n_removed_ == 0
    assert any("they vary in some sets and rest in others (unevenness 0." in str(one.message) for one in said)


def test_with_many_sets_a_weak_distractor_goes_where_it_stands_apart():
    X, sets, _ = distractor(60, 60, 40, strength=3.0)
    focus = Focus().fit(X, sets=sets)
    assert focus.n_removed_ == 1
    assert 0.9 <= focus.cutoff_ == focus.distraction_[0] < 0.95
    assert 1 - focus.distraction_[1] >= 1.5 * (1 - focus.distraction_[0])


def test_almost_everything_does_not_go_silently():
    X, sets = noise(3, 200, 20)
    with pytest.warns(EvidenceWarning) as said:
        focus = Focus(cutoff=0.999, cushion=1e-9).fit(X, sets=sets)
    assert any("18 of 20 directions that vary are removed, with 90% of all" in str(one.message) for one in said)
    assert "Caution: 18 of 20" in focus.describe()


def test_rows_too_few_for_the_cutoff_are_said_with_numbers():
    X, sets = noise(300, 20, 10)
    with pytest.warns(EvidenceWarning, match=r"about 20 rows per set .* about 0\.95\d, below the cut-off 0\.999"):
        Focus(cutoff=0.999).fit(X, sets=sets)


@pytest.mark.parametrize("bad", [0, -1, 1.5, float("nan"), "best", None, [0.9]])
def test_a_cutoff_that_makes_no_sense_is_refused(bad):
    X, sets = noise(5, 10, 3)
    with pytest.raises(InputError, match="cutoff is"):
        Focus(cutoff=bad).fit(X, sets=sets)


@pytest.mark.parametrize("bad", [-1, 1.5, "two", True])
def test_a_number_of_directions_that_makes_no_sense_is_refused(bad):
    X, sets = noise(5, 10, 3)
    with pytest.raises(InputError, match="n_remove is"):
        Focus(n_remove=bad).fit(X, sets=sets)


def test_wachter_s_edges_hold_the_noise():
    X, sets = noise(100, 30, 200)
    spectrum = Spectrum.of(Moments.of_labelled(X, sets), cushion=0)
    low, high = spectrum.evidence.noise_edges
    # 101 of the 200 read exactly 1, since 100 sets span 99 directions; the law is about the others.
    assert spectrum.evidence.n_silent == 101
    assert spectrum.distraction[:101] == pytest.approx(1.0)
    bulk = spectrum.distraction[101:]
    assert low - 0.01 < bulk.min() < low + 0.01  # edges are met up to n^(-2/3)
    assert high - 0.01 < bulk.max() < high + 0.01


@pytest.mark.parametrize(("n_sets", "n_rows", "n_features"), [(400, 20, 100), (300, 10, 200), (50, 40, 120)])
def test_the_count_that_noise_puts_above_a_cutoff_is_predicted(n_sets, n_rows, n_features):
    X, sets = noise(n_sets, n_rows, n_features, seed=3)
    spectrum = Spectrum.of(Moments.of_labelled(X, sets), cushion=0)
    for cutoff in np.quantile(spectrum.distraction, [0.2, 0.5, 0.8]):
        predicted = spectrum.evidence.noise_above(cutoff - 1e-12)
        assert predicted == pytest.approx((spectrum.distraction >= cutoff - 1e-12).sum(), abs=0.02 * n_features)


def test_noise_above_zero_counts_every_direction():
    evidence = Evidence(n_sets=954, n_rows=95400, n_directions=784, pure_distractor=0.99)
    assert evidence.noise_above(0.0) == pytest.approx(784, rel=1e-6)


def test_a_pure_distractor_reads_as_expected_for_unequal_sets():
    rng = np.random.default_rng(5)
    counts = rng.integers(2, 40, size=30)
    sets = np.repeat(np.arange(30), counts)
    readings = []
    for prior in ("uniform", "by_size"):
        values = [
            Spectrum.of(Moments.of_labelled(rng.normal(size=(len(sets), 1)), sets, prior), cushion=0).distraction[0]
            for _ in range(400)
        ]
        expected = Evidence.of(Moments.of_labelled(np.ones((len(sets), 1)), sets, prior), 1).pure_distractor
        readings.append((np.mean(values), expected, stats.sem(values)))
    for mean, expected, error in readings:
        # A ratio of means is not a mean of ratios: the second-order term is about 2 / M of the gap to 1.
        assert mean == pytest.approx(expected, abs=4 * error + (1 - expected) * 2 / 30)


def test_cut_can_be_asked_directly():
    X, sets, _ = distractor(50, 60, 20)
    decision = cut(Spectrum.of(Moments.of_labelled(X, sets)), n_remove=2)
    assert (decision.n_removed, decision.rule) == (2, "number")
    assert decision.cutoff == pytest.approx(Spectrum.of(Moments.of_labelled(X, sets)).distraction[1])
