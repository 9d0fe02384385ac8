"""The methods that FOCUS is compared with: moments of the training groups → a map of rows.

    raw              x
    PCA drop-top     x without the top k eigenvectors of total
    PCA drop-bottom  the top k eigenvectors' readings alone
    NAP              x without the top k eigenvectors of within         (Solomonoff, Campbell, Quillen 2007)
    RCA, WCCN        (within + r·v·I)^(-1/2) x                          (Bar-Hillel et al. 2005; Hatch, Kajarekar,
                                                                         Stolcke 2006)
    LDA              Wᵀx with between·W = (within + r·v·I)·W·Λ, groups as classes, the top q
    contrastive PCA  the top k eigenvectors of total - α·within         (Abid et al. 2018)
    LEACE            x - total^½ U Uᵀ total^(-½) (x - μ), U a basis of total^(-½)·between (Belrose et al. 2023)
    FOCUS            the paper's setting, the automatic one, the same shrunk and not cut (soft), a grid of fixed ones

v is the mean variance of the features. All of them are second-order methods: every one learns from the same `Moments`,
which are gathered once per task. What is removed orthogonally comes in the coordinates that `Focus` uses too, so that
an isolation forest, which depends on the basis, sees them alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import eigh, svd

from undistract import EvidenceWarning, Focus
from undistract._arrays import Floats, Rows
from undistract.algebra import Moments, Projection, Spectrum, select_directions
from undistract.algebra.projection import Complement
from undistract.errors import InputError

Setting = Mapping[str, Any]

COUNTS = (1, 2, 5, 10, 20, 50)
RIDGES = (1e-2, 0.1, 1.0, 10.0)
ALL = None  # as many as there are


@dataclass(frozen=True)
class Learned:
    """A map of rows (n, d) → (n, k), and how many directions it takes out."""

    change: Callable[[Rows], Rows]
    n_removed: int

    def __call__(self, X: Rows) -> Rows:
        return self.change(X)


@dataclass(frozen=True)
class Method:
    """One way to make rows fit for a detector, with all the settings it is tried at."""

    name: str
    learn: Callable[..., Learned | None]  # (moments, **setting); None where the setting makes no sense for them
    settings: tuple[Setting, ...] = ({},)
    only_hindsight: bool = False  # run only where all settings are reported

    def __call__(self, moments: Moments, setting: Setting) -> Learned | None:
        return self.learn(moments, **setting)


def words(setting: Setting) -> str:
    """Write a setting as in the table: ``ridge=0.1 cutoff=0.95``."""
    return " ".join(f"{name}={'all' if value is ALL else value}" for name, value in setting.items())


def raw(moments: Moments) -> Learned:
    return Learned(lambda X: X, 0)


def pca_drop_top(moments: Moments, k: int) -> Learned | None:
    return _without(_top(moments, "total"), k)


def pca_drop_bottom(moments: Moments, k: int) -> Learned | None:
    directions = _top(moments, "total")[1]
    return _readings(moments, directions[:, :k]) if k < directions.shape[1] else None


def nap(moments: Moments, k: int) -> Learned | None:
    return _without(_top(moments, "within"), k)


def rca(moments: Moments, ridge: float) -> Learned:
    """Whiten by what varies inside groups; WCCN is the same, without a ridge."""
    roots, directions = _whitening(moments, ridge)
    return Learned(lambda X: (X - moments.mean) @ (directions * roots) @ directions.T, 0)


def lda(moments: Moments, ridge: float, q: int | None) -> Learned | None:
    """Keep the directions that separate groups best, at unit variance within groups."""
    roots, directions = _whitening(moments, ridge)
    white = roots[:, None] * (directions.T @ _root_of_between(moments))  # (d, b), white·whiteᵀ = whitened between
    leading = svd(white, full_matrices=False, check_finite=False)[0]
    if q is not ALL and q >= leading.shape[1]:
        return None
    return _readings(moments, (directions * roots) @ leading[:, :q])


def contrastive_pca(moments: Moments, alpha: float, k: int | None) -> Learned | None:
    """Keep what varies over all rows more than α times as much as inside groups."""
    values, directions = _contrast(moments, alpha)
    n_positive = int((values > _floor(moments)).sum())
    keep = n_positive if k is ALL else k
    # `k` beyond the positive ones would keep directions with negative contrast.
    return None if keep > n_positive or keep == 0 else _readings(moments, directions[:, :keep])


def leace(moments: Moments, k: int | None) -> Learned | None:
    """Erase the differences between groups: the opposite of FOCUS, at the least change of the rows.

    M groups need M - 1 directions. If these are all directions, nothing would be left: then only the k that
    separate groups best are erased, and group means are equal in those alone.
    """
    variances, directions = _top(moments, "total")
    roots = np.sqrt(variances)
    white = (directions / roots).T @ _root_of_between(moments)  # (r, b) total^(-½)·F, between = F·Fᵀ
    leading = svd(white, full_matrices=False, check_finite=False)[0]
    n_erased = leading.shape[1] if k is ALL else k
    if n_erased >= len(roots) or (k is not ALL and k >= leading.shape[1]):
        return None
    filters = (directions / roots) @ leading[:, :n_erased]  # (d, k)
    patterns = (directions * roots) @ leading[:, :n_erased]  # (d, k)
    return Learned(lambda X: X - (X - moments.mean) @ filters @ patterns.T, n_erased)


def focus(moments: Moments, **parameters: Any) -> Learned | None:
    """FOCUS as a user would call it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        try:
            found = Focus(**parameters).fit_moments(moments)
        except InputError:  # removing everything is an error
            return None
    return Learned(found.transform, found.n_removed_)


