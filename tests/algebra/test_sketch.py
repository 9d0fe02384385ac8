"""A sketch in the hands of `Focus`: it finds what all rows show, says how sure it is, and refuses what it cannot do."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from tests.algebra.by_hand import spectrum_of
from undistract import EvidenceWarning, Focus, InputError, Moments, SetMoments, SketchedMoments, Spectrum
from undistract.algebra import Evidence, cut
from undistract.algebra.sketched_spectrum import between_which, sketch_in_words, sketched_cut, sketched_spectrum


def lit_sets(n_sets=60, n_rows=40, width=400, seed=0, mixed=True):
    """Sets whose features fall off slowly, all lit from two sides by chance."""
    rng = np.random.default_rng(seed)
    scale = (1 + np.arange(width)) ** -0.5
    mix = np.linalg.qr(rng.normal(size=(width, width)))[0] if mixed else np.eye(width)
    light = np.linalg.qr(rng.normal(size=(width, 2)))[0].T
    strength = np.sqrt((scale**2).sum() / 4)
    return {
        f"day {m}": ((rng.normal(size=(n_rows, width)) + 2 * rng.normal(size=width)) * scale) @ mix
        + strength * rng.normal(size=(n_rows, 2)) @ light
        for m in range(n_sets)
    }


quietly = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


@quietly
@pytest.mark.parametrize("mixed", [False, True])
def test_a_sketch_a_tenth_as_wide_finds_the_light(mixed):
    sets = lit_sets(mixed=mixed)
    sketch, exact = (Focus(n_remove=2).fit_moments(kind.of(sets)) for kind in (_Forty, Moments))
    assert np.degrees(subspace_angles(sketch.patterns_[:, :2], exact.patterns_[:, :2])).max() < 2
    assert sketch.distraction_[:2] == pytest.approx(exact.distraction_[:2], abs=0.002)
    fresh = np.concatenate(list(lit_sets(n_sets=2, mixed=mixed).values()))
    assert sketch.transform(fresh).shape == exact.transform(fresh).shape == (80, 398)
    assert sketch.denoise(fresh) == pytest.approx(exact.denoise(fresh), abs=0.05 * np.abs(fresh).max())


class _Forty:
    @staticmethod
    def of(sets):
        return SketchedMoments.of(sets, size=40)


@quietly
def test_giving_back_half_of_what_was_dropped_comes_closer_than_giving_back_none():
    sets = lit_sets()
    exact = Focus().fit_moments(Moments.of(sets)).distraction_[:20]
    sketch = SketchedMoments.of(sets, size=40)
    none, half = (
        np.abs(sketched_spectrum(sketch, compensation=share).distraction[:20] - exact).max() for share in (0, 0.5)
    )
    assert half < none / 2


@quietly
def test_describe_says_that_it_is_a_sketch_and_how_far_it_can_be_wrong():
    sketch = SketchedMoments.of(lit_sets(), size=40)
    focus = Focus(n_remove=2).fit_moments(sketch)
    least, most = between_which(sketch, focus.spectrum_)
    assert f"Sketch: size 40, with {sketch.held:.0%} of the variation inside sets" in focus.describe()
    assert f"of all rows {least[0]:.3f} to {most[0]:.3f}" in focus.describe()
    exact = Focus(n_remove=2).fit_moments(SketchedMoments.of(lit_sets(), size=2400))
    assert "dropped nothing, so all of this is exact" in exact.describe()


def test_a_cut_that_the_sketch_leaves_open_is_a_warning_with_numbers():
    sketch = SketchedMoments.of(lit_sets(), size=10)
    with pytest.warns(EvidenceWarning) as told:
        Focus(cutoff=0.9).fit_moments(sketch)
    words = [str(one.message) for one in told]
    assert any("The sketch of size 10 leaves open which directions read 0.9 or more" in one for one in words)
    # Directions beyond the sketch are counted among those that vary.
    assert any("at least 341 of the 400 that vary" in one for one in words)


@quietly
@pytest.mark.parametrize("size", [5, 20, 60])
@pytest.mark.parametrize("settings", [{}, {"cutoff": 0.9}, {"cutoff": 0.95, "cushion": 0.02}], ids=str)
def test_a_sketch_never_removes_more_than_all_rows_would(size, settings):
    """Half of a large drop, given back, alone lifts every direction over the cut-off."""
    for n_sets in (60, 200):  # fewer sets than features, and more: the automatic rule differs
        sets = lit_sets(n_sets=n_sets, n_rows=30, width=120)
        few, every = (
            Focus(**settings).fit_moments(one) for one in (SketchedMoments.of(sets, size=size), Moments.of(sets))
        )
        passing = int((every.distraction_ >= min(every.cutoff_, few.cutoff_)).sum())
        assert few.n_removed_ <= passing


def test_every_caution_of_a_sketch_tells_the_same_number_of_removed_directions():
    """One said that 38 were removed, the next that 29 were: the first had not heard of what the sketch leaves open."""
    rng = np.random.default_rng(0)
    sets = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    sketch = SketchedMoments.of(sets, size=64)
    spectrum = sketched_spectrum(sketch)
    decision = sketched_cut(sketch, spectrum, cutoff=0.8)
    assert 0 < decision.n_removed < cut(spectrum, cutoff=0.8).n_removed
    silent, open_question = decision.cautions
    assert f"{decision.n_removed} removed, with" in silent
    assert f"{decision.n_removed} removed. Give it" in open_question


@quietly
def test_directions_beyond_the_sketch_are_not_called_constant():
    focus = Focus(n_remove=2).fit_moments(SketchedMoments.of(lit_sets(), size=10))
    kinds = focus.kinds_
    assert list(kinds[:2]) == ["distracting", "distracting"]
    assert set(kinds[len(focus.spectrum_.distraction) :]) == {"unknown"}
    exact = Focus(n_remove=2).fit_moments(SketchedMoments.of(lit_sets(), size=2400))
    assert "unknown" not in exact.kinds_


def test_features_on_which_nothing_varies_leave_nothing_to_remove():
    with pytest.warns(EvidenceWarning, match="Nothing varies"):
        focus = Focus().fit_moments(SketchedMoments.of(np.ones((3, 4, 5)), size=2))
    assert focus.n_removed_ == 0
    assert focus.transform(np.zeros((2, 5))).shape == (2, 5)


def test_a_single_precision_memory_map_is_sketched_like_its_doubles(tmp_path):
    sets = {name: rows.astype(np.float32) for name, rows in lit_sets(n_sets=5, width=50).items()}
    np.save(tmp_path / "rows.npy", np.stack(list(sets.values())))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    narrow = SketchedMoments.of(mapped, size=20)
    wide = SketchedMoments.of([rows.astype(float) for rows in sets.values()], size=20)
    assert (narrow.rows_inside == wide.rows_inside).all()


@pytest.mark.parametrize("size", [0, -3, 2.5, True, "many", None])
def test_a_size_that_is_no_number_of_directions_is_refused(size):
    with pytest.raises(InputError, match="expected how many directions the sketch holds"):
        SketchedMoments.of(lit_sets(n_sets=2, width=5), size=size)


def test_what_a_sketch_cannot_do_is_refused_with_words():
    sets = lit_sets(n_sets=4, width=30)
    sketch = SketchedMoments.of(sets, size=8)
    with pytest.raises(InputError, match="'day 0' is already in these moments"):
        sketch + sketch
    with pytest.raises(InputError, match="'day 1' is already in these moments"):
        SketchedMoments.of([("day 1", np.ones((2, 3))), ("day 2", np.ones((2, 3))), ("day 1", np.ones((2, 3)))])
    with pytest.raises(InputError, match="prior 'uniform' and size 8, the other with 'by_size' and 9"):
        sketch + SketchedMoments.of({"other": sets["day 0"]}, "by_size", size=9)
    with pytest.raises(InputError, match="has 3 features, the others have 30"):
        sketch + SketchedMoments.of({"other": np.ones((2, 3))}, size=8)
    for one, other in ((sketch, Moments.of({"x": sets["day 0"]})), (Moments.of({"x": sets["day 0"]}), sketch)):
        with pytest.raises(InputError, match="Make a sketch of its sets too"):
            one + other
    with pytest.raises(InputError, match="came as SetMoments"):
        SketchedMoments.of({"x": SetMoments.of(sets["day 0"])})
    with pytest.raises(InputError, match="There are no sets"):
        SketchedMoments.of([])
    with pytest.raises(InputError, match="cushion is 0"):
        Focus(cushion=0).fit_moments(sketch)
    with pytest.raises(InputError, match="leave the range of numbers"):
        SketchedMoments.of({"x": sets["day 0"] * 1e200})
    with pytest.raises(InputError, match="1 set cannot show"):
        Focus().fit_moments(SketchedMoments.of({"x": sets["day 0"]}))


def test_a_sketch_may_hold_a_single_direction():
    assert SketchedMoments.of(lit_sets(n_sets=3, width=5), size=1).rows_inside.shape[0] <= 2


def test_weights_for_more_sets_than_there_are_are_refused():
    sets = lit_sets(n_sets=3, width=5)
    with pytest.raises(InputError, match="prior has 4 weights for 3 sets"):
        SketchedMoments.of(sets, [1.0, 2.0, 3.0, 4.0])
    assert SketchedMoments.of(sets, [1.0, 2.0, 3.0]).weights.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("cushion", [-1.0, float("nan"), True, "large"])
def test_a_cushion_that_is_no_variance_is_refused(cushion):
    with pytest.raises(InputError, match="cushion is"):
        sketched_spectrum(SketchedMoments.of(lit_sets(n_sets=3, width=5)), cushion=cushion)


def test_a_sketch_that_dropped_nothing_says_so_in_one_sentence():
    sketch = SketchedMoments.of(lit_sets(n_sets=3, width=5), size=60)  # room for all of the 120 rows
    assert sketch_in_words(sketch, sketched_spectrum(sketch)) == (
        "Sketch: size 60; it dropped nothing, so all of this is exact."
    )


def test_two_sketches_of_three_rows_by_hand():
    sets, prior = {"a": [[1.0, 0.0], [3.0, 0.0]], "b": [[0.0, 6.0]]}, {"a": 1.0, "b": 3.0}
    one, other = (SketchedMoments.of({name: rows}, prior, size=4) for name, rows in sets.items())
    with pytest.raises(InputError, match="'a' is already in these moments"):
        one + one
    with pytest.raises(TypeError):
        one + 3
    for sketch in (SketchedMoments.of(sets, prior, size=4), one + other):
        assert sketch.mean.tolist() == pytest.approx([2 / 4, 18 / 4])
        assert sketch.rows_inside.T @ sketch.rows_inside == pytest.approx(np.diag([1 / 4, 0.0]))
        # 1/4 · 3/4 of the squared step (-2, 6) from one mean to the other
        assert sketch.rows_apart.T @ sketch.rows_apart == pytest.approx(
            3 / 16 * np.array([[4.0, -12.0], [-12.0, 36.0]])
        )
        assert sketch.variances == pytest.approx([1 / 4 + 12 / 16, 108 / 16])
        assert (sketch.dropped, sketch.dropped_apart, sketch.held) == (0.0, 0.0, pytest.approx(1.0))
        assert sketch.bound == pytest.approx(1 / 4 / 5)  # trace over size + 1
        assert sketch.traces.tolist() == [2.0, 0.0]
        noise, noise_squared = sketch.wander(np.eye(2), np.array([1.0, 4.0]))
        assert noise == pytest.approx([1.0, 4.0])  # of two rows: as much as they vary
        assert noise_squared == pytest.approx([1 / 4, 1.0])


def test_set_means_wander_by_how_much_each_set_varies_and_how_many_rows_it_has():
    # Sets of 3 and 5 rows with variances 2 and 8 in one feature, of 1/2 each: noise = Σ P v/(n - 1)
    three, five = np.array([[-1.0], [1.0], [0.0]]) * np.sqrt(3), np.array([[-2.0], [2.0], [-4.0], [4.0], [0.0]])
    sketch = SketchedMoments.of({"a": three, "b": five, "one": [[9.0]]}, {"a": 1.0, "b": 1.0, "one": 2.0}, size=9)
    inside = (2 + 8) / 4
    assert sketch.rows_inside.T @ sketch.rows_inside == pytest.approx(np.array([[inside]]))
    noise, noise_squared = sketch.wander(np.eye(1), np.array([inside]))
    assert noise == pytest.approx([(2 / 2 + 8 / 4) / 4])
    assert noise_squared == pytest.approx([(2 / 2 + 8 / 4) / 16])


@quietly
def test_a_focus_of_a_sketch_says_how_to_learn_on():
    sets = lit_sets(n_sets=6, width=30)
    names = list(sets)
    focus = Focus(n_remove=1).fit_moments(SketchedMoments.of({name: sets[name] for name in names[:4]}, size=8))
    with pytest.raises(InputError, match=r"focus.moments_ \+ SketchedMoments.of\(sets, size=8\)"):
        focus.partial_fit(sets[names[4]], sets=["new"] * 40)
    more = SketchedMoments.of({name: sets[name] for name in names[4:]}, size=8)
    assert focus.fit_moments(focus.moments_ + more).moments_.n_sets == 6


@pytest.mark.parametrize("prior", ["uniform", "by_size"])
def test_a_sketch_of_a_few_rows_has_their_spectrum(prior):
    sets = {m: np.random.default_rng(m).normal(size=(5, 4)) * [1.0, 2.0, 3.0, 0.0] + m for m in range(5)}
    sets = {m: np.hstack([rows, np.full((len(rows), 1), 7.0)]) for m, rows in sets.items()}  # a constant feature
    found, expected = sketched_spectrum(SketchedMoments.of(sets, prior)), Spectrum.of(Moments.of(sets, prior))
    assert found.evidence == expected.evidence
    assert found.n_moving == expected.n_moving == 3
    assert found.cushion == pytest.approx(expected.cushion, rel=1e-12)
    for name in ("distraction", "debiased", "unevenness", "origin"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(found.filters.T @ found.patterns, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(found.filters[4], 0.0, atol=1e-12)  # nothing reads the constant one
    np.testing.assert_allclose(found.patterns @ found.patterns.T, expected.patterns @ expected.patterns.T, atol=1e-9)
    for one, other in ((found.patterns, expected.patterns), (found.filters, expected.filters)):
        np.testing.assert_allclose(np.abs(one[:, :3]), np.abs(other[:, :3]), rtol=1e-8, atol=1e-10)


def test_rows_that_never_vary_have_no_spectrum():
    sketch = SketchedMoments.of(np.ones((3, 4, 5)), size=2)
    spectrum = sketched_spectrum(sketch, cushion=0.5, absolute=True)
    assert (spectrum.cushion, spectrum.n_moving, spectrum.patterns.shape) == (0.5, 0, (5, 0))
    assert spectrum.evidence == Evidence.of(Moments.of(np.ones((3, 4, 5))), 0)


def test_unevenness_is_exact_in_a_sketch():
    sets = {m: (1 + m) * np.random.default_rng(m).normal(size=(5 + m, 6)) * np.arange(1.0, 7.0) for m in range(4)}
    patterns = np.random.default_rng(9).normal(size=(6, 3))
    for prior in ("uniform", "by_size"):
        expected = Moments.of(sets, prior).unevenness(patterns)
        assert expected.min() > 0.1
        sketch = SketchedMoments.of(sets, prior, size=2)
        np.testing.assert_allclose(sketch.unevenness(patterns), expected, rtol=1e-10)
        spectrum = sketched_spectrum(sketch)
        np.testing.assert_allclose(
            spectrum.unevenness, Moments.of(sets, prior).unevenness(spectrum.patterns), rtol=1e-10
        )


def dropping(dropped, apart=0.0):
    """What the cut asks of a sketch."""
    return SimpleNamespace(size=8, dropped=dropped, dropped_apart=apart)


def test_what_a_sketch_leaves_open_by_hand():
    # λ .75 and .5: odds 3 and 1, at a cushion of 2. It dropped 4, of which half is given back: one more or less.
    spectrum = spectrum_of([12, 6], [2, 4], cushion=2.0)
    low, high = between_which(dropping(4.0), spectrum)
    assert low == pytest.approx([2 / 3, 0.0])
    assert high == pytest.approx([4 / 5, 2 / 3])
    low, high = between_which(dropping(4.0, apart=2.0), spectrum)  # sets may differ by one cushion more
    assert low == pytest.approx([1 / 2, 0.0])
    assert high == pytest.approx([4 / 5, 2 / 3])
    # Beyond a sketch that does not hold all features, every direction may read as much as was given back.
    narrow = spectrum_of([12, 6, 0], [2, 4, 0], cushion=2.0)
    assert between_which(dropping(8.0), narrow)[1] == pytest.approx([5 / 6, 4 / 5])
    for exact in between_which(dropping(0.0), spectrum):
        assert exact == pytest.approx([0.75, 0.5])


def test_only_what_surely_passes_goes():
    spectrum = spectrum_of([94, 90.5, 50], [5, 8.5, 49], cushion=1.0)  # λ .94, .905, .5
    assert sketched_cut(dropping(0.2), spectrum, cutoff=0.93).n_removed == 1
    assert sketched_cut(dropping(2.0), spectrum, cutoff=0.93).cautions == ()  # whatever it dropped, .905 stays below
    open_one = sketched_cut(dropping(2.0), spectrum, cutoff=0.9)
    assert open_one.n_removed == 1
    assert open_one.cautions == (
        "The sketch of size 8 leaves open which directions read 0.9 or more: 1 surely do, 2 of those it holds may. "
        "1 removed. Give it a larger size, or the spectrum a larger cushion.",
    )
    assert sketched_cut(dropping(99.0), spectrum, cutoff=0.9).n_removed == 0


def test_behind_a_gap_a_direction_goes_where_it_surely_can_stand_apart():
    spectrum = spectrum_of([94, 50, 1], [5, 49, 1], cushion=1.0)
    assert cut(spectrum).cutoff == pytest.approx(0.94)
    # It reads .936 at least: not its own value, but enough to stand apart.
    assert sketched_cut(dropping(2.0), spectrum).n_removed == 1
    assert sketched_cut(dropping(20.0), spectrum).n_removed == 0


def test_without_a_gap_only_the_automatic_cutoff_counts():
    values = np.array([0.97, 0.93, 0.92, 0.91, 0.9001])
    spectrum = spectrum_of(100 * values, 99 - 100 * values, cushion=1.0)
    assert cut(spectrum).cutoff == 0.95
    decision = sketched_cut(dropping(0.2), spectrum)  # the last may be above .9 or below, and nobody asks
    assert (decision.n_removed, decision.cautions) == (1, ())


def test_a_number_is_taken_at_its_word_by_a_sketch_too():
    spectrum = spectrum_of([94, 90.5, 50], [5, 8.5, 49], cushion=1.0)
    assert sketched_cut(dropping(99.0), spectrum, n_remove=2) == cut(spectrum, n_remove=2)


def test_sets_of_other_features_and_a_single_set_are_refused_by_a_sketch():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="Set 1 has 4 features"):
        SketchedMoments.of([rng.normal(size=(9, 3)), rng.normal(size=(9, 4))], size=2)
    with pytest.raises(InputError, match="1 set cannot show what tells sets apart"):
        sketched_spectrum(SketchedMoments.of([rng.normal(size=(9, 3))], size=2))


def test_sets_too_far_apart_to_be_squared_are_refused_by_a_sketch_at_once_and_when_it_joins():
    """Beyond, the sketch would hold infinity and say nothing."""
    near, far = np.eye(3, 2), np.eye(3, 2) + np.array([1e146, 0.0])
    with pytest.raises(InputError, match="Feature 0 varies on a scale"):
        SketchedMoments.of([near, far], size=4)
    with pytest.raises(InputError, match="Feature 0 varies on a scale"):
        SketchedMoments.of({"near": near}, size=4) + SketchedMoments.of({"far": far}, size=4)


def test_a_sketch_of_what_never_varies_holds_all_of_it():
    assert SketchedMoments.of([np.zeros((3, 2)), np.ones((3, 2))], size=4).held == 1.0


@pytest.mark.parametrize("unit", [1e-100, 1e-14, 1.0, 1e14, 1e100])
@pytest.mark.parametrize("size", [2, 50])
def test_units_do_not_matter_to_a_sketch(size, unit):
    """In units of 1e-14 nothing was said to vary inside sets: what was dropped was counted as ones of no unit."""
    rng = np.random.default_rng(0)
    sets = np.hstack(
        [rng.normal(size=(9, 20, 5)).reshape(180, 5) * 0.5 ** np.arange(5), np.repeat(np.eye(9, 2), 20, 0)]
    )
    here, there = (
        sketched_spectrum(SketchedMoments.of(list(X.reshape(9, 20, 7)), size=size)) for X in (sets, sets * unit)
    )
    assert here.n_moving == there.n_moving == (7 if size == 2 else 5)  # what was dropped varies everywhere
    np.testing.assert_allclose(here.distraction, there.distraction, atol=1e-9)


def test_a_single_feature_is_debiased_as_with_all_rows():
    rng = np.random.default_rng(0)
    sets = [rng.normal(m % 3, 1.0, size=(6, 1)) for m in range(8)]
    found, expected = sketched_spectrum(SketchedMoments.of(sets)), Spectrum.of(Moments.of(sets))
    assert 0.2 < expected.debiased[0] < 0.8
    np.testing.assert_allclose(found.debiased, expected.debiased, rtol=1e-12)


def test_what_surely_passes_is_told_to_the_last_digit():
    rng = np.random.default_rng(0)
    sketch = SketchedMoments.of([rng.normal(size=30) + 3 * rng.normal(size=(40, 30)) for _ in range(60)], size=10)
    spectrum = sketched_spectrum(sketch)
    low, high = between_which(sketch, spectrum)
    assert low[0] < 0.98 * high[0]
    assert sketched_cut(sketch, spectrum, cutoff=low[0] * (1 - 1e-9)).n_removed >= 1
    assert sketched_cut(sketch, spectrum, cutoff=low[0] * (1 + 1e-9)).n_removed == 0
