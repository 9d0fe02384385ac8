"""A slice of the campaign of native loaders, in a worker; `tests/sets/test_damaged_files.py` has the other kinds."""

import pytest

pytest.importorskip("resource", reason="limits of memory need a POSIX system")


@pytest.mark.parametrize("kind", ["t.npz", "t.onnx"])
def test_mutated_files_are_read_or_refused_and_kill_nobody(kind):
    from tests.campaigns.loaders import campaign

    if kind == "t.onnx":
        for needed in ("onnx", "onnxruntime"):
            pytest.importorskip(needed, reason='needs onnxruntime: pip install "undistract[onnx]"')
    outcomes = campaign(30, seed=1, kinds=[kind])[kind]
    assert set(outcomes) <= {"read", "refused"}
    assert outcomes["refused"] >= 10
    assert sum(outcomes.values()) == 30


def test_a_damaged_network_is_refused_without_a_word_on_stdout(tmp_path, capsys):
    """onnxruntime printed that it would try again, into whatever a command was writing."""
    for needed in ("onnx", "onnxruntime"):
        pytest.importorskip(needed, reason='needs onnxruntime: pip install "undistract[onnx]"')
    import numpy as np

    from tests.campaigns.loaders import damaged, network, read
    from undistract.errors import InputError

    network(tmp_path / "t.onnx")
    whole = (tmp_path / "t.onnx").read_bytes()
    (tmp_path / "t.onnx").write_bytes(damaged(whole, np.random.default_rng([0, 120])))
    with pytest.raises(InputError):
        read(str(tmp_path / "t.onnx"))
    assert capsys.readouterr().out == ""
