"""`KernelFocus` as a record of a file: the rows that span, a basis, and the `Focus` behind; never a function."""

from __future__ import annotations

from typing import Any

from sklearn.metrics.pairwise import KERNEL_PARAMS

from undistract.focus import Focus
from undistract.kernel.estimator import KernelFocus
from undistract.kernel.kernels import NAMES, PRECOMPUTED, SHIFTABLE, Kernel
from undistract.kernel.maps import FourierMap, SpanMap
from undistract.storage.checks import Sizes, array, expect, number, optional, part, word
from undistract.storage.records import Estimator, Record


def _parameters(value: Any, where: str, sizes: Sizes) -> None:
    expect(isinstance(value, dict), f"{where} are no named numbers")
    for one in value.values():
        number()(one, where, sizes)


def _truth(value: Any, where: str, sizes: Sizes) -> None:
    expect(isinstance(value, bool), f"{where} is neither true nor false")


def _kernel_agrees(kernel: Kernel) -> None:
    wanted = set() if kernel.name == PRECOMPUTED else KERNEL_PARAMS[kernel.name]
    expect(set(kernel.parameters) == set(wanted), f"{kernel.name} has the parameters {sorted(kernel.parameters)}")
    expect(
        (kernel.origin is not None) == (kernel.name in SHIFTABLE), f"the origin of {kernel.name} is not as it must be"
    )


def _span_agrees(span: SpanMap) -> None:
    computed = span.kernel.name == PRECOMPUTED
    expect((span.rows.shape[1] == 0) == computed, "its rows are not those of its kernel")
    expect(not (computed and span.news), "a precomputed kernel knows of no news")
    expect(span.basis.size > 0, "nothing is spanned")
    origin = span.kernel.origin
    expect(origin is None or len(origin) == span.rows.shape[1], "its origin is about other features")


def _fourier_agrees(waves: FourierMap) -> None:
    expect(waves.kernel.name == "rbf" and waves.frequencies.size > 0, "its waves are of no kernel")
    assert waves.kernel.origin is not None
    expect(len(waves.kernel.origin) == len(waves.frequencies), "its origin is about other features")


def _agrees(focus: KernelFocus) -> None:
    mapped = focus.map_
    if isinstance(mapped, FourierMap):
        n_features = len(mapped.frequencies)
    else:
        n_features = len(mapped.basis) if mapped.kernel.name == PRECOMPUTED else mapped.rows.shape[1]
    expect(n_features == focus.n_features_in_, "its map is about other features")
    expect(hasattr(focus.focus_, "growing_"), "it learned nothing")
    expect(focus.focus_.n_features_in_ == mapped.n_out, "it learned about other coordinates than those of its map")


RECORDS: dict[str, Record] = {
    "Kernel": Record(
        Kernel, {"name": word(*NAMES), "parameters": _parameters, "origin": optional(array("d"))}, _kernel_agrees
    ),
    "SpanMap": Record(
        SpanMap,
        {
            "kernel": part(Kernel),
            "rows": array("m", "d"),
            "basis": array("m", "r"),
            "floor": number(0),
            "news": _truth,
        },
        _span_agrees,
    ),
    "FourierMap": Record(FourierMap, {"kernel": part(Kernel), "frequencies": array("d", "w")}, _fourier_agrees),
    "KernelFocus": Estimator(
        KernelFocus,
        {"map": part(SpanMap, FourierMap), "focus": part(Focus)},
        _agrees,
        public=True,
        attributes={"map": "map_", "focus": "focus_"},
    ),
}
