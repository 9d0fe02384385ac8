"""Which directions go, and what is said when the evidence is thin."""

import warnings

import numpy as np
import pytest
from scipy import stats

from tests.algebra.by_hand import first_of, spectrum_of
from undistract import EvidenceWarning, Focus, InputError, Moments, Spectrum
from undistract.algebra import Evidence, cut
from undistract.algebra.cushion import Variances
from undistract.algebra.cutoff import needed
from undistract.algebra.leading import Wanted


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


def readings(*values, **more):
    """A spectrum with these distractions, by hand: features that do not mix, each with a variance of 1."""
    return spectrum_of(values, [1 - value for value in values], **more)


@pytest.mark.parametrize(
    ("values", "n_removed", "cutoff"),
    [
        ((0.95, 0.9499, 0.9498), 1, 0.95),  # what reads just that goes
        ((0.97, 0.96, 0.5), 2, 0.95),
        ((0.9, 0.8, 0.7), 1, 0.9),  # stands apart: 1 - λ doubles
        ((0.92, 0.88, 0.86), 1, 0.92),  # grows by half, just enough
        ((0.92, 0.89, 0.87), 0, 0.95),  # grows by less
        ((0.8999, 0.5, 0.1), 0, 0.95),  # a gap, but below .9
        ((0.99, 0.94, 0.93, 0.5), 3, 0.93),  # the last gap counts
        ((0.99, 0.93, 0.5, 0.1), 2, 0.93),
        ((0.99, 0.94, 0.93, 0.92), 1, 0.95),  # a gap behind the first says nothing about the others
        ((0.94, 0.9399, 0.9398), 0, 0.95),  # no gap behind them
        ((0.94,), 0, 0.95),  # nothing behind it to stand apart from
    ],
)
def test_the_automatic_rule_by_hand(values, n_removed, cutoff):
    decision = cut(readings(*values))
    assert (decision.n_removed, decision.rule) == (n_removed, "auto")
    assert decision.cutoff == pytest.approx(cutoff, rel=1e-12)


def test_where_only_the_first_directions_are_known_the_next_leaves_a_gap():
    whole = readings(0.93, 0.92, 0.91, 0.91)
    known = first_of(whole, 2, n_moving=2, variances=Variances(total=4.0, within=3.67, mean=1.0))
    assert (cut(known).n_removed, cut(known).cutoff) == (2, pytest.approx(0.92))
    assert cut(whole).n_removed == 0  # known as a whole, there is none


def test_with_few_sets_half_goes_at_most_and_only_what_varies_alike():
    values = (0.99, 0.98, 0.97, 0.93, 0.5)
    few = {"n_sets": 3, "n_rows": 600}
    even, border, uneven = (readings(*values, **few, unevenness=np.full(5, u)) for u in (0.0, 0.25, 0.2501))
    assert [cut(one).n_removed for one in (even, border, uneven)] == [2, 2, 0]
    assert [cut(one, cutoff=0.97).n_removed for one in (even, uneven)] == [3, 3]  # asked for, they go
    assert {cut(one).cutoff for one in (even, uneven)} == {0.95}  # gaps do not count
    # The others may be as uneven as they like.
    assert cut(readings(*values, **few, unevenness=np.array([0.0, 0.0, 0.0, 9.0, 9.0]))).n_removed == 2
    said = " ".join(cut(uneven).cautions)
    assert "would have removed 3 directions with 60% of all variation; with so few sets it keeps 3 of them, " in said
    assert (
        "they vary in some sets and rest in others (unevenness 0.25, at most 0.25 goes by itself). Set n_remo" in said
    )
    said = " ".join(cut(even).cautions)
    assert "with so few sets it keeps 1 of them. Set n_remove" in said
    assert cut(readings(0.5, 0.4, 0.3, 0.2, 0.1, **few, unevenness=np.full(5, 9.0))).n_removed == 0


def test_few_sets_are_told_with_how_much_is_silent():
    (said,) = cut(readings(0.5, 0.4, 0.3, 0.2, n_sets=3, n_rows=600)).cautions
    assert said.startswith(
        "3 sets can describe at most 2 directions; at least 2 of the 4 that vary would read high for lack of evidence. "
        "0 removed, with 0% of all variation."
    )
    assert cut(readings(0.5, 0.4, 0.3, 0.2, n_sets=5, n_rows=600)).cautions == ()


