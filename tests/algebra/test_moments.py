"""Moments of a few rows, by hand; that every road leads to them is a law (tests/laws/test_moments_laws.py)."""

import numpy as np
import pytest

from undistract import InputError, Moments, SetMoments
from undistract.algebra import store
from undistract.algebra.moments import _heavy
from undistract.algebra.prior import Prior

SETS = {"a": [[0.0, 1.0], [2.0, 1.0]], "b": [[6.0, 1.0]], "c": [[8.0, 1.0], [9.0, 4.0], [10.0, 1.0]]}


@pytest.fixture(params=["kept", "folded"])
def memory(request, monkeypatch):
    """Whether rows are kept while they are few, or folded into matrices at once."""
    if request.param == "folded":
        monkeypatch.setattr(store, "KEPT_VALUES", 0)
    assert isinstance(Moments.of(SETS).store, store.KeptRows if request.param == "kept" else store.Folded)
    return request.param


def test_sums_of_three_small_sets(memory):
    moments = Moments.of(SETS)
    assert moments.counts.tolist() == [2, 1, 3]
    assert moments.mean.tolist() == pytest.approx([16 / 3, 4 / 3])  # of the means (1, 1), (6, 1), (9, 2)
    # Inside a: 1 in the first feature; inside c: 2/3 and 2 (three rows 1, 4, 1), and nothing together.
    assert moments.within == pytest.approx(np.diag([(1 + 2 / 3) / 3, 2 / 3]))
    assert moments.between[0, 0] == pytest.approx(((1 - 16 / 3) ** 2 + (6 - 16 / 3) ** 2 + (9 - 16 / 3) ** 2) / 3)
    assert moments.between[1, 1] == pytest.approx(2 / 9)
    np.testing.assert_allclose(moments.total, moments.within + moments.between)


@pytest.mark.parametrize(
    ("prior", "weights"), [("by_size", [2, 1, 3]), ({"c": 1, "a": 4, "b": 2}, [4, 2, 1]), ([5, 1, 1], [5, 1, 1])]
)
def test_sets_weigh_as_the_prior_says(memory, prior, weights):
    moments = Moments.of(SETS, prior)
    shares = np.array(weights) / sum(weights)
    assert moments.shares == pytest.approx(shares)
    assert moments.mean == pytest.approx(shares @ np.array([[1, 1], [6, 1], [9, 2]]))
    assert moments.within == pytest.approx(np.diag([shares[0] + shares[2] * 2 / 3, shares[2] * 2]))


def test_weights_in_order_find_their_sets_when_these_come_one_by_one():
    pieces = {name: SetMoments.of(rows) for name, rows in SETS.items()}
    assert Moments.of(pieces, [5.0, 1.0, 2.0]).weights.tolist() == [5.0, 1.0, 2.0]
    mixed = {"a": SETS["a"], "b": pieces["b"], "c": SETS["c"], "d": pieces["c"]}
    assert Moments.of(mixed, [5.0, 1.0, 2.0, 3.0]).weights.tolist() == [5.0, 1.0, 2.0, 3.0]


def test_pieces_of_one_set_by_hand():
    whole = SetMoments.of([[0.0, 1.0], [2.0, 1.0]]) + SetMoments.of([[7.0, 4.0]])
    assert (whole.count, whole.mean.tolist()) == (3, [3.0, 2.0])
    assert whole.scatter == pytest.approx(np.array([[26.0, 12.0], [12.0, 6.0]]))
    wide = SetMoments.of(np.eye(2, 8)) + SetMoments.of(np.zeros((1, 8)))  # so few that they are kept
    assert wide.deviations.shape == (3, 8)
    assert wide.scatter[:2, :2] == pytest.approx(np.array([[2 / 3, -1 / 3], [-1 / 3, 2 / 3]]))
    for wrong in (3, None, "b"):
        with pytest.raises(TypeError):
            whole + wrong
    with pytest.raises(InputError, match="The other piece has 1 features, the others have 2"):
        whole + SetMoments.of([[1.0]])


