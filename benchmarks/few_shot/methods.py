"""The methods: moments of the teaching groups → a map of rows, at all the settings that are tried.

They are those of the quality benchmark, with more settings, and nine more:

    FOCUS counted      a number of directions removed, the most distracting first
    FOCUS graded       (I + strength/v · Σ λ/(1-λ) a aᵀ)^(-1/2) x over all patterns a, at their own length
    FOCUS weighted     √((1-λ)/(2-λ)) · wᵀx, every reading w of length one in within + ridge·v·I, which also replaces
                       within in the eigenproblem: RCA, where each reading counts by how far it separates groups
    PLDA               the same without a between_ridge: a control
    FOCUS likelihood   the Gaussian likelihood of a row, given an example, whose products the weighted readings are: an
                       example is believed by 1 - λ (`undistract.FewShotClassifier`)
    PLDA likelihood    the same without a between_ridge: a control
    RCA likelihood     the same without `between`: a control
    FOCUS and LDA      [ unit(FOCUS x), √share · unit(LDA x) ], two views of a row, each of length one
    RCA and LDA        the same with RCA in the place of FOCUS: a control

v is the mean variance of the features. With λ in the place of λ/(1-λ) the patterns sum up to `within`, and the second
would be RCA: odds shrink nuisances more than differences between groups. The weights of the third make the product of
two rows the likelihood that they are of one group, if both are Gaussian (Ioffe 2006; Prince and Elder 2007)
and the between_ridge is the variance of unseen groups in any direction. From the third on they differ from plain FOCUS:
they also magnify differences between the training groups. They have their own names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.linalg import eigh

from benchmarks.quality.methods import (
    ALL,
    AUTOMATIC,
    RAW,
    Learned,
    Method,
    _matrix,
    _root_of_between,
    _whitening,
    grid,
    lda,
    nap,
    pca_drop_top,
    rca,
)
from undistract._arrays import Floats, Rows
from undistract.algebra import Moments, Projection, Spectrum
from undistract.few_shot import Likelihood

COUNTS = (2, 5, 20, 50, 100, 200, 400)
CUSHIONS = (1e-2, 0.1)
COUNTED, GRADED, WEIGHTED, UNCUSHIONED = "FOCUS counted", "FOCUS graded", "FOCUS weighted", "PLDA"
LIKELY, LIKELY_PLDA, LIKELY_RCA = "FOCUS likelihood", "PLDA likelihood", "RCA likelihood"
TWO_VIEWS, CONTROL, AUGMENTED = "FOCUS and LDA", "RCA and LDA", "augmentation"


@lru_cache(maxsize=len(CUSHIONS))
def _spectrum(moments: Moments, between_ridge: float) -> Spectrum:
    return Spectrum.of(moments, ridge=between_ridge)


@lru_cache(maxsize=4)
def _removing(moments: Moments, between_ridge: float, n_remove: int) -> Projection | None:
    spectrum = _spectrum(moments, between_ridge)
    return Projection.of(spectrum, n_remove) if n_remove < spectrum.n_varying else None


def focus_counted(moments: Moments, between_ridge: float, n_remove: int) -> Learned | None:
    """Remove a number of directions."""
    found = _removing(moments, between_ridge, n_remove)
    return None if found is None else Learned(found, n_remove)


def focus_graded(moments: Moments, between_ridge: float, strength: float) -> Learned:
    """Shrink every direction by how distracting it is, and by how much rows vary along it."""
    values, directions = _odds(moments, between_ridge)
    mean_variance = float(np.trace(_matrix(moments, "total"))) / moments.n_features
    shrunk = directions / np.sqrt(1 + strength * values / mean_variance)
    return Learned(lambda X: X @ shrunk.astype(X.dtype), 0)


@lru_cache(maxsize=1)
def _odds(moments: Moments, between_ridge: float) -> tuple[Floats, Floats]:
    """Eigenvalues and eigenvectors of Σ λ/(1-λ) a aᵀ."""
    spectrum = _spectrum(moments, between_ridge)
    distraction = spectrum.distraction[: spectrum.patterns.shape[1]]
    roots = spectrum.patterns * np.sqrt(distraction / (1 - distraction))
    values, vectors = eigh(roots @ roots.T, driver="evd", check_finite=False)
    return np.maximum(values, 0), vectors


def focus_weighted(moments: Moments, between_ridge: float, ridge: float) -> Learned:
    """Whiten by what varies inside groups, and let every reading count by how far it separates groups.

    In whitened coordinates y the readings are the eigenvectors of S = diag(c) + F Fᵀ, their eigenvalues (1-λ)/λ, and
    their weights S/(1 + 2S). No eigenvector is needed: with D = 1 + 2c and K = (I + 2 Fᵀ D⁻¹ F)⁻¹ (Woodbury)

        yᵀ S/(1 + 2S) y  =  Σ c/D · y²  +  ‖K^½ Fᵀ D⁻¹ y‖²
    """
    roots, directions = _whitening(moments, ridge)
    mean_variance = float(np.trace(_matrix(moments, "total"))) / moments.n_features
    granted = between_ridge * mean_variance * roots**2  # c
    share = 1 / (1 + 2 * granted)
    apart = roots[:, None] * (directions.T @ _root_of_between(moments))  # F (d, b)
    inner = np.linalg.inv(np.eye(apart.shape[1]) + 2 * apart.T @ (share[:, None] * apart))
    low = (share[:, None] * apart) @ np.linalg.cholesky(inner)
    white = directions * roots
    readings = np.hstack([white * np.sqrt(granted * share), white @ low])
    return Learned(lambda X: (X - moments.mean) @ readings, 0)


@dataclass(frozen=True)
class Judged(Learned):
    """No map of rows, but its own similarity: how likely rows (n, d) are, given examples (m, d)."""

    change: Likelihood


def focus_likelihood(moments: Moments, between_ridge: float, ridge: float) -> Judged:
    """Ask how likely a row is of the group of an example."""
    return Judged(Likelihood.of(moments, between_ridge=between_ridge, within_ridge=ridge), 0)


def rca_likelihood(moments: Moments, between_ridge: float, ridge: float) -> Judged:
    """Do the same as if nothing were known of how groups differ."""
    likelihood = Likelihood.of(moments, between_ridge=between_ridge, within_ridge=ridge)
    return Judged(replace(likelihood, between=likelihood.between[:, :0]), 0)


def two_views(moments: Moments, between_ridge: float, n_remove: int, ridge: float, share: float) -> Learned | None:
    """Concatenate what FOCUS keeps and the coordinates of LDA."""
    return _beside(moments, focus_counted(moments, between_ridge, n_remove), ridge, share)


def control(moments: Moments, whitening: float, ridge: float, share: float) -> Learned | None:
    """Do the same with RCA."""
    return _beside(moments, rca(moments, whitening), ridge, share)


def _beside(moments: Moments, first: Learned | None, ridge: float, share: float) -> Learned | None:
    told_apart = lda(moments, ridge, ALL)
    if first is None or told_apart is None:
        return None
    middle = first(moments.mean[None])

    def views(X: Rows) -> Rows:
        return np.hstack([_unit(first(X) - middle.astype(X.dtype)), np.sqrt(share) * _unit(told_apart(X))])

    return Learned(views, first.n_removed)


def _unit(Z: Rows) -> Rows:
    """Bring every row to length one; what is no longer than rounding stays nothing."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length > 1e-9, length, np.inf)


