"""Kernel FOCUS, for any rows: linear for the linear kernel, and blind to how rows are turned, moved or measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group

from tests.laws.strategies import law, plain_sets, seeds
from undistract import Focus, KernelFocus

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


def joined(sets, step=1):
    """All rows, or some, with their labels; a matrix of all products is quick for few."""
    return np.vstack(sets)[::step], np.repeat(np.arange(len(sets)), [len(rows) for rows in sets])[::step]


@law
@given(
    plain_sets(), st.sampled_from(["uniform", "by_size"]), st.sampled_from([1e-3, 0.1])
)  # a cushion: without one, few sets leave ties
def test_the_linear_kernel_is_linear_focus(sets, prior, cushion):
    X, labels = joined(sets, 2)
    settings = {"n_remove": 1, "prior": prior, "cushion": cushion}
    linear, kernel = Focus(**settings).fit(X, sets=labels), KernelFocus("linear", **settings).fit(X, sets=labels)
    assert kernel.distraction_[:-1] == pytest.approx(linear.distraction_, abs=1e-8)
    assert pdist(kernel.transform(X)) == pytest.approx(pdist(linear.transform(X)), rel=1e-8, abs=1e-7)


@law
@given(plain_sets(), seeds, st.sampled_from([1e-3, 1.0, 1e4]))
def test_turning_moving_and_other_units_change_nothing(sets, seed, unit):
    X, labels = joined(sets, 4)
    rng = np.random.default_rng(seed)
    turn = ortho_group.rvs(X.shape[1], random_state=rng)
    other = unit * (X @ turn + rng.normal(scale=100.0, size=X.shape[1]))
    one, two = (KernelFocus(n_remove=1, cushion=0.1).fit(rows, sets=labels) for rows in (X, other))
    assert two.distraction_[:10] == pytest.approx(one.distraction_[:10], abs=1e-6)
    assert pdist(two.transform(other)) == pytest.approx(pdist(one.transform(X)), abs=1e-5)


@law
@given(plain_sets())
def test_the_order_of_rows_does_not_matter(sets):
    X, labels = joined(sets, 4)
    order = np.random.default_rng(0).permutation(len(X))
    one = KernelFocus(gamma=0.5, n_remove=0).fit(X, sets=labels)
    two = KernelFocus(gamma=0.5, n_remove=0).fit(X[order], sets=labels[order])
    assert two.distraction_ == pytest.approx(one.distraction_, abs=1e-6)
    assert pdist(two.transform(X)) == pytest.approx(pdist(one.transform(X)), abs=1e-6)