@pytest.mark.parametrize("prior", [[1.0, 1.0], [1.0] * 4, {"a": 1.0, "b": 1.0}])
def test_a_prior_for_other_sets_is_refused(prior):
    with pytest.raises(InputError, match="weight"):
        Moments.of(SETS, prior)
    rows, labels = np.concatenate(list(SETS.values())), list("aabccc")
    with pytest.raises(InputError, match="weight"):
        Moments.of_labelled(rows, labels, prior)


@pytest.mark.parametrize("prior", ["even", {1.0, 2.0}, 3.0, [[1.0]], ["x"], [0.0], [1e-101], [1e101], [float("nan")]])
def test_what_is_no_prior_is_refused(prior):
    with pytest.raises(InputError, match="prior"):
        Prior.of(prior)


def test_a_prior_may_be_anything_that_has_names_or_an_order():
    pandas = pytest.importorskip("pandas", reason='needs pandas: pip install "undistract[tables]"')
    counts = np.array([3, 4])
    for prior in (pandas.Series({"x": 2.0, "y": 5.0}), {"y": 5.0, "x": 2.0}, (2.0, 5.0), iter([2.0, 5.0])):
        assert Prior.of(prior).weights(("x", "y"), counts).tolist() == [2.0, 5.0]
    assert Prior.of([1e-100, 1e100]).weights(("x", "y"), counts).tolist() == [1e-100, 1e100]
    assert Prior.of([1.0, 2.0, 3.0]).weights(("y", "z"), counts, place=1).tolist() == [2.0, 3.0]
    with pytest.raises(InputError, match="has 3 weights, but there are more sets"):
        Prior.of([1.0, 2.0, 3.0]).weights(("y", "z"), counts, place=2)


def uneven_sets():
    """Sets of ± s: their variance is s² to the bit."""
    return {
        "calm": np.array([[1.0, 2.0], [-1.0, -2.0]]),
        "wild": 9.0 * np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]) + [50.0, 7.0],
        "one": np.array([[3.0, 3.0]]),
    }


def test_unevenness_by_hand(memory):
    moments = Moments.of(uneven_sets(), {"calm": 3.0, "wild": 1.0, "one": 9.0})
    # Feature 0: variances 1, 81 and deviations 1, 9; feature 1: 4, 0 and 2, 0; weights 3/4 and 1/4, "one" shows none.
    low = (3 / 1 + 1 / 3) / 4 / 4  # the spread of n rows reads low by 1/4(n-1)
    variances = np.array([(3 * 1 + 81) / 4, 3 * 4 / 4])
    typical = np.array([(3 * 1 + 9) / 4, 3 * 2 / 4]) * (1 + low)
    expected = variances / typical**2 - 1
    assert expected.min() < 0 < expected.max()
    assert moments.unevenness(np.eye(2)) == pytest.approx(np.maximum(expected, 0.0), rel=1e-12)
    shares = np.array([0.36, 0.64])  # of a pattern along (3, 4), of any length
    mixed = (shares @ variances) / (shares @ typical**2) - 1
    assert mixed > 0.1
    assert moments.unevenness(np.array([[3e-9], [4e-9]])) == pytest.approx([mixed], rel=1e-12)


