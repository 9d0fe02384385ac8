"""What people teach, for spectra known by hand; the laws are in tests/laws/test_taught_laws.py."""

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import InputError, Moments, Spectrum
from undistract.algebra import Projection, Taught
from undistract.algebra.taught import ODDS, PATIENCE, _widened, protect, teach

# λ: .98 for feature 2, .5 for feature 0, .25 for feature 1; Σλ = 1.73. Variances 2, 4 and 100.
SPECTRUM = spectrum_of([1, 1, 98], [1, 3, 2], unevenness=np.array([0.1, 0.2, 0.4]))
TYPICAL = 0.98 + 0.5 + 0.25


def squared_reading(size, variance, strength=1.0):
    """y² of a deviation along one feature: in units of its variance, times odds over patience typical deviations."""
    return strength * size**2 / variance * ODDS / (PATIENCE * TYPICAL)


def test_the_odds_of_the_automatic_cutoff_are_nineteen():
    assert pytest.approx(19) == ODDS


@pytest.mark.parametrize("strength", [1.0, 2.5])
def test_a_familiar_deviation_along_a_kept_feature(strength):
    better, n_removed = teach(SPECTRUM, 1, Taught([[4.0, 0.0, 0.0]], [strength]))
    y = squared_reading(4.0, 2.0, strength)
    value = 1 - 0.5 / (1 + y)
    share = y / (1 + y) / value  # of its variation inside sets, so much is said by people
    assert n_removed == 2
    assert better.distraction == pytest.approx([value, 0.98, 0.25], rel=1e-12)  # told, shown, and the rest
    assert better.taught == pytest.approx([share, 0.0, 0.0], abs=1e-12)
    assert better.debiased == pytest.approx([(1 - share) * 0.5 + share, 0.98, 0.25], rel=1e-12)
    assert better.unevenness == pytest.approx([(1 - share) * 0.2, 0.1, 0.4], rel=1e-9)
    assert np.abs(better.patterns) == pytest.approx(
        np.array([[np.sqrt(2 * (1 + y)), 0, 0], [0, 0, 2], [0, 10, 0]]), abs=1e-12
    )
    assert np.abs(better.filters) == pytest.approx(
        np.array([[1 / np.sqrt(2 * (1 + y)), 0, 0], [0, 0, 0.5], [0, 0.1, 0]]), abs=1e-12
    )
    assert better.variances is None


@pytest.mark.parametrize("size", [1e4, 1e7, 1e9, 1e100])
def test_what_lies_far_out_goes_and_leaves_what_it_does_not_read(size):
    """A sensor that overflowed was called familiar: beside it I was lost in I + YᵀY, or its factor could not be had."""
    better, n_removed = teach(SPECTRUM, 1, Taught([[size, size, 0.0]]))
    # Its readings are as 1/√2 to 1/2. What is left reads 1/2 and -1/√2: 1 - λ is .5 and .75 there, by 1/3 and 2/3.
    assert n_removed == 2
    assert better.distraction == pytest.approx([1.0, 0.98, 1 / 3], rel=1e-5)
    metric = np.diag([2.0, 4.0, 100.0])
    assert better.filters[:, 1:].T @ metric @ better.filters[:, 1:] == pytest.approx(np.eye(2), abs=1e-5)
    assert abs(better.filters[:, 2] @ [1.0, 1.0, 0.0]) < 1e-7  # it does not read what was told


def test_a_modest_deviation_is_remembered_but_does_not_go():
    better, n_removed = teach(SPECTRUM, 1, Taught([[1.0, 0.0, 0.0]]))
    y = squared_reading(1.0, 2.0)
    assert 1 - 0.5 / (1 + y) < 0.95
    assert n_removed == 1
    assert better.distraction == pytest.approx([0.98, 1 - 0.5 / (1 + y), 0.25], rel=1e-12)


def test_what_is_gone_already_needs_no_teaching():
    better, n_removed = teach(SPECTRUM, 1, Taught([[0.0, 0.0, 50.0]]))
    assert n_removed == 1
    assert better.distraction == pytest.approx(SPECTRUM.distraction, rel=1e-12)


