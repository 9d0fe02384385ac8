"""A short run of the loader campaign, in a worker; `tests/sources/test_damaged_files.py` has the other types."""

import pytest

pytest.importorskip("resource", reason="memory limits need a POSIX system")


@pytest.mark.parametrize("kind", ["t.npz", "t.onnx"])
def test_mutated_files_are_read_or_rejected(kind):
    from tests.campaigns.loaders import campaign

    if kind == "t.onnx":
        for needed in ("onnx", "onnxruntime"):
            pytest.importorskip(needed, reason='needs onnxruntime: pip install "undistract[onnx]"')
    outcomes = campaign(30, seed=1, kinds=[kind])[kind]
    assert set(outcomes) <= {"read", "refused"}
    assert outcomes["refused"] >= 10
    assert sum(outcomes.values()) == 30


def test_damaged_network_prints_nothing_to_stdout(tmp_path, capsys):
    """Regression: onnxruntime printed a retry message to stdout."""
    for needed in ("onnx", "onnxruntime"):
        pytest.importorskip(needed, reason='needs onnxruntime: pip install "undistract[onnx]"')
    import numpy as np

    from tests.campaigns.loaders import damaged, network, read
    from undistract.errors import InputError

    network(tmp_path / "t.onnx")
    original = (tmp_path / "t.onnx").read_bytes()
    (tmp_path / "t.onnx").write_bytes(damaged(original, np.random.default_rng([0, 120])))
    with pytest.raises(InputError):
        read(str(tmp_path / "t.onnx"))
    assert capsys.readouterr().out == ""
