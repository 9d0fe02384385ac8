"""Export `Focus.transform` as an ONNX model, for programs without Python.

Z = [X F, X[:, K] - ((X - μ) R) S]          the thin products of every removal, see `Projection.low_rank`
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from undistract._io import atomic_write
from undistract._optional import import_optional
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.version import __version__

# Supported by runtimes since 2020; no newer operator is needed.
OPSET = 13
IR_VERSION = 7


def export_onnx(focus: Focus, path: str | os.PathLike[str], *, dtype: str = "float32") -> Path:
    """Write the projection of a fitted `Focus` as an ONNX model: rows ``X`` (n, d) in, projected rows ``Z`` out.

    Needs the extra ``onnx``. The model is for other programs; to load it in Python again use `save` and `load`.

    Parameters
    ----------
    focus : Focus
    path : str or path
    dtype : {"float32", "float64"}, default="float32"
        Type of the input and output rows.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Focus, export_onnx
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 9, 1]
    >>> focus = Focus(n_remove=1).fit(X, groups=np.repeat([0, 1, 2, 3, 4, 5], 10))
    >>> export_onnx(focus, "street.onnx", dtype="int8")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: dtype is 'int8'; expected 'float32' or 'float64'.
    """
    if not isinstance(focus, Focus):
        raise InputError(f"export_onnx got a {type(focus).__name__}; expected a fitted Focus.")
    check_is_fitted(focus)
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype is {dtype!r}; expected 'float32' or 'float64'.")
    onnx = import_optional("onnx", extra="onnx", to="Writing ONNX models")
    projection = focus.projection_
    thin = projection.low_rank()
    graph = _Graph(onnx, np.dtype(dtype))
    parts = []
    if thin.filters.shape[1]:
        parts.append(graph.add("MatMul", "X", graph.constant("filters", thin.filters)))
    if len(thin.features):
        rows = "X"
        if len(thin.features) < focus.n_features_in_:
            rows = graph.add("Gather", "X", graph.constant("features", thin.features), axis=1)
        if thin.reading.shape[1]:
            centered = "X"
            if thin.origin.any():
                centered = graph.add("Sub", "X", graph.constant("origin", thin.origin))
            readings = graph.add("MatMul", centered, graph.constant("reading", thin.reading))
            removed = graph.add("MatMul", readings, graph.constant("spread", thin.spread))
            rows = graph.add("Sub", rows, removed)
        parts.append(rows)
    graph.add("Concat", *parts, to="Z", axis=1)
    return atomic_write(path, graph.model(focus.n_features_in_, projection.n_out).SerializeToString())


class _Graph:
    """Collects the nodes and constants of a graph."""

    def __init__(self, onnx: Any, dtype: np.dtype[Any]) -> None:
        self._onnx = onnx
        self._dtype = dtype
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, values: Any) -> str:
        dtype = self._dtype
        if values.dtype.kind == "i":  # indices for Gather
            dtype = np.dtype(np.int64)
        values = np.ascontiguousarray(values, dtype=dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(values, name))
        return name

    def add(self, operation: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        to = to or f"step{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, [to], **attributes))
        return to

    def model(self, n_features: int, n_out: int) -> Any:
        """Return the checked model."""
        helper = self._onnx.helper
        element = helper.np_dtype_to_tensor_dtype(self._dtype)
        graph = helper.make_graph(
            self._nodes,
            "focus",
            [helper.make_tensor_value_info("X", element, ["rows", n_features])],
            [helper.make_tensor_value_info("Z", element, ["rows", n_out])],
            self._constants,
        )
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(
            graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="undistract", producer_version=__version__
        )
        self._onnx.checker.check_model(model, full_check=True)
        return model
