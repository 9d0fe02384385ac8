"""The same methods in the space of a kernel: rows are given coordinates there, and all else stays as it is.

    polynomial      (1 + x·y/v)³
    Gaussian        exp(-‖x - y‖²/v)
    FOCUS product   kept(x)·kept(y)/v · exp(-‖told(x) - told(y)‖²)

x and y from the mean of what teaches, v their mean squared length. *told* are the three most distracting readings, at
mean squared length one, *kept* is what plain FOCUS leaves without them: what describes counts as far as what distracts
is alike, such as two faces under like light. NAP product is its control, with the top three eigenvectors of `within`.
The coordinates are all those of kernel PCA.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.few_shot.methods import NAMES, focus_likelihood
from benchmarks.few_shot.tasks import Task
from benchmarks.quality.methods import ALL, Method, _top, grid, lda
from undistract._arrays import Floats, Rows
from undistract.algebra import Moments, Spectrum
from undistract.algebra.projection import Complement

KERNELS = ("polynomial", "Gaussian", "FOCUS product", "NAP product")
KERNEL_LIKELY, KERNEL_LDA = "kernel FOCUS likelihood", "kernel LDA"
PRODUCT_LIKELY, PRODUCT_LDA, PRODUCT_NAP = "FOCUS product likelihood", "FOCUS product LDA", "NAP product likelihood"
N_TOLD = 3
_LIKELY = grid(between_ridge=(3e-4, 1e-3, 1e-2), ridge=(0.1, 0.3, 1.0))
_LDA = grid(ridge=(0.1, 0.3, 1.0), q=(ALL,))
_GENERAL = (Method(KERNEL_LIKELY, focus_likelihood, _LIKELY), Method(KERNEL_LDA, lda, _LDA))
KERNEL_METHODS: dict[str, tuple[Method, ...]] = {
    "polynomial": _GENERAL,
    "Gaussian": _GENERAL,
    "FOCUS product": (Method(PRODUCT_LIKELY, focus_likelihood, _LIKELY), Method(PRODUCT_LDA, lda, _LDA)),
    "NAP product": (Method(PRODUCT_NAP, focus_likelihood, _LIKELY),),
}
ALL_NAMES = list(dict.fromkeys([*NAMES, *(one.name for some in KERNEL_METHODS.values() for one in some)]))

Products = Callable[[Rows, Rows], Floats]  # (n, d), (m, d) → (n, m)


def in_kernel_space(task: Task, kernel: str) -> Task:
    """Give the rows of a task coordinates in the space of a kernel that is fitted to what teaches."""
    rows = np.concatenate(list(task.taught.values())).astype(np.float64)
    middle = rows.mean(axis=0)
    rows -= middle
    products = _products(task, rows, kernel)
    space = KernelPCA(kernel="precomputed", eigen_solver="dense").fit(products(rows, rows))
    taught, classes = (
        {name: space.transform(products(some - middle, rows)) for name, some in groups.items()}
        for groups in (task.taught, task.classes)
    )
    return replace(task, taught=taught, classes=classes, redraw=None)


def _products(task: Task, rows: Floats, kernel: str) -> Products:
    gamma = 1 / float((rows**2).sum(axis=1).mean())
    if kernel == "polynomial":
        return lambda X, Y: (1 + gamma * X @ Y.T) ** 3
    if kernel == "Gaussian":
        return lambda X, Y: rbf_kernel(X, Y, gamma=gamma)
    moments = Moments.of(task.taught)
    if kernel == "FOCUS product":
        spectrum = Spectrum.of(moments)
        filters, patterns = spectrum.filters[:, :N_TOLD], spectrum.patterns[:, :N_TOLD]
    else:
        values, vectors = _top(moments, "within")
        filters, patterns = vectors[:, :N_TOLD] / np.sqrt(values[:N_TOLD]), vectors[:, :N_TOLD]
    kept = Complement.of(patterns).coordinates
    filters = filters / np.sqrt(((rows @ filters) ** 2).sum(axis=1).mean())
    size = float((kept(rows) ** 2).sum(axis=1).mean())
    return lambda X, Y: kept(X) @ kept(Y).T / size * rbf_kernel(X @ filters, Y @ filters, gamma=1.0)
