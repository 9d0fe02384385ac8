"""The projection as an ONNX model gives what `Focus.transform` gives."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from undistract import Focus, InputError, export_onnx

from .things import DAYS, focus, rows

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")

# A product of 130 numbers rounds by a few units in the last place, and the runtime sums in another order.
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
@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique", "soft"])
@pytest.mark.parametrize("n_remove", [0, 2])
@pytest.mark.parametrize("n_features", [5, 130])
def test_the_runtime_projects_as_focus_does(run, n_features, n_remove, removal, dtype):
    X = rows(n_features).astype(dtype)
    learned = Focus(n_remove=n_remove, removal=removal).fit(X[:60], sets=DAYS[:60])
    expected = learned.transform(X)
    found = run(learned, X)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < ROUNDING[dtype] * np.abs(X).max()


def test_one_row_is_enough(run):
    learned = focus()
    assert run(learned, rows()[:1]).shape == (1, 4)


def test_what_cannot_be_exported_is_said(tmp_path):
    with pytest.raises(InputError, match="expected a fitted Focus"):
        export_onnx("focus", tmp_path / "x")
    with pytest.raises(NotFittedError):
        export_onnx(Focus(), tmp_path / "x")
    with pytest.raises(InputError, match="expected 'float32' or 'float64'"):
        export_onnx(focus(), tmp_path / "x", dtype="float16")
