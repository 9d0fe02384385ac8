"""The paper's example: x ~ N((3m, 1, -1), diag(4, 1, 0)), ten groups of a hundred rows.

The first feature is descriptive, the second distracting, the third constant (MATHEMATICS, 6: the printed 2 is a
standard deviation, and the printed eigenvalues are in reverse order).
"""

import numpy as np
import pytest

from undistract import Focus, Moments, Spectrum
from undistract.algebra import Projection

N_SETS, N_ROWS = 10, 100
LABELS = np.repeat(np.arange(N_SETS), N_ROWS)


def draw(seed, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    means = np.array([[3.0 * m, 1.0, -1.0] for m in range(1, N_SETS + 1)])
    return np.repeat(means, n_rows, axis=0) + rng.normal(size=(N_SETS * n_rows, 3)) * [2.0, 1.0, 0.0]


@pytest.fixture(scope="module")
def spectra():
    return [Spectrum.of(Moments.from_labels(draw(seed), LABELS), ridge=1e-8) for seed in range(300)]


def test_eigenpairs_match_the_paper_within_sampling_error(spectra):
    first, second = np.array([spectrum.distraction[:2] for spectrum in spectra]).T
    # The distractor's λ follows Beta((n-M)/2, (M-1)/2): mean .99099, standard deviation .0030.
    n = N_SETS * N_ROWS
    a, b = (n - N_SETS) / 2, (N_SETS - 1) / 2
    deviation = np.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
    assert np.mean(first) == pytest.approx(a / (a + b), abs=4 * deviation / np.sqrt(300))
    assert np.std(first) == pytest.approx(deviation, rel=0.2)
    # The descriptive one: within 4·.99 of total 4·.99 + 74.25 + .036; both scatter, so four standard errors again.
    assert np.mean(second) == pytest.approx(3.96 / 78.25, abs=4 * np.std(second) / np.sqrt(300))
    for spectrum in spectra:
        assert spectrum.distraction[0] == pytest.approx(0.99, abs=0.02)
        assert spectrum.distraction[1] == pytest.approx(0.05, abs=0.01)
        assert spectrum.n_constant == 1
        read = np.abs(spectrum.filters / np.linalg.norm(spectrum.filters, axis=0))
        assert read[1, 0] > 0.999  # e2
        assert read[0, 1] > 0.97  # e1
        assert read[2].max() == 0  # e3 is constant: no filter reads it


def test_debiased_value_of_the_distractor_is_one(spectra):
    debiased = np.array([spectrum.debiased[0] for spectrum in spectra])
    # One minus an intraclass correlation whose true value is 0, clipped at 0: half of the seeds give exactly 1.
    assert np.median(debiased) > 0.999
    assert 0.3 < np.mean(debiased == 1.0) < 0.8


def test_reasonable_cutoff_keeps_the_first_and_third_feature():
    X = draw(0)
    with pytest.warns(UserWarning, match=r"rows per group"):
        paper = Focus(cutoff=0.999, ridge=1e-8).fit(X, groups=LABELS)
    # The paper's .999 would remove nothing here: with 100 rows per group a pure distractor has λ = .99.
    assert paper.n_removed_ == 0
    focus = Focus(cutoff=0.9, ridge=1e-8).fit(X, groups=LABELS)
    assert list(focus.kinds_) == ["distracting", "descriptive", "constant"]
    kept = focus.transform(np.eye(3))
    assert np.linalg.norm(kept, axis=1).round(2).tolist() == pytest.approx([1.0, 0.0, 1.0], abs=0.1)


def test_pca_fails_in_both_ways_of_the_paper():
    within, total = (np.zeros((300, 3)) for _ in range(2))
    for seed in range(300):
        moments = Moments.from_labels(draw(seed), LABELS)
        within[seed], axes = np.linalg.eigh(moments.within)
        # Top of within: the descriptive feature is marked as the worst offender.
        assert abs(axes[0, -1]) > 0.99
        total[seed], axes = np.linalg.eigh(moments.total)
        # Bottom of total: the constant feature comes before the distracting one.
        assert abs(axes[2, 0]) > 0.99
    assert within.mean(axis=0)[::-1] == pytest.approx([3.96, 0.99, 0.0], abs=0.03)
    assert total.mean(axis=0)[::-1] == pytest.approx([78.25, 1.0, 0.0], abs=0.5)


def without_sampling_error(X, labels):
    """Give each group exactly its mean and covariance, so that the remaining error is due to the method."""
    noise = np.vstack([np.linalg.qr(_centred(X, labels)[labels == m][:, :2])[0] for m in range(N_SETS)])
    means = np.array([[3.0 * m, 1.0, -1.0] for m in range(1, N_SETS + 1)])
    return means[labels] + np.column_stack([noise, np.zeros(len(X))]) * [20.0, 10.0, 0.0]


def movement_left(X, labels, seed):
    """Mix at random, remove one direction, return the rest of the nuisance movement: correct and wrong projection."""
    mixing = np.random.default_rng([seed, 1]).normal(size=(3, 3))
    spectrum = Spectrum.of(Moments.from_labels(X @ mixing.T, labels), ridge=1e-8)
    moves = mixing[:, 1] / np.linalg.norm(mixing[:, 1])  # movement of mixed rows when the distractor changes
    reads = spectrum.filters[:, 0] / np.linalg.norm(spectrum.filters[:, 0])
    return np.linalg.norm(Projection.of(spectrum, 1)(moves[None])), np.linalg.norm(moves - (moves @ reads) * reads)


def test_200_random_mixings_leave_only_sampling_error_of_the_distractor():
    exact = [movement_left(without_sampling_error(draw(seed), LABELS), LABELS, seed) for seed in range(200)]
    right, wrong = np.transpose(exact)
    # The ridge of 1e-8 is visible for almost singular mixings; without a ridge this is 1e-13.
    assert right.max() < 1e-4
    assert np.median(right) < 1e-7
    # Counterexample: the Euclidean complement of the filter leaves half of the movement, and up to all of it.
    assert np.median(wrong) > 0.4
    assert wrong.max() > 0.98


def test_five_percent_of_the_movement_remains_at_the_size_of_the_paper():
    right = [movement_left(draw(seed), LABELS, seed)[0] for seed in range(200)]
    assert np.mean(right) <= 0.05
    # Ten times the rows, a third of the error: now 5 % of the variance bounds each mixing.
    labels = np.repeat(np.arange(N_SETS), 10 * N_ROWS)
    right_with_more = np.array([movement_left(draw(seed, 10 * N_ROWS), labels, seed)[0] for seed in range(200)])
    assert (right_with_more**2).max() <= 0.05
    assert np.mean(right_with_more) <= 0.02


def _centred(values, labels):
    means = np.array([values[labels == m].mean(axis=0) for m in range(N_SETS)])
    return values - means[labels]
