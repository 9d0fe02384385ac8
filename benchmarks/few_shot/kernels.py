"""The same methods in the space of a kernel: rows are given coordinates there, and all else stays as it is.

    polynomial    (1 + x·y/v)³
    Gaussian      exp(-‖x - y‖²/v)

x and y from the mean of what teaches, v their mean squared length. The coordinates are all those of kernel PCA.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.decomposition import KernelPCA

from benchmarks.few_shot.methods import NAMES, focus_likelihood
from benchmarks.few_shot.tasks import Task
from benchmarks.quality.methods import ALL, Method, grid, lda

KERNELS = ("polynomial", "Gaussian")
KERNEL_LIKELY, KERNEL_LDA = "kernel FOCUS likelihood", "kernel LDA"
KERNEL_METHODS = (
    Method(KERNEL_LIKELY, focus_likelihood, grid(cushion=(3e-4, 1e-3, 1e-2), ridge=(0.1, 0.3, 1.0))),
    Method(KERNEL_LDA, lda, grid(ridge=(0.1, 0.3, 1.0), q=(ALL,))),
)
ALL_NAMES = [*NAMES, *(method.name for method in KERNEL_METHODS)]


def in_kernel_space(task: Task, kernel: str) -> Task:
    """Give the rows of a task coordinates in the space of a kernel that is fitted to what teaches."""
    rows = np.concatenate(list(task.taught.values())).astype(np.float64)
    middle = rows.mean(axis=0)
    gamma = 1 / float(((rows - middle) ** 2).sum(axis=1).mean())
    space = KernelPCA(
        kernel="poly" if kernel == "polynomial" else "rbf", gamma=gamma, degree=3, coef0=1, eigen_solver="dense"
    ).fit(rows - middle)
    taught, classes = (
        {name: space.transform(some - middle) for name, some in sets.items()} for sets in (task.taught, task.classes)
    )
    return replace(task, taught=taught, classes=classes, redraw=None)