def focus_fixed(moments: Moments, ridge: float, cutoff: float) -> Learned | None:
    """Do the same at a fixed setting; the settings of one ridge share their spectrum."""
    spectrum = _spectrum(moments, ridge)
    try:
        n_removed = select_directions(spectrum, cutoff=cutoff).n_removed
    except InputError:
        return None
    return Learned(Projection.of(spectrum, n_removed), n_removed)


def grid(**values: tuple[Any, ...]) -> tuple[Setting, ...]:
    """All combinations of some values, the last one changing fastest."""
    return tuple(dict(zip(values, one, strict=True)) for one in product(*values.values()))


ORACLE = "clean oracle"  # learns nothing: it is shown the rows without the distractor, where a test has them
RAW = Method("raw", raw)
AUTOMATIC = Method("FOCUS automatic", focus)
PAPER = Method("FOCUS paper", lambda moments: focus(moments, cutoff=0.999, ridge=1e-8))
SOFT = Method("FOCUS soft", lambda moments: focus(moments, removal="soft"))
FIXED = Method(
    "FOCUS fixed",
    focus_fixed,
    grid(ridge=(1e-2, 0.1, 1.0, 10.0), cutoff=(0.5, 0.8, 0.9, 0.95, 0.99)),
    only_hindsight=True,
)
METHODS = (
    RAW,
    Method("PCA drop-top", pca_drop_top, grid(k=COUNTS)),
    Method("PCA drop-bottom", pca_drop_bottom, grid(k=COUNTS)),
    Method("NAP", nap, grid(k=COUNTS)),
    Method("RCA", rca, grid(ridge=RIDGES)),
    Method("LDA", lda, grid(ridge=RIDGES, q=(10, ALL))),
    Method("contrastive PCA", contrastive_pca, grid(alpha=(1.0, 2.0, 10.0), k=(10, ALL))),
    Method("LEACE", leace, grid(k=(1, 5, ALL))),
    PAPER,
    AUTOMATIC,
    SOFT,
    FIXED,
)


# One task after another: a few results of the last moments are all that is worth keeping.
@lru_cache(maxsize=3)
def _matrix(moments: Moments, which: str) -> Floats:
    if which == "total":
        return _matrix(moments, "within") + _matrix(moments, "between")
    matrix: Floats = getattr(moments, which)
    return matrix


@lru_cache(maxsize=3)
def _eigen(moments: Moments, which: str) -> tuple[Floats, Floats]:
    """Eigenvalues, largest first, and eigenvectors of within, between or total."""
    return _descending(_matrix(moments, which))


@lru_cache(maxsize=1)
def _contrast(moments: Moments, alpha: float) -> tuple[Floats, Floats]:
    return _descending(_matrix(moments, "total") - alpha * _matrix(moments, "within"))


@lru_cache(maxsize=1)
def _spectrum(moments: Moments, ridge: float) -> Spectrum:
    return Spectrum.of(moments, ridge=ridge)


def _descending(matrix: Floats) -> tuple[Floats, Floats]:
    values, vectors = eigh(matrix, driver="evd", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def _floor(moments: Moments) -> float:
    """Variance below this is rounding."""
    return float(10 * np.finfo(np.float64).eps * np.trace(_matrix(moments, "total")))


def _top(moments: Moments, which: str) -> tuple[Floats, Floats]:
    """Give the eigenvalues that are not zero, largest first, and their vectors."""
    values, vectors = _eigen(moments, which)
    rank = int((values > _floor(moments)).sum())
    return values[:rank], vectors[:, :rank]


def _root_of_between(moments: Moments) -> Floats:
    """F with F·Fᵀ = between, (d, b), b at most M - 1."""
    values, vectors = _top(moments, "between")
    return vectors * np.sqrt(values)


def _whitening(moments: Moments, ridge: float) -> tuple[Floats, Floats]:
    """(within + ridge·v·I)^(-1/2) as eigenvalues (d,) and eigenvectors (d, d)."""
    values, vectors = _eigen(moments, "within")
    mean_variance = float(np.trace(_matrix(moments, "total"))) / moments.n_features
    return 1 / np.sqrt(np.maximum(values, 0) + ridge * mean_variance), vectors


def _without(top: tuple[Floats, Floats], k: int) -> Learned | None:
    """Take the first k eigenvectors out, orthogonally."""
    directions = top[1]
    return Learned(Complement.of(directions[:, :k]).coordinates, k) if k < directions.shape[1] else None


def _readings(moments: Moments, filters: Floats) -> Learned:
    """Read some filters (d, k) and nothing else."""
    mean = moments.mean
    return Learned(lambda X: (X - mean) @ filters, moments.n_features - filters.shape[1])
