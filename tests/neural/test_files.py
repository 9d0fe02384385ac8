"""A neural model as a file: without PyTorch it loads and describes itself; a forged one is refused."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")

from undistract import FileError, InputError, NeuralFocus, NoSetsWarning, load, save  # noqa: E402

DAYS = np.repeat(np.arange(8), 10)


@pytest.fixture
def focus():
    X = np.random.default_rng(0).normal(size=(80, 4)) + DAYS[:, None]
    return NeuralFocus(n_components=2, n_hidden=16, epochs=2, random_state=0).fit(X, sets=DAYS)


def test_one_that_saw_no_sets_comes_back(tmp_path):
    X = np.ones((5, 3))
    with pytest.warns(NoSetsWarning):
        focus = NeuralFocus().fit(X)
    assert np.array_equal(load(save(focus, tmp_path / "none")).transform(X), X)


def test_it_loads_without_torch_and_says_what_transform_needs(focus, tmp_path):
    path = save(focus, tmp_path / "encoder")
    code = (
        "import sys, undistract; focus = undistract.load(sys.argv[1]); sys.modules['torch'] = None\n"
        "print(focus.describe().splitlines()[0])\n"
        "try: focus.transform([[0.0] * 4])\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True).stdout.splitlines()
    assert told[0] == "Learned from 8 sets with 80 rows of 4 features (mlp)."
    assert told[1] == 'A neural FOCUS needs torch: pip install "undistract[torch]"'


@pytest.mark.parametrize(
    "harm",
    [
        lambda focus: focus.weights_.pop("decoder.0.bias"),
        lambda focus: focus.weights_.update({"more": np.ones(3, np.float32)}),
        lambda focus: focus.weights_.update({"decoder.0.bias": np.ones(17, np.float32)}),
        lambda focus: focus.weights_.update({"decoder.0.bias": np.full(16, np.nan, np.float32)}),
        lambda focus: focus.weights_.update({"decoder.0.bias": np.ones(16)}),
        lambda focus: setattr(focus, "components_", np.eye(3)),
        lambda focus: setattr(focus, "beside_", "everything"),
        lambda focus: setattr(focus, "n_features_in_", 5),
        lambda focus: setattr(focus, "content_scale_", focus.row_scale_),
        lambda focus: setattr(focus, "losses_", None),
    ],
)
def test_what_does_not_fit_together_is_never_written(focus, tmp_path, harm):
    harm(focus)
    with pytest.raises((InputError, FileError)):
        save(focus, tmp_path / "forged")
