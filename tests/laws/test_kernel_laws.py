"""Kernel FOCUS, for any rows: linear for the linear kernel, invariant to rotation, translation and units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group

from tests.laws.strategies import law, plain_groups, seeds
from undistract import Focus, KernelFocus

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


def joined(groups, step=1):
    """Return all rows, or the first, with their labels; the kernel matrix of few rows is fast."""
    return np.vstack(groups)[::step], np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])[::step]


@law
@given(
    plain_groups(), st.sampled_from(["uniform", "by_size"]), st.sampled_from([1e-3, 0.1])
)  # with a ridge: without one, few groups leave ties
def test_linear_kernel_is_linear_focus(groups, prior, ridge):
    X, labels = joined(groups, 2)
    settings = {"n_remove": 1, "prior": prior, "ridge": ridge}
    linear, kernel = Focus(**settings).fit(X, groups=labels), KernelFocus("linear", **settings).fit(X, groups=labels)
    assert kernel.distraction_[:-1] == pytest.approx(linear.distraction_, abs=1e-8)
    assert pdist(kernel.transform(X)) == pytest.approx(pdist(linear.transform(X)), rel=1e-8, abs=1e-7)


@law
@given(plain_groups(), seeds, st.sampled_from([1e-3, 1.0, 1e4]))
def test_rotation_translation_and_units_change_nothing(groups, seed, unit):
    X, labels = joined(groups, 4)
    rng = np.random.default_rng(seed)
    turn = ortho_group.rvs(X.shape[1], random_state=rng)
    other = unit * (X @ turn + rng.normal(scale=100.0, size=X.shape[1]))
    first, second = (KernelFocus(n_remove=1, ridge=0.1).fit(rows, groups=labels) for rows in (X, other))
    assert second.distraction_[:10] == pytest.approx(first.distraction_[:10], abs=1e-6)
    assert pdist(second.transform(other)) == pytest.approx(pdist(first.transform(X)), abs=1e-5)


@law
@given(plain_groups())
def test_order_of_rows_does_not_matter(groups):
    X, labels = joined(groups, 4)
    order = np.random.default_rng(0).permutation(len(X))
    first = KernelFocus(gamma=0.5, n_remove=0).fit(X, groups=labels)
    second = KernelFocus(gamma=0.5, n_remove=0).fit(X[order], groups=labels[order])
    assert second.distraction_ == pytest.approx(first.distraction_, abs=1e-6)
    assert pdist(second.transform(X)) == pytest.approx(pdist(first.transform(X)), abs=1e-6)
