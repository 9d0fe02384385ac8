"""The de-biased distraction against its definition, set by set."""

import numpy as np
import pytest

from undistract import Moments, Spectrum


def by_definition(sets, shares):
    """λ~ of a single feature; a set of one row shows no variation of its own, so that the others speak for it."""
    several = np.array([len(rows) > 1 for rows in sets])
    inside = np.array([rows.var(ddof=1) if len(rows) > 1 else 0.0 for rows in sets])
    unbiased = shares[several] @ inside[several] / shares[several].sum()
    means, counts = np.array([rows.mean() for rows in sets]), np.array([len(rows) for rows in sets])
    between = shares @ (means - shares @ means) ** 2
    wander = (shares * (1 - shares) / counts) @ np.where(several, inside, unbiased)
    apart = max(between - wander, 0.0) / (1 - (shares**2).sum())
    return unbiased / (unbiased + apart)


@pytest.mark.parametrize("cushion", [0.0, 0.5])
@pytest.mark.parametrize("prior", ["uniform", "by_size", [1, 2, 3, 4, 5, 6, 7, 8]])
@pytest.mark.parametrize("apart", [0.0, 0.4, 3.0])
def test_sets_of_one_row_and_of_two_count_as_what_they_are(prior, cushion, apart):
    rng = np.random.default_rng(0)
    counts = [1, 2, 3, 1, 2, 40, 5, 2]
    sets = [rng.normal(apart * rng.normal(), 1 + number, size=(n, 1)) for number, n in enumerate(counts)]
    weights = {"uniform": np.ones(8), "by_size": np.array(counts)}.get(prior if isinstance(prior, str) else "", prior)
    spectrum = Spectrum.of(Moments.of(sets, prior=prior), cushion=cushion)
    shares = np.array(weights) / np.sum(weights)
    assert spectrum.debiased == pytest.approx([by_definition(sets, shares)], rel=1e-12)