def test_a_number_may_take_all_that_varies_inside_sets_and_none():
    spectrum = spectrum_of([3, 2, 0], [1, 2, 5])
    assert [cut(spectrum, n_remove=n).n_removed for n in (0, 1, 2)] == [0, 1, 2]
    assert [cut(spectrum, n_remove=n).cutoff for n in (0, 1, 2)] == [1.0, 0.75, 0.5]
    with pytest.raises(InputError, match="n_remove is 3, but only 2 of 3 directions vary inside sets"):
        cut(spectrum, n_remove=3)
    assert cut(spectrum, n_remove=1).cautions == ()


def test_settings_that_make_no_sense_are_refused_whatever_the_spectrum():
    for settings in ({"cutoff": 0}, {"cutoff": 1.01}, {"cutoff": "best"}, {"n_remove": -1}, {"n_remove": True}):
        with pytest.raises(InputError, match=f"{next(iter(settings))} is"):
            cut(readings(0.9, 0.1), **settings)
    assert cut(readings(1.0, 0.1), cutoff=1).n_removed == 1  # both ends are allowed
    assert cut(readings(0.9, 0.1), n_remove=0).n_removed == 0


def test_what_must_be_known_to_decide():
    assert needed(0.97, None) == Wanted(least=0.97)
    assert needed("auto", 3) == Wanted(least=np.inf, number=3)
    automatic = needed("auto", None)
    # From .9 on a direction can stand apart, of those whose 1 - λ is at most half as large again.
    assert (automatic.least, automatic.number, automatic.silent) == (pytest.approx(0.85), 0, 0.95)


def test_nothing_that_varies_is_nothing_to_ignore():
    nothing = Spectrum.unknown(Moments.of(np.ones((2, 3, 2))))
    assert cut(nothing).cautions == ("Nothing varies in these sets, so there is nothing to ignore.",)


def test_a_cutoff_above_what_rows_can_show_is_told_with_a_way_out():
    few = readings(0.5, 0.4, n_rows=2000)  # ten rows a set: a pure distractor reads .9
    assert cut(few, cutoff=0.9).cautions == ()
    (said,) = cut(few, cutoff=0.96).cautions
    assert "With about 10 rows per set even a pure distractor reads about 0.900, below the cut-off 0.96; " in said
    assert said.endswith(
        "pure noise would put 0 of 2 directions above it. Give more than 25 rows per set, or lower the cut-off."
    )
    (said,) = cut(few, cutoff=1.0).cautions
    assert said.endswith("directions above it. Lower the cut-off.")


def test_what_noise_would_put_above_the_cutoff_is_told_for_the_sizes_of_the_paper():
    paper = readings(*np.full(784, 0.5), n_sets=954, n_rows=95_400)
    assert "; pure noise would put 105 of 784 directions above it. " in cut(paper, cutoff=0.999).cautions[0]


@pytest.mark.parametrize(("n_removed", "told"), [(8, False), (9, True)])
def test_nine_of_ten_are_almost_everything(n_removed, told):
    decision = cut(readings(*np.linspace(0.5, 0.4, 10), n_rows=200_000), n_remove=n_removed)
    expected = (
        f"{n_removed} of 10 directions that vary are removed, with {n_removed}0% of all variation: little is left"
    )
    assert [said.startswith(expected) for said in decision.cautions] == [True] * told


def test_one_of_one_that_varies_is_not_almost_everything():
    assert cut(spectrum_of([1, 0], [1, 1]), n_remove=1).cautions == ()


def test_a_single_direction_that_is_known_stands_apart_at_its_own_value():
    """The next was not asked for, because it reads less than whatever could stand beside this one."""
    spectrum = spectrum_of([94, 10, 10], [6, 90, 90], n_sets=200)
    known = first_of(spectrum, 1, variances=Variances(300.0, 114.0, 100.0))
    assert not known.is_whole
    decision = cut(known)
    assert (decision.n_removed, decision.cutoff) == (1, pytest.approx(0.94))