def test_people_may_see_something_move_where_the_sets_never_did():
    narrow = spectrum_of([1, 1, 0], [1, 3, 0], cushion=0.5)
    assert narrow.patterns.shape == (3, 2)
    better, n_removed = teach(narrow, 0, Taught([[0.0, 0.0, 3.0]]))
    y = 9.0 / 0.5 * ODDS / (PATIENCE * float(narrow.distraction.sum()))  # the metric there is the cushion
    assert n_removed == 1
    assert better.distraction[0] == pytest.approx(y / (1 + y), rel=1e-12)
    assert better.n_moving == 3
    assert np.abs(better.patterns[:, 0]) == pytest.approx([0, 0, np.sqrt(0.5 * (1 + y))], abs=1e-12)
    same, n_removed = teach(narrow, 0, Taught([[0.0, 1e-3, 0.0]]))
    assert (same.n_moving, same.patterns.shape, n_removed) == (2, (3, 2), 0)  # nothing new was seen


def test_the_cushion_is_told_in_variances_of_the_sets_whatever_people_say():
    """One verdict far out made `describe` tell a cushion of 0.01 where 0.1 was asked for."""
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10))
    spectrum = Spectrum.of(moments, cushion=0.1)
    better, _ = teach(spectrum, 1, Taught([[0.0, 70.0, 0.0, 0.0]]))
    assert better.relative_cushion == pytest.approx(0.1)
    assert better.variances.total > 2 * spectrum.variances.total
    assert better.variation.sum() == pytest.approx(1.0)
    assert better.variation_inside.sum() == pytest.approx(1.0)
    assert better.is_whole


@pytest.mark.parametrize("cushion", [0.0, 0.5])
def test_people_may_see_something_move_where_the_sets_rest_inside(cushion):
    """It was still counted as constant, and where all else went it could not be removed."""
    spectrum = spectrum_of([98, 98, 0, 0], [1, 1, 4, 4], cushion=cushion)
    better, n_removed = teach(spectrum, 2, Taught([[0.0, 0.0, 50.0, 0.0]]))
    assert (better.n_moving, n_removed) == (3, 3)
    assert better.kinds(n_removed).tolist() == ["distracting"] * 3 + ["constant"]
    assert better.distraction[3] == 0.0
    assert Projection.of(better, n_removed).n_out == 1
    better, n_removed = teach(spectrum, 0, Taught([[0.0, 0.0, 50.0, 50.0], [0.0, 0.0, 50.0, 49.0]]))
    assert (better.n_moving, n_removed) == (4, 1)


def test_what_people_say_of_one_feature_leaves_the_others_constant():
    """Few rows: one lesson beyond them made every direction move."""
    sets = [np.eye(5, 40)[2:3] * m + np.eye(5, 40)[:2].repeat(2, axis=0) * [[1], [-1], [3], [-3]] for m in range(4)]
    spectrum = Spectrum.of(Moments.of(sets))
    assert (spectrum.n_moving, len(spectrum.distraction)) == (2, 3)
    better, n_removed = teach(spectrum, 0, Taught([np.eye(40)[30] * 50]))
    assert (better.n_moving, len(better.distraction), n_removed) == (3, 4, 1)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_rounding_is_no_direction_that_people_saw(size):
    rng = np.random.default_rng(0)
    spectrum = Spectrum.of(Moments.of(rng.normal(size=(4, 2, 20)) + rng.normal(size=(4, 1, 20))))
    known = spectrum.patterns.shape[1]
    assert known == 7  # eight rows show no more
    inside, outside = spectrum.patterns @ rng.normal(size=7), np.linalg.svd(spectrum.patterns)[0][:, -1]
    for beyond, found in ((0.0, known), (1e-3, known + 1)):
        better, _ = teach(spectrum, 0, Taught([size * (inside + beyond * outside)]))
        assert better.patterns.shape[1] == found


def test_where_nothing_varies_nothing_is_learned():
    resting = spectrum_of([0, 0], [1, 3])
    better, n_removed = teach(resting, 0, Taught([[9.0, 0.0]]))
    assert (better.distraction.tolist(), n_removed) == ([0.0, 0.0], 0)


def test_everything_cannot_go():
    with pytest.raises(InputError, match="all 3 directions would be ignored"):
        teach(SPECTRUM, 1, Taught([[99.0, 0.0, 0.0], [0.0, 99.0, 0.0]]))