def test_a_set_taken_out_again_was_never_there(memory):
    sets = uneven_sets() | {"gone": np.array([[5.0, 1.0], [7.0, 1.0], [9.0, 4.0]])}
    prior = {name: 1.0 + place for place, name in enumerate(sets)}
    left = Moments.of(sets, prior).without("gone", SetMoments.of(sets.pop("gone")))
    fresh = Moments.of(sets, prior)
    assert left.names == fresh.names
    for name in ("mean", "within", "between", "counts", "weights"):
        np.testing.assert_allclose(getattr(left, name), getattr(fresh, name), rtol=1e-9, atol=1e-9, err_msg=name)
    patterns = np.array([[1.0, 3.0], [0.0, 4.0]])
    np.testing.assert_allclose(left.unevenness(patterns), fresh.unevenness(patterns), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(left.wander(np.eye(2)), fresh.wander(np.eye(2)), rtol=1e-9, atol=1e-12)


def test_sums_alone_say_the_same_and_hold_no_row(memory):
    moments = Moments.of(uneven_sets(), {"calm": 3.0, "wild": 1.0, "one": 2.0})
    sums = moments.without_rows()
    assert (sums.names, sums.prior) == (moments.names, moments.prior)
    for name in ("mean", "within", "between", "total", "counts", "weights"):
        np.testing.assert_allclose(getattr(sums, name), getattr(moments, name), rtol=1e-12, atol=1e-12, err_msg=name)
    patterns = np.array([[1.0, 3.0], [0.0, 4.0]])
    np.testing.assert_allclose(sums.unevenness(patterns), moments.unevenness(patterns), rtol=1e-12)
    np.testing.assert_allclose(sums.wander(np.eye(2)), moments.wander(np.eye(2)), rtol=1e-12)
    assert sums.origin.tolist() == sums.mean.tolist()


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_set_means_wander_by_what_rows_vary_over_how_many_they_are(memory, n_rows):
    X = np.random.default_rng(0).normal(size=(4, n_rows, 2))
    moments, filters = Moments.of(X), np.array([[1.0, 2.0], [0.0, 1.0]])
    inside = np.diag(filters.T @ moments.within @ filters)
    for found in (moments.wander(filters), moments.wander(filters, inside)):  # of one size and weight it is a multiple
        np.testing.assert_allclose(found, [inside / (n_rows - 1), inside / (n_rows - 1) / 4], rtol=1e-12)


def test_set_means_wander_by_the_weights_of_the_sets(memory):
    """Sets of 2 and 4 rows with scatters 2 and 4 · 81 in the first feature, of 1/4 and 1/2; one row shows none."""
    moments = Moments.of(uneven_sets(), {"calm": 1.0, "wild": 2.0, "one": 1.0})
    noise, noise_squared = moments.wander(np.array([[1.0], [0.0]]))
    assert noise == pytest.approx([1 / 4 * 2 / 2 + 1 / 2 * 324 / 12])
    assert noise_squared == pytest.approx([1 / 16 * 2 / 2 + 1 / 4 * 324 / 12])


def test_a_set_can_be_had_back_while_its_rows_are_kept():
    moments = Moments.of(SETS)
    for name, rows in SETS.items():
        piece, expected = moments.piece(name), SetMoments.of(rows)
        assert piece.count == expected.count
        np.testing.assert_allclose(piece.mean, expected.mean)
        np.testing.assert_allclose(piece.scatter, expected.scatter, atol=1e-12)
        assert (piece.deviations is None) == (expected.deviations is None) == (len(rows) > 1)  # of two features
    with pytest.raises(InputError, match="no set 'd' in these moments; there are 'a', 'b', 'c'"):
        moments.piece("d")


def test_a_single_folded_set_can_be_had_back_and_one_of_several_cannot(monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    rows = np.array(SETS["c"])
    alone = Moments.of({"c": rows}, {"c": 5.0})
    np.testing.assert_allclose(alone.piece("c").scatter, SetMoments.of(rows).scatter, atol=1e-12)
    np.testing.assert_allclose(alone.piece("c").mean, rows.mean(axis=0))
    with pytest.raises(InputError, match=r"'a' was folded into matrices together with 2 others \(6 rows\)"):
        Moments.of(SETS).piece("a")


def test_moments_that_do_not_fit_together_are_refused():
    one, other = Moments.of({"a": SETS["a"]}), Moments.of({"b": SETS["c"]})
    with pytest.raises(InputError, match="Set 'a' is already in these moments"):
        one + Moments.of({"a": SETS["c"]})
    with pytest.raises(InputError, match="prior 'uniform', the other with 'by_size'"):
        one + Moments.of({"b": SETS["c"]}, "by_size")
    with pytest.raises(InputError, match="3 features, the others have 2"):
        one + Moments.of({"b": [[1.0, 2.0, 3.0]]})
    with pytest.raises(InputError, match="'a' is the only one"):
        one.without("a")
    with pytest.raises(InputError, match="no set 'z' in these moments; there are 'a', 'b'"):
        (one + other).without("z")
    with pytest.raises(TypeError):
        one + 3
    with pytest.raises(TypeError):
        3 + one


def test_sets_too_far_apart_to_be_squared_are_refused_when_they_join(memory):
    near, far = Moments.of({"a": [[0.0], [1.0]]}), Moments.of({"b": [[1e150], [1e150]]})
    with pytest.raises(InputError, match="leave the range of numbers"):
        near + far
    assert (near + Moments.of({"b": [[1e140], [1e140]]})).between[0, 0] == pytest.approx(0.25e280)


def test_taking_out_of_folded_sums_needs_the_set_itself(monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    moments = Moments.of(SETS)
    with pytest.raises(InputError, match=r"'a' was folded into matrices together with 2 others \(6 rows\)"):
        moments.without("a")
    with pytest.raises(InputError, match="'a' has 2 rows here, the piece given has 3"):
        moments.without("a", SetMoments.of(SETS["c"]))


@pytest.mark.parametrize(("loud", "told"), [(3e7, True), (0.8e7, False)])
def test_what_a_loud_set_leaves_is_refused_where_it_would_be_rounding(monkeypatch, loud, told):
    """Of sixteen digits, seven may go: two calm sets stay beside one that varies twenty million times as much."""
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    rows = np.array([[-2.0], [2.0], [-1.0], [1.0], [0.0]]) / np.sqrt(2)  # variance 1
    sets = {"a": rows, "b": rows, "loud": rows * np.sqrt(loud)}
    moments = Moments.of(sets)
    if told:
        with pytest.raises(InputError, match="'loud' holds nearly all variation of feature 0"):
            moments.without("loud", SetMoments.of(sets["loud"]))
    else:
        left = moments.without("loud", SetMoments.of(sets["loud"]))
        assert left.within[0, 0] == pytest.approx(1.0, rel=1e-6)


def test_no_sets_at_all_are_told():
    with pytest.raises(InputError, match="There are no sets"):
        Moments.of([])


@pytest.mark.parametrize("prior", ["uniform", "by_size"])
@pytest.mark.parametrize("scale", [2e144, 2e-145])
def test_what_can_just_be_squared_is_summed_up_whatever_the_sets_weigh(memory, scale, prior):
    rows = np.random.default_rng(0).choice([-1.0, 1.0], size=(40, 3)) * [1.0, scale, 1.0]
    moments = Moments.of({"a": rows[:10], "b": rows[10:]}, prior)
    assert moments.total[1, 1] == pytest.approx(scale**2, rel=0.2)
    beyond = rows * [1.0, 1e3 if scale > 1 else 1e-3, 1.0]
    with pytest.raises(InputError, match="Feature 1 varies on a scale"):
        Moments.of({"a": beyond[:10], "b": beyond[10:]}, prior)


@pytest.mark.parametrize("feature", [0, 1, 2])
@pytest.mark.parametrize(("inside", "apart"), [(1e-150, 0.0), (0.0, 1e-150)])
def test_what_varies_too_little_to_be_squared_is_refused_inside_sets_or_between_them(memory, inside, apart, feature):
    sets = np.zeros((2, 2, 3))
    sets[:, :, (feature + 1) % 3] = [-1.0, 1.0]
    sets[:, :, feature] = [[-inside, inside], [apart - inside, apart + inside]]
    with pytest.raises(InputError, match=f"Feature {feature} varies on a scale"):
        Moments.of(sets)
    still = [[[0.0, 7e150, 1.0], [0.0, 7e150, 2.0]]] * 2  # a constant may be as large as it likes
    assert np.diag(Moments.of(still).total).tolist() == pytest.approx([0.0, 0.0, 0.25])


@pytest.mark.parametrize(("kept_values", "is_heavy"), [(4 * 2 * 9, False), (4 * 2 * 9 - 1, True)])
def test_matrices_wait_while_they_take_no_more_than_rows_that_are_kept(kept_values, is_heavy, monkeypatch):
    parts = [Moments.of(np.random.default_rng(number).normal(size=(2, 5, 3))) for number in range(3)]
    monkeypatch.setattr("undistract.algebra.moments.KEPT_VALUES", kept_values)
    assert _heavy([parts[0].without_rows(), parts[1], parts[2].without_rows()]) == is_heavy  # two of three are folded
