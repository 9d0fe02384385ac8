"""Sections 2 and 6 (appendix): the losses, the theorem, the eigenvalues, measured on small groups of unequal size."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, subspace_angles
from scipy.stats import spearmanr

from paper.common import publish
from undistract import DiscriminativeDetector, Moments, Spectrum
from undistract._arrays import Floats
from undistract.algebra.feature_ranking import rank_functions
from undistract.datasets.synthetic import analytic_example

Measures = dict[str, float | list[float]]


def measures() -> Measures:
    """Measure every claim of the two sections that has a number."""
    return losses() | theorem() | eigenvalues() | sums() | detector()


def unequal_groups(n_groups: int = 6, n_features: int = 4) -> list[Floats]:
    """Make groups of 20, 40, 60, ... rows that differ in mean, scale and mixing."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(n_groups, n_features, n_features)) * rng.uniform(0.2, 2, n_groups)[:, None, None]
    means = 2 * rng.normal(size=(n_groups, n_features))
    return [rng.normal(size=(20 * (m + 1), n_features)) @ mixing[m] + means[m] for m in range(n_groups)]


def pair_sum(rows: Floats, w: Floats) -> float:
    """Σ (wᵀx - wᵀy)² over all pairs of rows, by going through them."""
    reading = rows @ w
    return float(((reading[:, None] - reading) ** 2).sum())


def losses() -> Measures:
    """Compare the sums of the main text and of the appendix with 2wᵀCw; search for the best ratio at random."""
    groups = unequal_groups()
    moments, whole = Moments.of(groups), np.concatenate(groups)
    W = np.random.default_rng(1).normal(size=(200, 4))
    within = np.array([2 * w @ moments.within @ w for w in W])
    of_appendix = np.array([np.mean([pair_sum(rows, w) / len(rows) ** 2 for rows in groups]) for w in W])
    of_text = np.array([sum(pair_sum(rows, w) for rows in groups) for w in W])
    by_size = Moments.of(groups, prior="by_size")
    total = np.array([2 * w @ by_size.total @ w for w in W])
    total_of_text = np.array([pair_sum(whole, w) / len(whole) for w in W])
    # The ratio as it stands in the main text, for ten groups of a hundred rows.
    example = [one.rows for one in analytic_example()]
    distractor = np.array([0.0, 1.0, 0.0])
    of_example = sum(pair_sum(rows, distractor) for rows in example)
    ratio_of_text = of_example / (pair_sum(np.concatenate(example), distractor) / 1000)
    directions = np.random.default_rng(2).normal(size=(100_000, 4))
    ratios = np.einsum("ni,ij,nj->n", directions, moments.within, directions) / np.einsum(
        "ni,ij,nj->n", directions, moments.total, directions
    )
    ranked = rank_functions({"first": lambda x: x[:, 0], "second": lambda x: x[:, 1]}, analytic_example())
    return {
        "appendix_within_error": float(np.abs(of_appendix / within - 1).max()),
        "text_within_spread": float((of_text / within).max() / (of_text / within).min()),
        "text_total_factor": float((total_of_text / total).mean()),
        "text_ratio_of_distractor": ratio_of_text,
        "doubled_filter": pair_sum(whole, 2 * W[0]) / pair_sum(whole, W[0]),
        "best_of_random_ratios": float(ratios.max() / Spectrum.of(moments, ridge=0).distraction[0]),
        "finite_choice": [one.distraction for one in ranked],
    }


def theorem() -> Measures:
    """Total = within + between for three priors, its corollaries, and the two ways to compute Q."""
    groups = unequal_groups()
    errors, priors = [], ("uniform", "by_size", [1.0, 5.0, 2.0, 1.0, 1.0, 3.0])
    for prior in priors:
        moments = Moments.of(groups, prior=prior)
        whole, shares = np.concatenate(groups), np.repeat(moments.shares / moments.counts, moments.counts)
        centred = whole - shares @ whole
        errors.append(
            np.abs((centred * shares[:, None]).T @ centred - moments.total).max() / np.abs(moments.total).max()
        )
    same = [rows[:20] for rows in groups]
    uniform, by_size = (Moments.of(same, prior=prior).total for prior in ("uniform", "by_size"))
    # Ten group means on one line, none repeated; and six of which two are the same, in twenty features.
    line = np.outer(np.arange(10.0), [3.0, 0.0, 0.0])
    general = np.random.default_rng(3).normal(size=(6, 20))
    ranks = [line, general, general[[0, 0, 2, 3, 4, 5]], general[:, :3]]
    far = np.random.default_rng(4).normal(size=(1000, 1)) + 1e8
    by_lemma = float((far.T @ far)[0, 0] - len(far) * far.mean() ** 2) / len(far)
    by_moments = float(Moments.of([far, far + 1]).within[0, 0])
    return {
        "theorem_error": float(max(errors)),
        "prior_error_balanced": float(np.abs(uniform - by_size).max() / np.abs(uniform).max()),
        "rank_of_between": [float(np.linalg.matrix_rank(means - means.mean(axis=0))) for means in ranks],
        "lemma_is_off_far_away": float(abs(by_lemma - float(np.var(far - 1e8))) > 0.01),
        "moments_are_off_far_away": float(abs(by_moments - float(np.var(far - 1e8))) > 0.01),
    }


