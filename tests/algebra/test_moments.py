"""Moments of a few rows with known results; laws for all code paths are in tests/laws/test_moments_laws.py."""

import numpy as np
import pytest

from undistract import GroupMoments, InputError, Moments
from undistract.algebra import moments as store
from undistract.algebra.moments import Prior, _heavy

SETS = {"a": [[0.0, 1.0], [2.0, 1.0]], "b": [[6.0, 1.0]], "c": [[8.0, 1.0], [9.0, 4.0], [10.0, 1.0]]}


@pytest.fixture(params=["kept", "folded"])
def memory(request, monkeypatch):
    """Store rows one by one, or fold them into matrices at once."""
    if request.param == "folded":
        monkeypatch.setattr(store, "KEPT_VALUES", 0)
    assert isinstance(Moments.of(SETS).store, store.RowStore if request.param == "kept" else store.MatrixStore)
    return request.param


def test_moments_of_three_small_groups(memory):
    moments = Moments.of(SETS)
    assert moments.counts.tolist() == [2, 1, 3]
    assert moments.mean.tolist() == pytest.approx([16 / 3, 4 / 3])  # of the means (1, 1), (6, 1), (9, 2)
    # Within a: 1 in the first feature; within c: 2/3 and 2 (three rows 1, 4, 1), uncorrelated.
    assert moments.within == pytest.approx(np.diag([(1 + 2 / 3) / 3, 2 / 3]))
    assert moments.between[0, 0] == pytest.approx(((1 - 16 / 3) ** 2 + (6 - 16 / 3) ** 2 + (9 - 16 / 3) ** 2) / 3)
    assert moments.between[1, 1] == pytest.approx(2 / 9)
    np.testing.assert_allclose(moments.total, moments.within + moments.between)


@pytest.mark.parametrize(
    ("prior", "weights"), [("by_size", [2, 1, 3]), ({"c": 1, "a": 4, "b": 2}, [4, 2, 1]), ([5, 1, 1], [5, 1, 1])]
)
def test_prior_groups_the_weights(memory, prior, weights):
    moments = Moments.of(SETS, prior)
    shares = np.array(weights) / sum(weights)
    assert moments.shares == pytest.approx(shares)
    assert moments.mean == pytest.approx(shares @ np.array([[1, 1], [6, 1], [9, 2]]))
    assert moments.within == pytest.approx(np.diag([shares[0] + shares[2] * 2 / 3, shares[2] * 2]))


def test_weights_in_order_match_groups_of_any_type():
    pieces = {name: GroupMoments.of(rows) for name, rows in SETS.items()}
    assert Moments.of(pieces, [5.0, 1.0, 2.0]).weights.tolist() == [5.0, 1.0, 2.0]
    mixed = {"a": SETS["a"], "b": pieces["b"], "c": SETS["c"], "d": pieces["c"]}
    assert Moments.of(mixed, [5.0, 1.0, 2.0, 3.0]).weights.tolist() == [5.0, 1.0, 2.0, 3.0]


def test_parts_of_one_group_join():
    moments = GroupMoments.of([[0.0, 1.0], [2.0, 1.0]]) + GroupMoments.of([[7.0, 4.0]])
    assert (moments.count, moments.mean.tolist()) == (3, [3.0, 2.0])
    assert moments.scatter == pytest.approx(np.array([[26.0, 12.0], [12.0, 6.0]]))
    wide = GroupMoments.of(np.eye(2, 8)) + GroupMoments.of(np.zeros((1, 8)))  # few rows are stored one by one
    assert wide.deviations.shape == (3, 8)
    assert wide.scatter[:2, :2] == pytest.approx(np.array([[2 / 3, -1 / 3], [-1 / 3, 2 / 3]]))
    for wrong in (3, None, "b"):
        with pytest.raises(TypeError):
            moments + wrong
    with pytest.raises(InputError, match="The other part has 1 features, the others have 2"):
        moments + GroupMoments.of([[1.0]])


