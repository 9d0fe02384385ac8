"""Model files of `NeuralFocus`: they load without PyTorch, and inconsistent models are not written."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")

from undistract import FileError, InputError, NeuralFocus, NoGroupsWarning, load, save  # noqa: E402

DAYS = np.repeat(np.arange(8), 10)


@pytest.fixture
def focus():
    X = np.random.default_rng(0).normal(size=(80, 4)) + DAYS[:, None]
    return NeuralFocus(n_components=2, n_hidden=16, epochs=2, random_state=0).fit(X, groups=DAYS)


def test_model_without_groups_is_saved_and_loaded(tmp_path):
    X = np.ones((5, 3))
    with pytest.warns(NoGroupsWarning):
        focus = NeuralFocus().fit(X)
    assert np.array_equal(load(save(focus, tmp_path / "none")).transform(X), X)


def test_model_loads_without_torch_and_transform_names_the_extra(focus, tmp_path):
    path = save(focus, tmp_path / "encoder")
    code = (
        "import sys, undistract; focus = undistract.load(sys.argv[1]); sys.modules['torch'] = None\n"
        "print(focus.summary().splitlines()[0])\n"
        "try: focus.transform([[0.0] * 4])\n"
        "except ImportError as error: print(error)"
    )
    output = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True).stdout.splitlines()
    assert output[0] == "Fitted on 8 groups, 80 rows, 4 features (mlp encoder)."
    assert output[1] == 'A neural FOCUS needs torch: pip install "undistract[torch]"'


@pytest.mark.parametrize(
    "damage",
    [
        lambda focus: focus.weights_.pop("decoder.0.bias"),
        lambda focus: focus.weights_.update({"more": np.ones(3, np.float32)}),
        lambda focus: focus.weights_.update({"decoder.0.bias": np.ones(17, np.float32)}),
        lambda focus: focus.weights_.update({"decoder.0.bias": np.full(16, np.nan, np.float32)}),
        lambda focus: focus.weights_.update({"decoder.0.bias": np.ones(16)}),
        lambda focus: setattr(focus, "components_", np.eye(3)),
        lambda focus: setattr(focus, "append_", "everything"),
        lambda focus: setattr(focus, "n_features_in_", 5),
        lambda focus: setattr(focus, "content_scale_", focus.row_scale_),
        lambda focus: setattr(focus, "losses_", None),
    ],
)
def test_inconsistent_model_is_not_saved(focus, tmp_path, damage):
    damage(focus)
    with pytest.raises((InputError, FileError)):
        save(focus, tmp_path / "inconsistent")