RIDGES = (0.1, 1.0)
LIKELY_RIDGES = (0.1, 0.3, 1.0, 3.0)
SHARES = (0.25, 0.5)
METHODS = (
    RAW,
    Method("PCA drop-top", pca_drop_top, grid(k=COUNTS)),
    Method("NAP", nap, grid(k=COUNTS)),
    Method("RCA", rca, grid(ridge=(1e-3, 1e-2, 0.1, 1.0, 10.0))),
    Method("LDA", lda, grid(ridge=(1e-2, 0.1, 0.3, 1.0, 3.0, 10.0), q=(ALL,))),
    AUTOMATIC,
    Method(COUNTED, focus_counted, grid(between_ridge=CUSHIONS, n_remove=COUNTS)),
    Method(GRADED, focus_graded, grid(between_ridge=CUSHIONS[:1], strength=(1.0, 10.0, 100.0))),
    Method(WEIGHTED, focus_weighted, grid(between_ridge=(1e-4, 1e-3, *CUSHIONS), ridge=(1e-2, 0.1, 0.3, 1.0))),
    Method(UNCUSHIONED, focus_weighted, grid(between_ridge=(0.0,), ridge=(1e-2, 0.1, 0.3, 1.0))),
    Method(LIKELY, focus_likelihood, grid(between_ridge=(1e-3, 1e-2, 0.03, 0.1), ridge=LIKELY_RIDGES)),
    Method(LIKELY_PLDA, focus_likelihood, grid(between_ridge=(0.0,), ridge=LIKELY_RIDGES)),
    Method(LIKELY_RCA, rca_likelihood, grid(between_ridge=(1e-3, 1e-2, 0.1), ridge=(1e-2, 0.1, 0.3, 1.0))),
    Method(TWO_VIEWS, two_views, grid(between_ridge=CUSHIONS[:1], n_remove=(100, 200), ridge=RIDGES, share=SHARES)),
    Method(CONTROL, control, grid(whitening=(1e-3, 1e-2), ridge=RIDGES, share=SHARES[1:])),
)
COPIES = 20  # of each example, with a distractor drawn on each; five did less on the first seed of Yale/2
NAMES = [RAW.name, AUGMENTED, *(method.name for method in METHODS[1:])]