@pytest.mark.parametrize("prior", [[1.0, 1.0], [1.0] * 4, {"a": 1.0, "b": 1.0}])
def test_prior_must_match_the_groups(prior):
    with pytest.raises(InputError, match="weight"):
        Moments.of(SETS, prior)
    rows, labels = np.concatenate(list(SETS.values())), list("aabccc")
    with pytest.raises(InputError, match="weight"):
        Moments.from_labels(rows, labels, prior)


@pytest.mark.parametrize("prior", ["even", {1.0, 2.0}, 3.0, [[1.0]], ["x"], [0.0], [1e-101], [1e101], [float("nan")]])
def test_invalid_prior_raises(prior):
    with pytest.raises(InputError, match="prior"):
        Prior.of(prior)


def test_prior_may_be_any_mapping_or_sequence():
    pandas = pytest.importorskip("pandas", reason='needs pandas: pip install "undistract[tables]"')
    counts = np.array([3, 4])
    for prior in (pandas.Series({"x": 2.0, "y": 5.0}), {"y": 5.0, "x": 2.0}, (2.0, 5.0), iter([2.0, 5.0])):
        assert Prior.of(prior).weights(("x", "y"), counts).tolist() == [2.0, 5.0]
    assert Prior.of([1e-100, 1e100]).weights(("x", "y"), counts).tolist() == [1e-100, 1e100]
    assert Prior.of([1.0, 2.0, 3.0]).weights(("y", "z"), counts, start=1).tolist() == [2.0, 3.0]
    with pytest.raises(InputError, match="has 3 weights, but there are more groups"):
        Prior.of([1.0, 2.0, 3.0]).weights(("y", "z"), counts, start=2)


def uneven_groups():
    """Return groups of values ± s: their variance is exactly s²."""
    return {
        "calm": np.array([[1.0, 2.0], [-1.0, -2.0]]),
        "wild": 9.0 * np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]) + [50.0, 7.0],
        "one": np.array([[3.0, 3.0]]),
    }


def test_unevenness_of_two_features(memory):
    moments = Moments.of(uneven_groups(), {"calm": 3.0, "wild": 1.0, "one": 9.0})
    # Feature 0: variances 1, 81 and deviations 1, 9; feature 1: 4, 0 and 2, 0; weights 3/4 and 1/4; "one" has one row.
    low = (3 / 1 + 1 / 3) / 4 / 4  # the standard deviation of n rows is biased low by 1/4(n-1)
    variances = np.array([(3 * 1 + 81) / 4, 3 * 4 / 4])
    typical = np.array([(3 * 1 + 9) / 4, 3 * 2 / 4]) * (1 + low)
    expected = variances / typical**2 - 1
    assert expected.min() < 0 < expected.max()
    assert moments.heterogeneity(np.eye(2)) == pytest.approx(np.maximum(expected, 0.0), rel=1e-12)
    shares = np.array([0.36, 0.64])  # squared entries of a unit pattern along (3, 4); its length does not matter
    mixed = (shares @ variances) / (shares @ typical**2) - 1
    assert mixed > 0.1
    assert moments.heterogeneity(np.array([[3e-9], [4e-9]])) == pytest.approx([mixed], rel=1e-12)