@pytest.mark.parametrize(
    ("deviation", "n_left"),
    [
        ([0.0, 0.0, 5.0], 1),  # what the sets took is not given back
        ([50.0, 0.0, 0.0], 1),  # hidden by what people told: given back
        ([1.0, 50.0, 0.0], 2),  # more than half of it is seen
        ([0.0, 0.0, 0.0], 2),
    ],
)
def test_what_people_told_makes_room_for_a_confirmed_anomaly(deviation, n_left):
    told = Taught([[30.0, 0.0, 0.0]])
    assert teach(SPECTRUM, 1, told)[1] == 2
    _, n_removed = teach(SPECTRUM, 1, told + Taught([], protected=[deviation]))
    assert n_removed == (2 if deviation == [0.0, 0.0, 5.0] else n_left)


def test_an_anomaly_is_hidden_by_less_than_half_of_itself_or_of_a_normal_row():
    # Features 2 and 0 go. Of a normal row feature 1 is left: λ · variance = 1.
    def left(deviation):
        return protect(SPECTRUM, 2, np.array([deviation]))[1]

    # Of a short one half of its own square counts, of a long one half of what a normal row has left.
    assert left([0.0, 0.71, 0.70]) == 2
    assert left([0.0, 0.70, 0.71]) == 1
    assert left([0.0, 0.71, 30.0]) == 2
    assert left([0.0, 0.70, 30.0]) == 1
    assert left([1e-9, 0.0, 1e-9]) == 1
    assert left([0.0, 0.0, 0.0]) == 2


@pytest.mark.parametrize(("deviation", "n_removed"), [([0.71, 0.0, 0.70], 1), ([0.70, 0.0, 0.705], 0)])
def test_an_anomaly_is_looked_at_whole_where_the_sets_removed_nothing(deviation, n_removed):
    told = Taught([[0.0, 0.0, 300.0]])
    assert teach(SPECTRUM, 0, told)[1] == 1
    assert teach(SPECTRUM, 0, told + Taught([], protected=[deviation]))[1] == n_removed


def test_only_what_moves_along_the_anomaly_is_given_back():
    turned, n_removed = protect(SPECTRUM, 2, np.array([[0.0, 0.0, 7.0]]))
    assert n_removed == 1
    assert turned.distraction == pytest.approx([0.5, 0.98, 0.25])  # what goes, what was given back, the rest
    assert turned.debiased == pytest.approx([0.5, 0.98, 0.25])
    assert turned.unevenness == pytest.approx([0.2, 0.1, 0.4])
    assert np.abs(turned.patterns) == pytest.approx(np.array([[np.sqrt(2), 0, 0], [0, 0, 2], [0, 10, 0]]), abs=1e-12)
    assert protect(SPECTRUM, 2, np.array([[0.0, 0.0, 7.0], [0.0, 0.0, -9.0]]))[1] == 1  # twice the same
    both, n_removed = protect(SPECTRUM, 2, np.array([[0.0, 0.0, 7.0], [3.0, 0.0, 0.0], [0.0, 0.0, -9.0]]))
    assert n_removed == 0
    assert both.distraction == pytest.approx([0.98, 0.5, 0.25])  # the most distracting first again


def test_nothing_to_protect_leaves_all_as_it_is():
    for n_removed, protected in ((0, np.ones((1, 3))), (2, np.zeros((0, 3))), (2, np.array([[0.0, 3.0, 0.0]]))):
        found, left = protect(SPECTRUM, n_removed, protected)
        assert found is SPECTRUM
        assert left == n_removed


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"familiar": []}, "Nothing was taught"),
        ({"familiar": [], "protected": []}, "Nothing was taught"),
        ({"familiar": [1.0, 2.0]}, "The deviations has shape"),
        ({"familiar": [[1.0, 2.0]], "protected": [[1.0]]}, "1 features, the others have 2"),
        ({"familiar": [[1.0]], "strengths": [1.0, 1.0]}, r"1 familiar deviations and strengths \[1.0, 1.0\]"),
        ({"familiar": [[1.0]], "strengths": [0.0]}, "one number above 0 for each"),
        ({"familiar": [[1.0]], "strengths": [float("inf")]}, "one number above 0 for each"),
        ({"familiar": [[float("nan")]]}, "holds nan"),
        ({"familiar": [[1e150]]}, "leave the range of numbers"),
        ({"familiar": [], "protected": [[1e150]]}, "leave the range of numbers"),
    ],
)
def test_what_cannot_be_taught_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        Taught(**given)


