"""The exported ONNX model gives the same output as `Focus.transform`."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from undistract import Focus, InputError, export_onnx

from .things import DAYS, focus, rows

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")

# A product of 130 numbers rounds by a few units in the last place, and onnxruntime adds in another order.
ROUNDING = {"float64": 1e-13, "float32": 1e-5}


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("onnx", reason='needs onnx: pip install "undistract[onnx]"')
    runtime = pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install "undistract[onnx]"')

    def run(learned, X):
        path = export_onnx(learned, tmp_path / "focus.onnx", dtype=str(X.dtype))
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(["Z"], {"X": X})[0]

    return run


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique", "soft"])
@pytest.mark.parametrize("n_remove", [0, 2])
@pytest.mark.parametrize("n_features", [5, 130])
def test_onnxruntime_matches_transform(run, n_features, n_remove, removal, dtype):
    X = rows(n_features).astype(dtype)
    learned = Focus(n_remove=n_remove, removal=removal).fit(X[:60], groups=DAYS[:60])
    expected = learned.transform(X)
    actual = run(learned, X)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() < ROUNDING[dtype] * np.abs(X).max()


def test_single_row(run):
    learned = focus()
    assert run(learned, rows()[:1]).shape == (1, 4)


def test_invalid_export_raises(tmp_path):
    with pytest.raises(InputError, match="expected a fitted Focus"):
        export_onnx("focus", tmp_path / "x")
    with pytest.raises(NotFittedError):
        export_onnx(Focus(), tmp_path / "x")
    with pytest.raises(InputError, match="expected 'float32' or 'float64'"):
        export_onnx(focus(), tmp_path / "x", dtype="float16")
