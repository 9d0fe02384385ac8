"""Who takes part: each is a function from a sample to what it learned. Competitors see the same rows and labels.

The floor is the cheapest thing that reads all pairs of features: one call of dsyrk, for the smaller of XᵀX and XXᵀ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.speed.cases import Case, Sample
from benchmarks.speed.rca import relevant_components
from undistract import Focus
from undistract._arrays import Floats

PAPER_CUSHION, PAPER_CUTOFF = 1e-8, 0.999
MOST_MEMORY = 6000.0  # MB; a peer that must hold more is not started


@dataclass(frozen=True)
class Peer:
    """One competitor."""

    name: str
    learn: Callable[[Sample], Any]
    learned: Callable[[Any], Floats]  # the array that it found
    n_squares: int = 0  # d × d matrices that it needs, for any number of rows
    most_seconds: float = np.inf
    wide: bool = False  # takes part only where features are more than rows

    def hindrance(self, case: Case) -> str:
        """Say why it cannot take part in a case; nothing if it can."""
        needed = self.n_squares * case.square
        return f"would need {needed / 1000:.1f} GB" if needed > MOST_MEMORY else ""


def gram(data: Sample, *, small: bool = True) -> Floats:
    """Return one triangle of XᵀX, or the `small` XXᵀ where rows are fewer than features; the rows are not copied."""
    n_rows, n_features = data.X.shape
    # X.T is in Fortran order already; the transposed product reads the same memory.
    found: Floats = dsyrk(1.0, data.X.T, trans=int(small and n_rows < n_features))
    return found


def focus(data: Sample, **settings: Any) -> Focus:
    """Fit ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few groups for so many features: true, but irrelevant here
        return Focus(**settings).fit(data.X, groups=data.labels)


def _principal(data: Sample, solver: str) -> PCA:
    return PCA(svd_solver=solver).fit(data.X)


def _incremental(data: Sample) -> IncrementalPCA:
    return IncrementalPCA().fit(data.X)


def _discriminant(data: Sample, solver: str) -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(solver=solver).fit(data.X, data.labels)


def _relevant(data: Sample) -> Any:
    return relevant_components().fit(data.X, data.labels)


def _patterns(fitted: Focus) -> Floats:
    return np.asarray(fitted.spectrum_.patterns)


def _components(fitted: Any) -> Floats:
    return np.asarray(fitted.components_)


def _scalings(fitted: LinearDiscriminantAnalysis) -> Floats:
    return np.asarray(fitted.scalings_)


FLOOR = Peer("dsyrk", gram, np.asarray)
SQUARE = Peer("dsyrk, features × features", partial(gram, small=False), np.asarray, 2, wide=True)
OURS = Peer("Focus", focus, _patterns)
PAPER = Peer("Focus, the paper's setting", partial(focus, ridge=PAPER_CUSHION, cutoff=PAPER_CUTOFF), _patterns)
COVARIANCE = Peer("PCA, covariance_eigh", partial(_principal, solver="covariance_eigh"), _components, 3)
RIVALS = (
    COVARIANCE,
    Peer("PCA, full", partial(_principal, solver="full"), _components, most_seconds=60.0),
    Peer("IncrementalPCA", _incremental, _components),
    Peer("LDA, eigen", partial(_discriminant, solver="eigen"), _scalings, 4),
    Peer("LDA, svd", partial(_discriminant, solver="svd"), _scalings),
    Peer("RCA", _relevant, _components, 4),
)
PEERS = {peer.name: peer for peer in (FLOOR, SQUARE, OURS, PAPER, *RIVALS)}
