"""Steps after the fit: rows transformed against the plain product, and what one answer of a person costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.speed.cases import Case, sample
from benchmarks.speed.clock import time_interleaved
from benchmarks.speed.results import Result, result
from undistract import Focus, Moments
from undistract.algebra import Feedback

# Rows to learn from and to transform, d, groups; and the same sizes for one answer.
TRANSFORMS = (Case("T784", 20_000, 784, 200), Case("T2048", 20_000, 2048, 200))
SMALL, HALF = 1 / 20, 1 / 2


def transforms(case: Case, rounds: int) -> Iterator[Result]:
    """Time `transform` against X @ components.T, with few and with half of the directions removed."""
    data = sample(case)
    moments = Moments.from_labels(data.X, data.labels)
    for share in (SMALL, HALF):
        focus = _fitted(moments, n_remove=max(1, round(share * case.n_features)))
        for kind in (np.float64, np.float32):
            X, components = data.X.astype(kind), focus.components_.astype(kind)
            times = time_interleaved(_products(focus, X, components), rounds)
            gemm = times["gemm"].seconds
            for name, (seconds, n_rounds) in times.items():
                title = f"{name}, {np.dtype(kind).name}, {focus.n_removed_} removed"
                yield result("transform", case, title, seconds=seconds, to_floor=seconds / gemm, rounds=n_rounds)


def updates(case: Case, rounds: int) -> Iterator[Result]:
    """Time what one answer costs against a new fit of all rows."""
    data = sample(case)
    focus = _quietly(lambda: Focus().fit(data.X, groups=data.labels))
    one = Feedback(3 * data.distractors[:1])
    more = Moments.of({"one more set": data.X[: case.n_rows // case.n_groups]})
    runs: dict[str, Callable[[], Any]] = {
        "fit of all rows": lambda: Focus().fit(data.X, groups=data.labels),
        "Focus.with_feedback": lambda: focus.with_feedback(one),
        "moments + one group": lambda: focus.moments_ + more,
        "moments + one group, learned": lambda: Focus().fit_moments(focus.moments_ + more),
    }
    times = _quietly(lambda: time_interleaved(runs, rounds))
    whole = times["fit of all rows"].seconds
    for name, (seconds, n_rounds) in times.items():
        yield result("update", case, name, seconds=seconds, to_floor=seconds / whole, rounds=n_rounds)


def _products(focus: Focus, X: Any, components: Any) -> dict[str, Callable[[], Any]]:
    return {
        "gemm": lambda: X @ components.T,
        "transform": lambda: focus.transform(X),
        "projection": lambda: focus.projection_(X),  # without the checks of the input
    }


def _fitted(moments: Moments, n_remove: int) -> Focus:
    return _quietly(lambda: Focus(n_remove=n_remove).fit_moments(moments))


def _quietly(run: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few groups for so many features: true, but irrelevant here
        return run()
