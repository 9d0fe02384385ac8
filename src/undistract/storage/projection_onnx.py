"""The projection as an ONNX model: what `Focus.transform` does, for programs without Python.

kept span   Z = X[:, K] - (X R) S             eigen   Z = [X W, X[:, K] - (X R) S]
oblique     Z = X - ((X - μ) W_r) A_rᵀ          soft    Z = X - ((X - μ) (U - U/g)) Uᵀ
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from undistract.algebra.complement import Complement
from undistract.algebra.projection import Eigen, KeptSpan, Oblique, Soft
from undistract.errors import InputError
from undistract.extras import need
from undistract.files import write_whole
from undistract.focus import Focus
from undistract.version import __version__

# Old enough for runtimes of 2020; nothing newer is needed.
OPSET = 13
IR_VERSION = 7


def export_onnx(focus: Focus, path: str | os.PathLike[str], *, dtype: str = "float32") -> Path:
    """Write the projection of a fitted `Focus` as an ONNX model: rows ``X`` (n, d) in, projected rows ``Z`` out.

    Needs the extra ``onnx``. The model is for other programs; to load it here again use `save` and `load`.

    Parameters
    ----------
    focus : Focus
    path : str or path
    dtype : {"float32", "float64"}, default="float32"
        Of the rows it takes and gives.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Focus, export_onnx
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 9, 1]
    >>> focus = Focus(n_remove=1).fit(X, sets=np.repeat([0, 1, 2, 3, 4, 5], 10))
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
    onnx = need("onnx", extra="onnx", to="Writing ONNX models")
    graph = _Graph(onnx, np.dtype(dtype))
    projection = focus.projection_
    if isinstance(projection, KeptSpan):
        graph.complement(projection.complement, "Z")
    elif isinstance(projection, Oblique):
        moved = graph.add("Sub", "X", graph.constant("origin", projection.origin))
        graph.take_out("X", moved, projection.filters, projection.patterns.T, "Z")
    elif isinstance(projection, Soft):
        axes, stretch = projection.filter.directions, projection.filter.stretch
        moved = graph.add("Sub", "X", graph.constant("origin", projection.origin))
        graph.take_out("X", moved, axes * (1 - 1 / stretch), axes.T, "Z")
    elif isinstance(projection, Eigen):
        rest = len(projection.rest.features) > 0
        read = graph.add("MatMul", "X", graph.constant("filters", projection.kept_filters), to=None if rest else "Z")
        if rest:
            graph.add("Concat", read, graph.complement(projection.rest, "rest"), to="Z", axis=1)
    return write_whole(path, graph.model(focus.n_features_in_, projection.n_out).SerializeToString())


class _Graph:
    """Nodes and constants, collected one by one."""

    def __init__(self, onnx: Any, dtype: np.dtype[Any]) -> None:
        self._onnx, self._dtype = onnx, dtype
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, values: Any) -> str:
        values = np.ascontiguousarray(values, dtype=np.int64 if values.dtype.kind == "i" else self._dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(values, name))
        return name

    def add(self, operation: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        to = to or f"step{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, [to], **attributes))
        return to

    def complement(self, complement: Complement, to: str) -> str:
        """Coordinates of a complement: the features it belongs to, less what the columns move in them."""
        features = self.constant("features", complement.features)
        if complement.reading.shape[1] == 0:
            return self.add("Gather", "X", features, to=to, axis=1)
        kept = self.add("Gather", "X", features, axis=1)
        return self.take_out(kept, "X", complement.reading, complement.spread, to)

    def take_out(self, rows: str, read: str, reading: Any, spread: Any, to: str) -> str:
        """Give rows - (read · reading) · spread."""
        readings = self.add("MatMul", read, self.constant("reading", reading))
        moved = self.add("MatMul", readings, self.constant("spread", spread))
        return self.add("Sub", rows, moved, to=to)

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
