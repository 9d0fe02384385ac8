"""The de-biased distraction compared with its definition, group by group."""

import numpy as np
import pytest

from undistract import Moments, Spectrum


def by_definition(groups, shares):
    """Return λ~ of a single feature; a group of one row has no variance of its own and gets that of the others."""
    several = np.array([len(rows) > 1 for rows in groups])
    variances = np.array([rows.var(ddof=1) if len(rows) > 1 else 0.0 for rows in groups])
    unbiased = shares[several] @ variances[several] / shares[several].sum()
    means, counts = np.array([rows.mean() for rows in groups]), np.array([len(rows) for rows in groups])
    between = shares @ (means - shares @ means) ** 2
    noise = (shares * (1 - shares) / counts) @ np.where(several, variances, unbiased)
    apart = max(between - noise, 0.0) / (1 - (shares**2).sum())
    return unbiased / (unbiased + apart)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("prior", ["uniform", "by_size", [1, 2, 3, 4, 5, 6, 7, 8]])
@pytest.mark.parametrize("apart", [0.0, 0.4, 3.0])
def test_groups_of_one_and_two_rows_follow_the_definition(prior, ridge, apart):
    rng = np.random.default_rng(0)
    counts = [1, 2, 3, 1, 2, 40, 5, 2]
    groups = [rng.normal(apart * rng.normal(), 1 + number, size=(n, 1)) for number, n in enumerate(counts)]
    weights = {"uniform": np.ones(8), "by_size": np.array(counts)}.get(prior if isinstance(prior, str) else "", prior)
    spectrum = Spectrum.of(Moments.of(groups, prior=prior), ridge=ridge)
    shares = np.array(weights) / np.sum(weights)
    assert spectrum.debiased == pytest.approx([by_definition(groups, shares)], rel=1e-12)