def eigenvalues() -> Measures:
    """Count eigenvalues by kind, without and with a ridge; see where filters and patterns lie."""
    rng = np.random.default_rng(5)
    counts = []
    for n_groups in (5, 10, 15, 25):
        groups = [rng.normal(size=(50, 20)) * (np.arange(20) > 1) + rng.normal(size=20) for _ in range(n_groups)]
        spectrum = Spectrum.of(Moments.of(groups), ridge=0)
        ones = int((spectrum.distraction > 1 - 1e-9).sum())
        counts.append((float(spectrum.n_constant), float(spectrum.n_varying - ones), float(ones)))
    ridged = Spectrum.of(Moments.of(groups[:5]), ridge=1e-3)
    # x1 = s + t and x2 = t, exactly: s differs between groups and varies a little inside them, t varies inside alone.
    inside, apart = np.array([[4.25, 4.0], [4.0, 4.0]]), np.array([[9.0, 0.0], [0.0, 0.0]])
    values, W = eigh(inside, inside + apart)
    filter_, pattern, span = W[:, [0]], (inside + apart) @ W[:, [0]], np.array([[1.0], [0.0]])
    assert values[0] < 1 - 1e-6 < values[1]
    return {
        "constant_between_one": np.transpose(counts).ravel().tolist(),
        "ones": [one for _, _, one in counts],
        "largest_with_cushion": float(ridged.distraction[0]),
        "filter_outside_span_degrees": float(np.degrees(subspace_angles(filter_, span))[0]),
        "pattern_outside_span_degrees": float(np.degrees(subspace_angles(pattern, span))[0]),
    }


def sums() -> Measures:
    """Lemma 1, and moments that join."""
    groups = unequal_groups()
    rows = groups[0]
    pairs = (rows[:, None] - rows).reshape(-1, 4)
    centred = rows - rows.mean(axis=0)
    whole = Moments.of(dict(enumerate(groups)))
    joined = Moments.of(dict(list(enumerate(groups))[:3])) + Moments.of(dict(list(enumerate(groups))[3:]))
    return {
        "lemma_error": float(np.abs(pairs.T @ pairs / (2 * len(rows) * centred.T @ centred) - 1).max()),
        "joined_error": float(np.abs(whole.total - joined.total).max() / np.abs(whole.total).max()),
    }


def detector() -> Measures:
    """How far the detector called scale-invariant agrees with itself when all features are ten times smaller."""
    X = np.random.default_rng(6).normal(size=(400, 30))
    scores = [
        DiscriminativeDetector(standardise=False, cover=False, random_state=0).fit(X * scale).scores_
        for scale in (1.0, 0.1)
    ]
    return {"rank_agreement_of_scales": float(spearmanr(*scores, nan_policy="omit").statistic)}


def tables() -> None:
    """Print the tables, and put them into the README."""
    found = measures()
    counts = np.reshape(found["constant_between_one"], (3, 4)).astype(int)
    publish(
        "eigenvalues",
        ["groups", "λ = 0", "0 < λ < 1", "λ = 1"],
        [[str(n), *map(str, column)] for n, column in zip((5, 10, 15, 25), counts.T, strict=True)],
    )
    ranks = [str(int(rank)) for rank in np.ravel(found["rank_of_between"])]
    publish(
        "rank of Q",
        ["group means", "M - 1", "repeated means", "rank of Q"],
        [
            ["10 on a line, all different", "9", "0", ranks[0]],
            ["6 in general position, 20 features", "5", "0", ranks[1]],
            ["the same, one of them repeated", "5", "1", ranks[2]],
            ["6 in general position, 3 features", "5", "0", ranks[3]],
        ],
    )


if __name__ == "__main__":
    tables()