def test_lessons_about_other_features_do_not_join():
    with pytest.raises(InputError, match="What was taught besides has 3 features, the others have 2"):
        Taught([[1.0, 2.0]]) + Taught([[1.0, 2.0, 3.0]])


def test_what_was_taught_is_a_copy():
    """Strengths of the caller's own array changed when that did."""
    familiar, strengths = np.ones((1, 2)), np.ones(1)
    taught = Taught(familiar, strengths, familiar)
    familiar[:], strengths[:] = 9.0, 9.0
    assert (taught.familiar == taught.protected).all()
    assert (taught.familiar.max(), taught.strengths[0]) == (1.0, 1.0)


def test_lessons_of_two_people_join_in_order():
    both = Taught([[1, 2]], [3.0]) + Taught([], protected=[[5, 6]]) + Taught([[7, 8]])
    assert both.familiar.tolist() == [[1.0, 2.0], [7.0, 8.0]]
    assert both.strengths.tolist() == [3.0, 1.0]
    assert both.protected.tolist() == [[5.0, 6.0]]
    assert both.familiar.dtype == both.protected.dtype == np.float64
    assert both.n_features == 2
    with pytest.raises(TypeError):
        both + 1
    with pytest.raises(InputError, match="What people taught has 2 features, the others have 3"):
        teach(SPECTRUM, 1, both)


def test_a_feature_that_nobody_saw_move_changes_nothing():
    wide, narrow = (
        spectrum_of([1, 1, 98, 0], [1, 3, 2, 0], cushion=0.5),
        spectrum_of([1, 1, 98], [1, 3, 2], cushion=0.5),
    )
    lesson = np.array([[4.0, 3.0, 0.0, 0.0]])
    one, other = teach(wide, 1, Taught(lesson)), teach(narrow, 1, Taught(lesson[:, :3]))
    assert one[1] == other[1]
    np.testing.assert_allclose(one[0].distraction, other[0].distraction, rtol=1e-12)
    np.testing.assert_allclose(one[0].debiased, other[0].debiased, rtol=1e-12)
    np.testing.assert_allclose(np.abs(one[0].patterns[:3]), np.abs(other[0].patterns), rtol=1e-9)
    assert not one[0].patterns[3].any()


def test_without_a_cushion_a_new_direction_is_granted_next_to_nothing():
    """A metric of zero could not be whitened: 1e-12 of the mean variance of all features stands in its place."""
    widened = _widened(spectrum_of([1, 1, 0], [1, 3, 0]), np.array([[0.0, 0.0, 3.0]]))
    assert widened.patterns[2, 2] ** 2 == pytest.approx(1e-12 * (2 + 4) / 3, rel=1e-9)
    assert widened.filters[2, 2] * widened.patterns[2, 2] == pytest.approx(1.0)
    rounded = _widened(spectrum_of([1, 1, 0], [1, 3, 0], cushion=0.5), np.array([[0.0, 0.0, 3.0]]))
    assert rounded.patterns[2, 2] ** 2 == pytest.approx(0.5, rel=1e-9)


def test_what_still_goes_is_turned_to_its_most_distracting_first():
    """Of three that go, one combination is given back; the other two are the axes of λ in what is left."""
    values = np.array([0.99, 0.98, 0.96])
    spectrum = spectrum_of([*(100 * values), 1], [*(100 * (1 - values)), 99])
    turned, n_removed = protect(spectrum, 3, np.array([[3.0, 2.0, 1.0, 0.0]]))
    assert n_removed == 2
    away = np.array([[3.0, 2.0, 1.0]]) / np.sqrt(14)
    left = np.linalg.svd(away)[2][1:]  # orthonormal, and orthogonal to the anomaly
    expected = np.linalg.eigvalsh(left @ np.diag(values) @ left.T)[::-1]
    np.testing.assert_allclose(turned.distraction[:2], expected, rtol=1e-12)
    np.testing.assert_allclose(turned.distraction[2], away[0] ** 2 @ values, rtol=1e-12)
    cross = turned.patterns[:3, :2].T / 10 @ np.diag(values) @ turned.patterns[:3, :2] / 10
    np.testing.assert_allclose(cross, np.diag(expected), atol=1e-12)
