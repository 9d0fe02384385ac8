"""The methods: training rows and their groups → a map of rows.

Each is a `Method` in `METHODS`, with the settings it is tried at: one more entry is one more column of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.nonlinear import kernel
from benchmarks.quality import methods as linear
from benchmarks.quality.methods import Learned, Setting, grid
from benchmarks.quality.trials import Ints, Rows
from undistract import Moments


@dataclass(frozen=True)
class Method:
    """One way to make rows fit for a detector, with all the settings it is tried at."""

    name: str
    learn: Callable[..., Learned | None]  # (rows, groups, seed, **setting); None where the setting makes no sense
    settings: tuple[Setting, ...] = ({},)

    def __call__(self, rows: Rows, groups: Ints, seed: int, setting: Setting) -> Learned | None:
        return self.learn(rows, groups, seed, **setting)


def on_moments(learn: Callable[..., Learned | None]) -> Callable[..., Learned | None]:
    """Let a linear method of the quality benchmark learn from rows."""

    def from_rows(rows: Rows, groups: Ints, seed: int, **setting: Any) -> Learned | None:
        moments = Moments.of([(one, rows[groups == one]) for one in np.unique(groups)])
        return learn(moments, **setting)

    return from_rows


METHODS: list[Method] = [
    Method("raw", on_moments(linear.raw)),
    Method("linear", on_moments(linear.focus)),
    Method(
        "linear fixed",
        on_moments(linear.focus_fixed),
        grid(ridge=(1e-2, 0.1, 1.0), cutoff=(0.5, 0.8, 0.9, 0.95, 0.99)),
    ),
    Method("NAP", on_moments(linear.nap), grid(k=linear.COUNTS)),
    Method("RCA", on_moments(linear.rca), grid(ridge=linear.RIDGES)),
    Method("LDA", on_moments(linear.lda), grid(ridge=linear.RIDGES, q=(10, linear.ALL))),
    Method("kernel", kernel.by_default),
    Method("kernel Nyström", partial(kernel.by_default, approx="nystroem")),
    Method("kernel Fourier", partial(kernel.by_default, approx="fourier")),
    Method("kernel chosen", kernel.chosen, kernel.SETTINGS),
]
