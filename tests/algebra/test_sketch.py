"""Sketched moments with `Focus`: accuracy, error bounds and invalid input."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from tests.algebra.by_hand import spectrum_of
from undistract import EvidenceWarning, Focus, GroupMoments, InputError, Moments, SketchedMoments, Spectrum
from undistract.algebra import Evidence, select_directions
from undistract.algebra.sketch import describe_sketch, distraction_bounds, sketched_cut, sketched_spectrum


def illuminated_groups(n_groups=60, n_rows=40, width=400, seed=0, mixed=True):
    """Return groups with slowly decaying variances and two random illuminations."""
    rng = np.random.default_rng(seed)
    scale = (1 + np.arange(width)) ** -0.5
    mix = np.linalg.qr(rng.normal(size=(width, width)))[0] if mixed else np.eye(width)
    light = np.linalg.qr(rng.normal(size=(width, 2)))[0].T
    strength = np.sqrt((scale**2).sum() / 4)
    return {
        f"day {m}": ((rng.normal(size=(n_rows, width)) + 2 * rng.normal(size=width)) * scale) @ mix
        + strength * rng.normal(size=(n_rows, 2)) @ light
        for m in range(n_groups)
    }


ignore_evidence_warnings = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


@ignore_evidence_warnings
@pytest.mark.parametrize("mixed", [False, True])
def test_small_sketch_finds_the_illumination(mixed):
    groups = illuminated_groups(mixed=mixed)
    sketch, exact = (Focus(n_remove=2).fit_moments(kind.of(groups)) for kind in (_SketchOfSize40, Moments))
    assert np.degrees(subspace_angles(sketch.patterns_[:, :2], exact.patterns_[:, :2])).max() < 2
    assert sketch.distraction_[:2] == pytest.approx(exact.distraction_[:2], abs=0.002)
    fresh = np.concatenate(list(illuminated_groups(n_groups=2, mixed=mixed).values()))
    assert sketch.transform(fresh).shape == exact.transform(fresh).shape == (80, 398)
    assert sketch.denoise(fresh) == pytest.approx(exact.denoise(fresh), abs=0.05 * np.abs(fresh).max())


class _SketchOfSize40:
    @staticmethod
    def of(groups):
        return SketchedMoments.of(groups, size=40)


@ignore_evidence_warnings
def test_compensation_improves_accuracy():
    groups = illuminated_groups()
    exact = Focus().fit_moments(Moments.of(groups)).distraction_[:20]
    sketch = SketchedMoments.of(groups, size=40)
    none, half = (
        np.abs(sketched_spectrum(sketch, compensation=share).distraction[:20] - exact).max() for share in (0, 0.5)
    )
    assert half < none / 2


@ignore_evidence_warnings
def test_describe_shows_size_and_accuracy():
    sketch = SketchedMoments.of(illuminated_groups(), size=40)
    focus = Focus(n_remove=2).fit_moments(sketch)
    least, most = distraction_bounds(sketch, focus.spectrum_)
    assert f"Sketch: size 40, with {sketch.retained:.0%} of the within-group variance" in str(focus.summary())
    assert f"with all rows {least[0]:.3f} to {most[0]:.3f}" in str(focus.summary())
    exact = Focus(n_remove=2).fit_moments(SketchedMoments.of(illuminated_groups(), size=2400))
    assert "dropped nothing, so all values are exact" in str(exact.summary())


def test_undecided_directions_give_a_warning():
    sketch = SketchedMoments.of(illuminated_groups(), size=10)
    with pytest.warns(EvidenceWarning) as caught:
        focus = Focus(cutoff=0.9).fit_moments(sketch)
    messages = [str(warning.message) for warning in caught]
    expected = "The sketch of size 10 is too small to decide which directions have a distraction of 0.9 or more"
    assert any(expected in message for message in messages)
    # Directions outside the sketch count as varying.
    assert (focus.spectrum_.evidence.n_unresolved, focus.spectrum_.n_directions) == (341, 400)


@ignore_evidence_warnings
@pytest.mark.parametrize("size", [5, 20, 60])
@pytest.mark.parametrize("settings", [{}, {"cutoff": 0.9}, {"cutoff": 0.95, "ridge": 0.02}], ids=str)
def test_sketch_never_removes_more_than_exact_moments(size, settings):
    """Half of a large `dropped` alone would lift every direction over the cut-off."""
    for n_groups in (60, 200):  # fewer and more groups than features: the automatic rule differs
        groups = illuminated_groups(n_groups=n_groups, n_rows=30, width=120)
        sketched = Focus(**settings).fit_moments(SketchedMoments.of(groups, size=size))
        exact = Focus(**settings).fit_moments(Moments.of(groups))
        passing = int((exact.distraction_ >= min(exact.cutoff_, sketched.cutoff_)).sum())
        assert sketched.n_removed_ <= passing


def test_all_warnings_give_the_same_number_of_removed_directions():
    """Regression: two warnings gave different numbers of removed directions, 38 and 29."""
    rng = np.random.default_rng(0)
    groups = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    sketch = SketchedMoments.of(groups, size=64)
    spectrum = sketched_spectrum(sketch)
    decision = sketched_cut(sketch, spectrum, cutoff=0.8)
    assert 0 < decision.n_removed < select_directions(spectrum, cutoff=0.8).n_removed
    (too_small,) = decision.warnings
    assert f"{decision.n_removed} removed. Use a larger size" in too_small


@ignore_evidence_warnings
def test_directions_outside_the_sketch_are_unknown():
    focus = Focus(n_remove=2).fit_moments(SketchedMoments.of(illuminated_groups(), size=10))
    kinds = focus.kinds_
    assert list(kinds[:2]) == ["distracting", "distracting"]
    assert set(kinds[len(focus.spectrum_.distraction) :]) == {"unknown"}
    exact = Focus(n_remove=2).fit_moments(SketchedMoments.of(illuminated_groups(), size=2400))
    assert "unknown" not in exact.kinds_


def test_constant_features_are_kept():
    with pytest.warns(EvidenceWarning, match="Nothing varies"):
        focus = Focus().fit_moments(SketchedMoments.of(np.ones((3, 4, 5)), size=2))
    assert focus.n_removed_ == 0
    assert focus.transform(np.zeros((2, 5))).shape == (2, 5)


def test_float32_memory_map_equals_float64(tmp_path):
    groups = {name: rows.astype(np.float32) for name, rows in illuminated_groups(n_groups=5, width=50).items()}
    np.save(tmp_path / "rows.npy", np.stack(list(groups.values())))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    narrow = SketchedMoments.of(mapped, size=20)
    wide = SketchedMoments.of([rows.astype(float) for rows in groups.values()], size=20)
    assert (narrow.rows_within == wide.rows_within).all()


@pytest.mark.parametrize("size", [0, -3, 2.5, True, "many", None])
def test_invalid_size_raises(size):
    with pytest.raises(InputError, match="size must be a positive number of directions"):
        SketchedMoments.of(illuminated_groups(n_groups=2, width=5), size=size)


def test_invalid_input_raises():
    groups = illuminated_groups(n_groups=4, width=30)
    sketch = SketchedMoments.of(groups, size=8)
    with pytest.raises(InputError, match="'day 0' is already in these moments"):
        sketch + sketch
    with pytest.raises(InputError, match="'day 1' is already in these moments"):
        SketchedMoments.of([("day 1", np.ones((2, 3))), ("day 2", np.ones((2, 3))), ("day 1", np.ones((2, 3)))])
    with pytest.raises(InputError, match="got prior 'uniform' and size 8, and prior 'by_size' and size 9"):
        sketch + SketchedMoments.of({"other": groups["day 0"]}, "by_size", size=9)
    with pytest.raises(InputError, match="has 3 features, the others have 30"):
        sketch + SketchedMoments.of({"other": np.ones((2, 3))}, size=8)
    for first, second in ((sketch, Moments.of({"x": groups["day 0"]})), (Moments.of({"x": groups["day 0"]}), sketch)):
        with pytest.raises(InputError, match="Sketch the other groups too"):
            first + second
    with pytest.raises(InputError, match="A sketch needs rows, got GroupMoments"):
        SketchedMoments.of({"x": GroupMoments.of(groups["day 0"])})
    with pytest.raises(InputError, match="There are no groups"):
        SketchedMoments.of([])
    with pytest.raises(InputError, match="ridge must be positive for a sketch, got 0"):
        Focus(ridge=0).fit_moments(sketch)
    with pytest.raises(InputError, match="leave the range of numbers"):
        SketchedMoments.of({"x": groups["day 0"] * 1e200})
    with pytest.raises(InputError, match="1 group cannot show"):
        Focus().fit_moments(SketchedMoments.of({"x": groups["day 0"]}))


def test_sketch_of_size_one():
    assert SketchedMoments.of(illuminated_groups(n_groups=3, width=5), size=1).rows_within.shape[0] <= 2


def test_too_many_weights_raise():
    groups = illuminated_groups(n_groups=3, width=5)
    with pytest.raises(InputError, match="prior has 4 weights for 3 groups"):
        SketchedMoments.of(groups, [1.0, 2.0, 3.0, 4.0])
    assert SketchedMoments.of(groups, [1.0, 2.0, 3.0]).weights.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), True, "large"])
def test_invalid_cushion_raises(ridge):
    with pytest.raises(InputError, match="ridge must be"):
        sketched_spectrum(SketchedMoments.of(illuminated_groups(n_groups=3, width=5)), ridge=ridge)


def test_exact_sketch_is_described_in_one_sentence():
    sketch = SketchedMoments.of(illuminated_groups(n_groups=3, width=5), size=60)  # large enough for all 120 rows
    assert describe_sketch(sketch, sketched_spectrum(sketch)) == (
        "Sketch: size 60; it dropped nothing, so all values are exact."
    )


def test_two_sketches_of_three_rows():
    groups, prior = {"a": [[1.0, 0.0], [3.0, 0.0]], "b": [[0.0, 6.0]]}, {"a": 1.0, "b": 3.0}
    first, second = (SketchedMoments.of({name: rows}, prior, size=4) for name, rows in groups.items())
    with pytest.raises(InputError, match="'a' is already in these moments"):
        first + first
    with pytest.raises(TypeError):
        first + 3
    for sketch in (SketchedMoments.of(groups, prior, size=4), first + second):
        assert sketch.mean.tolist() == pytest.approx([2 / 4, 18 / 4])
        assert sketch.rows_within.T @ sketch.rows_within == pytest.approx(np.diag([1 / 4, 0.0]))
        # 1/4 · 3/4 of the squared distance (-2, 6) between the means
        assert sketch.rows_between.T @ sketch.rows_between == pytest.approx(
            3 / 16 * np.array([[4.0, -12.0], [-12.0, 36.0]])
        )
        assert sketch.variances == pytest.approx([1 / 4 + 12 / 16, 108 / 16])
        assert (sketch.dropped, sketch.dropped_between, sketch.retained) == (0.0, 0.0, pytest.approx(1.0))
        assert sketch.bound == pytest.approx(1 / 4 / 5)  # trace over size + 1
        assert sketch.traces.tolist() == [2.0, 0.0]
        noise, noise_squared = sketch.mean_noise(np.eye(2), np.array([1.0, 4.0]))
        assert noise == pytest.approx([1.0, 4.0])  # two rows: the noise equals the variance
        assert noise_squared == pytest.approx([1 / 4, 1.0])


def test_noise_of_group_means():
    # Groups of 3 and 5 rows with variances 2 and 8 in one feature and equal weights: noise = Σ P v/(n - 1)
    three, five = np.array([[-1.0], [1.0], [0.0]]) * np.sqrt(3), np.array([[-2.0], [2.0], [-4.0], [4.0], [0.0]])
    sketch = SketchedMoments.of({"a": three, "b": five, "one": [[9.0]]}, {"a": 1.0, "b": 1.0, "one": 2.0}, size=9)
    inside = (2 + 8) / 4
    assert sketch.rows_within.T @ sketch.rows_within == pytest.approx(np.array([[inside]]))
    noise, noise_squared = sketch.mean_noise(np.eye(1), np.array([inside]))
    assert noise == pytest.approx([(2 / 2 + 8 / 4) / 4])
    assert noise_squared == pytest.approx([(2 / 2 + 8 / 4) / 16])


@ignore_evidence_warnings
def test_partial_fit_error_explains_how_to_add_groups():
    groups = illuminated_groups(n_groups=6, width=30)
    names = list(groups)
    focus = Focus(n_remove=1).fit_moments(SketchedMoments.of({name: groups[name] for name in names[:4]}, size=8))
    with pytest.raises(InputError, match=r"focus.moments_ \+ SketchedMoments.of\(groups, size=8\)"):
        focus.partial_fit(groups[names[4]], groups=["new"] * 40)
    more = SketchedMoments.of({name: groups[name] for name in names[4:]}, size=8)
    assert focus.fit_moments(focus.moments_ + more).moments_.n_groups == 6


@pytest.mark.parametrize("prior", ["uniform", "by_size"])
def test_sketch_of_few_rows_is_exact(prior):
    groups = {m: np.random.default_rng(m).normal(size=(5, 4)) * [1.0, 2.0, 3.0, 0.0] + m for m in range(5)}
    groups = {m: np.hstack([rows, np.full((len(rows), 1), 7.0)]) for m, rows in groups.items()}  # a constant feature
    spectrum, expected = sketched_spectrum(SketchedMoments.of(groups, prior)), Spectrum.of(Moments.of(groups, prior))
    assert spectrum.evidence == expected.evidence
    assert spectrum.n_varying == expected.n_varying == 3
    assert spectrum.ridge == pytest.approx(expected.ridge, rel=1e-12)
    for name in ("distraction", "debiased", "heterogeneity", "origin"):
        np.testing.assert_allclose(
            getattr(spectrum, name), getattr(expected, name), rtol=1e-9, atol=1e-12, err_msg=name
        )
    np.testing.assert_allclose(spectrum.filters.T @ spectrum.patterns, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(spectrum.filters[4], 0.0, atol=1e-12)  # no filter uses the constant feature
    np.testing.assert_allclose(
        spectrum.patterns @ spectrum.patterns.T, expected.patterns @ expected.patterns.T, atol=1e-9
    )
    for vectors, others in ((spectrum.patterns, expected.patterns), (spectrum.filters, expected.filters)):
        np.testing.assert_allclose(np.abs(vectors[:, :3]), np.abs(others[:, :3]), rtol=1e-8, atol=1e-10)


def test_spectrum_of_constant_rows_is_empty():
    sketch = SketchedMoments.of(np.ones((3, 4, 5)), size=2)
    spectrum = sketched_spectrum(sketch, ridge=0.5, absolute=True)
    assert (spectrum.ridge, spectrum.n_varying, spectrum.patterns.shape) == (0.5, 0, (5, 0))
    assert spectrum.evidence == Evidence.of(Moments.of(np.ones((3, 4, 5))), 0)


def test_unevenness_is_exact_in_a_sketch():
    groups = {m: (1 + m) * np.random.default_rng(m).normal(size=(5 + m, 6)) * np.arange(1.0, 7.0) for m in range(4)}
    patterns = np.random.default_rng(9).normal(size=(6, 3))
    for prior in ("uniform", "by_size"):
        expected = Moments.of(groups, prior).heterogeneity(patterns)
        assert expected.min() > 0.1
        sketch = SketchedMoments.of(groups, prior, size=2)
        np.testing.assert_allclose(sketch.heterogeneity(patterns), expected, rtol=1e-10)
        spectrum = sketched_spectrum(sketch)
        np.testing.assert_allclose(
            spectrum.heterogeneity, Moments.of(groups, prior).heterogeneity(spectrum.patterns), rtol=1e-10
        )


def dropping(dropped, dropped_between=0.0):
    """Return the attributes of a sketch that the selection of directions uses."""
    return SimpleNamespace(size=8, dropped=dropped, dropped_between=dropped_between)


def test_bounds_of_the_distraction():
    # λ .75 and .5: odds 3 and 1, with a ridge of 2. It dropped 4, half is compensated: odds ± 1.
    spectrum = spectrum_of([12, 6], [2, 4], ridge=2.0)
    low, high = distraction_bounds(dropping(4.0), spectrum)
    assert low == pytest.approx([2 / 3, 0.0])
    assert high == pytest.approx([4 / 5, 2 / 3])
    low, high = distraction_bounds(dropping(4.0, dropped_between=2.0), spectrum)  # between may be larger by one ridge
    assert low == pytest.approx([1 / 2, 0.0])
    assert high == pytest.approx([4 / 5, 2 / 3])
    # Directions outside the sketch may have as much variance as was compensated.
    narrow = spectrum_of([12, 6, 0], [2, 4, 0], ridge=2.0)
    assert distraction_bounds(dropping(8.0), narrow)[1] == pytest.approx([5 / 6, 4 / 5])
    for exact in distraction_bounds(dropping(0.0), spectrum):
        assert exact == pytest.approx([0.75, 0.5])


def test_only_certain_directions_are_removed():
    spectrum = spectrum_of([94, 90.5, 50], [5, 8.5, 49], ridge=1.0)  # λ .94, .905, .5
    assert sketched_cut(dropping(0.2), spectrum, cutoff=0.93).n_removed == 1
    assert sketched_cut(dropping(2.0), spectrum, cutoff=0.93).warnings == ()  # .905 stays below in any case
    selection = sketched_cut(dropping(2.0), spectrum, cutoff=0.9)
    assert selection.n_removed == 1
    assert selection.warnings == (
        "The sketch of size 8 is too small to decide which directions have a distraction of 0.9 or more: 1 certainly "
        "do, 2 may. 1 removed. Use a larger size or a larger ridge.",
    )
    assert sketched_cut(dropping(99.0), spectrum, cutoff=0.9).n_removed == 0


def test_gap_rule_uses_the_lower_bound():
    spectrum = spectrum_of([94, 50, 1], [5, 49, 1], ridge=1.0)
    assert select_directions(spectrum).cutoff == pytest.approx(0.94)
    # The lower bound is .936: below its own value, but enough for the gap rule.
    assert sketched_cut(dropping(2.0), spectrum).n_removed == 1
    assert sketched_cut(dropping(20.0), spectrum).n_removed == 0


def test_automatic_cutoff_without_gap():
    values = np.array([0.97, 0.93, 0.92, 0.91, 0.9001])
    spectrum = spectrum_of(100 * values, 99 - 100 * values, ridge=1.0)
    assert select_directions(spectrum).cutoff == 0.95
    decision = sketched_cut(dropping(0.2), spectrum)  # it does not matter on which side of .9 the last one is
    assert (decision.n_removed, decision.warnings) == (1, ())


def test_n_remove_is_exact():
    spectrum = spectrum_of([94, 90.5, 50], [5, 8.5, 49], ridge=1.0)
    assert sketched_cut(dropping(99.0), spectrum, n_remove=2) == select_directions(spectrum, n_remove=2)


def test_different_widths_and_single_groups_raise():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="Group 1 has 4 features"):
        SketchedMoments.of([rng.normal(size=(9, 3)), rng.normal(size=(9, 4))], size=2)
    with pytest.raises(InputError, match="1 group cannot show how groups differ"):
        sketched_spectrum(SketchedMoments.of([rng.normal(size=(9, 3))], size=2))


def test_overflow_raises_at_once_and_in_joins():
    """Regression: the sketch contained infinity without an error."""
    near, far = np.eye(3, 2), np.eye(3, 2) + np.array([1e146, 0.0])
    with pytest.raises(InputError, match="Feature 0 varies on a scale"):
        SketchedMoments.of([near, far], size=4)
    with pytest.raises(InputError, match="Feature 0 varies on a scale"):
        SketchedMoments.of({"near": near}, size=4) + SketchedMoments.of({"far": far}, size=4)


def test_sketch_of_constant_rows_retains_everything():
    assert SketchedMoments.of([np.zeros((3, 2)), np.ones((3, 2))], size=4).retained == 1.0


@pytest.mark.parametrize("unit", [1e-100, 1e-14, 1.0, 1e14, 1e100])
@pytest.mark.parametrize("size", [2, 50])
def test_units_do_not_matter(size, unit):
    """Regression: in units of 1e-14 the number of varying directions was 0, because `dropped` had no unit."""
    rng = np.random.default_rng(0)
    groups = np.hstack(
        [rng.normal(size=(9, 20, 5)).reshape(180, 5) * 0.5 ** np.arange(5), np.repeat(np.eye(9, 2), 20, 0)]
    )
    spectrum, scaled = (
        sketched_spectrum(SketchedMoments.of(list(X.reshape(9, 20, 7)), size=size)) for X in (groups, groups * unit)
    )
    assert spectrum.n_varying == scaled.n_varying == (7 if size == 2 else 5)  # `dropped` adds variance everywhere
    np.testing.assert_allclose(spectrum.distraction, scaled.distraction, atol=1e-9)


def test_single_feature_is_debiased_as_with_exact_moments():
    rng = np.random.default_rng(0)
    groups = [rng.normal(m % 3, 1.0, size=(6, 1)) for m in range(8)]
    spectrum, expected = sketched_spectrum(SketchedMoments.of(groups)), Spectrum.of(Moments.of(groups))
    assert 0.2 < expected.debiased[0] < 0.8
    np.testing.assert_allclose(spectrum.debiased, expected.debiased, rtol=1e-12)


def test_lower_bound_decides_to_the_last_digit():
    rng = np.random.default_rng(0)
    sketch = SketchedMoments.of([rng.normal(size=30) + 3 * rng.normal(size=(40, 30)) for _ in range(60)], size=10)
    spectrum = sketched_spectrum(sketch)
    low, high = distraction_bounds(sketch, spectrum)
    assert low[0] < 0.98 * high[0]
    assert sketched_cut(sketch, spectrum, cutoff=low[0] * (1 - 1e-9)).n_removed >= 1
    assert sketched_cut(sketch, spectrum, cutoff=low[0] * (1 + 1e-9)).n_removed == 0