def test_without_equals_moments_of_the_other_groups(memory):
    groups = uneven_groups() | {"gone": np.array([[5.0, 1.0], [7.0, 1.0], [9.0, 4.0]])}
    prior = {name: 1.0 + number for number, name in enumerate(groups)}
    left = Moments.of(groups, prior).without("gone", GroupMoments.of(groups.pop("gone")))
    fresh = Moments.of(groups, prior)
    assert left.names == fresh.names
    for name in ("mean", "within", "between", "counts", "weights"):
        np.testing.assert_allclose(getattr(left, name), getattr(fresh, name), rtol=1e-9, atol=1e-9, err_msg=name)
    patterns = np.array([[1.0, 3.0], [0.0, 4.0]])
    np.testing.assert_allclose(left.heterogeneity(patterns), fresh.heterogeneity(patterns), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(left.mean_noise(np.eye(2)), fresh.mean_noise(np.eye(2)), rtol=1e-9, atol=1e-12)


def test_without_rows_keeps_all_results(memory):
    moments = Moments.of(uneven_groups(), {"calm": 3.0, "wild": 1.0, "one": 2.0})
    sums = moments.without_rows()
    assert (sums.names, sums.prior) == (moments.names, moments.prior)
    for name in ("mean", "within", "between", "total", "counts", "weights"):
        np.testing.assert_allclose(getattr(sums, name), getattr(moments, name), rtol=1e-12, atol=1e-12, err_msg=name)
    patterns = np.array([[1.0, 3.0], [0.0, 4.0]])
    np.testing.assert_allclose(sums.heterogeneity(patterns), moments.heterogeneity(patterns), rtol=1e-12)
    np.testing.assert_allclose(sums.mean_noise(np.eye(2)), moments.mean_noise(np.eye(2)), rtol=1e-12)
    assert sums.origin.tolist() == sums.mean.tolist()


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_noise_of_balanced_group_means(memory, n_rows):
    X = np.random.default_rng(0).normal(size=(4, n_rows, 2))
    moments, filters = Moments.of(X), np.array([[1.0, 2.0], [0.0, 1.0]])
    inside = np.diag(filters.T @ moments.within @ filters)
    for noise in (moments.mean_noise(filters), moments.mean_noise(filters, inside)):  # balanced groups: a multiple
        np.testing.assert_allclose(noise, [inside / (n_rows - 1), inside / (n_rows - 1) / 4], rtol=1e-12)


def test_noise_of_weighted_group_means(memory):
    """Groups of 2 and 4 rows with scatters 2 and 4 · 81 in the first feature and weights 1/4 and 1/2."""
    moments = Moments.of(uneven_groups(), {"calm": 1.0, "wild": 2.0, "one": 1.0})
    noise, noise_squared = moments.mean_noise(np.array([[1.0], [0.0]]))
    assert noise == pytest.approx([1 / 4 * 2 / 2 + 1 / 2 * 324 / 12])
    assert noise_squared == pytest.approx([1 / 16 * 2 / 2 + 1 / 4 * 324 / 12])


def test_stored_group_can_be_extracted():
    moments = Moments.of(SETS)
    for name, rows in SETS.items():
        group, expected = moments.group(name), GroupMoments.of(rows)
        assert group.count == expected.count
        np.testing.assert_allclose(group.mean, expected.mean)
        np.testing.assert_allclose(group.scatter, expected.scatter, atol=1e-12)
        assert (group.deviations is None) == (expected.deviations is None) == (len(rows) > 1)  # of two features
    with pytest.raises(InputError, match=r"no group 'd' in these moments. There are 'a', 'b', 'c'"):
        moments.group("d")


def test_folded_group_can_be_extracted_only_if_single(monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    rows = np.array(SETS["c"])
    alone = Moments.of({"c": rows}, {"c": 5.0})
    np.testing.assert_allclose(alone.group("c").scatter, GroupMoments.of(rows).scatter, atol=1e-12)
    np.testing.assert_allclose(alone.group("c").mean, rows.mean(axis=0))
    with pytest.raises(InputError, match=r"'a' was folded into matrices together with 2 others \(6 rows\)"):
        Moments.of(SETS).group("a")


def test_incompatible_moments_raise():
    one, other = Moments.of({"a": SETS["a"]}), Moments.of({"b": SETS["c"]})
    with pytest.raises(InputError, match="Group 'a' is already in these moments"):
        one + Moments.of({"a": SETS["c"]})
    with pytest.raises(InputError, match="same prior, got 'uniform' and 'by_size'"):
        one + Moments.of({"b": SETS["c"]}, "by_size")
    with pytest.raises(InputError, match="3 features, the others have 2"):
        one + Moments.of({"b": [[1.0, 2.0, 3.0]]})
    with pytest.raises(InputError, match="'a' is the only one"):
        one.without("a")
    with pytest.raises(InputError, match=r"no group 'z' in these moments. There are 'a', 'b'"):
        (one + other).without("z")
    with pytest.raises(TypeError):
        one + 3
    with pytest.raises(TypeError):
        3 + one


def test_join_raises_if_squared_distance_overflows(memory):
    near, far = Moments.of({"a": [[0.0], [1.0]]}), Moments.of({"b": [[1e150], [1e150]]})
    with pytest.raises(InputError, match="leave the range of numbers"):
        near + far
    assert (near + Moments.of({"b": [[1e140], [1e140]]})).between[0, 0] == pytest.approx(0.25e280)


def test_without_needs_the_group_if_rows_are_folded(monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    moments = Moments.of(SETS)
    with pytest.raises(InputError, match=r"'a' was folded into matrices together with 2 others \(6 rows\)"):
        moments.without("a")
    with pytest.raises(InputError, match="'a' has 2 rows in these moments, got 3 rows to remove"):
        moments.without("a", GroupMoments.of(SETS["c"]))


@pytest.mark.parametrize(("loud", "raises"), [(3e7, True), (0.8e7, False)])
def test_without_raises_if_only_rounding_is_left(monkeypatch, loud, raises):
    """Seven of sixteen digits may be lost: the removed group varies twenty million times as much as the others."""
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    rows = np.array([[-2.0], [2.0], [-1.0], [1.0], [0.0]]) / np.sqrt(2)  # variance 1
    groups = {"a": rows, "b": rows, "loud": rows * np.sqrt(loud)}
    moments = Moments.of(groups)
    if raises:
        with pytest.raises(InputError, match="'loud' has nearly all variation of feature 0"):
            moments.without("loud", GroupMoments.of(groups["loud"]))
    else:
        left = moments.without("loud", GroupMoments.of(groups["loud"]))
        assert left.within[0, 0] == pytest.approx(1.0, rel=1e-6)


def test_empty_collection_raises():
    with pytest.raises(InputError, match="There are no groups"):
        Moments.of([])


@pytest.mark.parametrize("prior", ["uniform", "by_size"])
@pytest.mark.parametrize("scale", [2e144, 2e-145])
def test_range_of_values_does_not_depend_on_the_prior(memory, scale, prior):
    rows = np.random.default_rng(0).choice([-1.0, 1.0], size=(40, 3)) * [1.0, scale, 1.0]
    moments = Moments.of({"a": rows[:10], "b": rows[10:]}, prior)
    assert moments.total[1, 1] == pytest.approx(scale**2, rel=0.2)
    beyond = rows * [1.0, 1e3 if scale > 1 else 1e-3, 1.0]
    with pytest.raises(InputError, match="Feature 1 varies on a scale"):
        Moments.of({"a": beyond[:10], "b": beyond[10:]}, prior)


@pytest.mark.parametrize("feature", [0, 1, 2])
@pytest.mark.parametrize(("inside", "distance"), [(1e-150, 0.0), (0.0, 1e-150)])
def test_underflow_raises_within_and_between_groups(memory, inside, distance, feature):
    groups = np.zeros((2, 2, 3))
    groups[:, :, (feature + 1) % 3] = [-1.0, 1.0]
    groups[:, :, feature] = [[-inside, inside], [distance - inside, distance + inside]]
    with pytest.raises(InputError, match=f"Feature {feature} varies on a scale"):
        Moments.of(groups)
    constant = [[[0.0, 7e150, 1.0], [0.0, 7e150, 2.0]]] * 2  # a constant may have any size
    assert np.diag(Moments.of(constant).total).tolist() == pytest.approx([0.0, 0.0, 0.25])


@pytest.mark.parametrize(("kept_values", "is_heavy"), [(4 * 2 * 9, False), (4 * 2 * 9 - 1, True)])
def test_matrices_are_joined_once_they_exceed_the_memory_limit(kept_values, is_heavy, monkeypatch):
    parts = [Moments.of(np.random.default_rng(number).normal(size=(2, 5, 3))) for number in range(3)]
    monkeypatch.setattr("undistract.algebra.moments.KEPT_VALUES", kept_values)
    assert (
        _heavy([parts[0].without_rows(), parts[1], parts[2].without_rows()]) == is_heavy
    )  # two of three have matrices
