"""`network` runs ONNX image models with declared preprocessing; models that are not self-contained are rejected."""

import numpy as np
import pytest

from tests.clips import dots
from undistract import InputError
from undistract.features import Network, make_extractor

onnx = pytest.importorskip("onnx", reason='needs onnx: pip install "undistract[onnx]"')
pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install "undistract[onnx]"')


def save(path, nodes, shape, *, weights=(), domain=None, outputs=("y",)):
    """Write a model with one input x of `shape`."""
    helper = onnx.helper
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "model",
        [value("x", onnx.TensorProto.FLOAT, shape)],
        [value(name, onnx.TensorProto.FLOAT, None) for name in outputs],
        list(weights),
    )
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    return path


@pytest.fixture
def model(tmp_path):
    """A convolution of five channels, (n, 3, 8, 12) in, (n, 5, 6, 10) out."""
    kernel = np.random.default_rng(0).normal(size=(5, 3, 3, 3)).astype(np.float32)
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"])
    return save(tmp_path / "five.onnx", [node], ["n", 3, 8, 12], weights=[onnx.numpy_helper.from_array(kernel, "w")])


def test_spatial_axes_are_averaged(model):
    extract = make_extractor(f"network(path={model},size=12x8)")
    rows = extract(dots(20))
    assert rows.shape == (20, 5)
    assert rows.dtype == np.float32
    assert extract.feature_names == tuple(f"network {number}" for number in range(5))
    assert not extract.grey
    assert np.ptp(rows, axis=0).min() > 0


@pytest.mark.parametrize("batch", [1, 3, 20, 64])
def test_batch_size_does_not_change_rows(model, batch):
    rows = Network(str(model), size=(12, 8), batch=batch)(dots(20))
    # Another batch may be summed in another order: float32 rounding.
    np.testing.assert_allclose(rows, Network(str(model), size=(12, 8))(dots(20)), rtol=1e-4, atol=1e-5)


def test_frames_are_prepared_as_declared(tmp_path):
    passed_on = save(tmp_path / "same.onnx", [onnx.helper.make_node("Identity", ["x"], ["y"])], ["n", 3, 1, 1])
    frames = np.zeros((1, 4, 4, 3), np.uint8)
    frames[...] = (255, 51, 0)
    settings = {"size": (1, 1), "mean": (0.5, 0.1, 0.0), "std": (0.5, 1.0, 1.0)}
    np.testing.assert_allclose(Network(str(passed_on), **settings)(frames), [[1, 0.1, 0]], atol=1e-6)
    turned = Network(str(passed_on), **settings, colour="bgr")(frames)
    np.testing.assert_allclose(turned, [[0, 0.1, 1]], atol=1e-6)
    last = save(tmp_path / "last.onnx", [onnx.helper.make_node("Identity", ["x"], ["y"])], ["n", 1, 1, 3])
    np.testing.assert_allclose(Network(str(last), **settings, layout="nhwc")(frames), [[1, 0.1, 0]], atol=1e-6)
    np.testing.assert_allclose(Network(str(passed_on), **settings)(frames[..., 0]), [[1, 0.9, 1]], atol=1e-6)


def test_fixed_batch_size_is_used(tmp_path):
    two = save(tmp_path / "two.onnx", [onnx.helper.make_node("GlobalAveragePool", ["x"], ["y"])], [2, 3, 8, 12])
    assert Network(str(two), size=(12, 8))(dots(5)).shape == (5, 3)


def test_fingerprint_depends_on_file_content(model):
    extract = Network(str(model), size=(12, 8))
    before, rows = extract.fingerprint, extract(dots(3))
    kernel = np.ones((5, 3, 3, 3), dtype=np.float32)
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"])
    save(model, [node], ["n", 3, 8, 12], weights=[onnx.numpy_helper.from_array(kernel, "w")])
    assert extract.fingerprint != before
    assert not np.allclose(extract(dots(3)), rows)


def test_model_file_is_hashed_once(model, monkeypatch):
    """Regression: it was hashed for every chunk of a clip."""
    extract = Network(str(model), size=(12, 8))
    rows = extract(dots(3))
    monkeypatch.setattr("hashlib.file_digest", None)
    np.testing.assert_array_equal(extract(dots(3)), rows)


def test_external_weights_are_rejected(tmp_path):
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[3])
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="secret.bin")
    (tmp_path / "secret.bin").write_bytes(b"\0" * 12)
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    path = save(tmp_path / "outside.onnx", [node], ["n", 3, 4, 3], weights=[weight])
    with pytest.raises(InputError, match="weights in other files"):
        Network(str(path), size=(3, 4))(dots(1))


def test_custom_operators_are_rejected(tmp_path):
    node = onnx.helper.make_node("Open", ["x"], ["y"], domain="evil")
    with pytest.raises(InputError, match="operators of evil"):
        Network(str(save(tmp_path / "evil.onnx", [node], ["n", 3, 4, 4], domain="evil")))(dots(1))


def test_invalid_models_raise_helpful_errors(tmp_path, model):
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(InputError, match="is not an ONNX model"):
        Network(str(tmp_path / "text.onnx"))(dots(1))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        Network(str(tmp_path / "none.onnx"))(dots(1))
    with pytest.raises(InputError, match=r"cannot be run on nchw images of 9 x 9; it expects .*\['n', 3, 8, 12\]"):
        Network(str(model), size=(9, 9))(dots(1))
    with pytest.raises(InputError, match="the outputs y; expected one input of images, and an output 'z'"):
        Network(str(model), size=(12, 8), output="z")(dots(1))
    with pytest.raises(InputError, match="layout must be nchw or nhwc"):
        Network("a.onnx", layout="chw")


def test_output_must_be_finite(tmp_path):
    path = save(tmp_path / "log.onnx", [onnx.helper.make_node("Log", ["x"], ["y"])], ["n", 3, 2, 2])
    with pytest.raises(InputError, match="not finite"):
        Network(str(path), size=(2, 2))(dots(1))
