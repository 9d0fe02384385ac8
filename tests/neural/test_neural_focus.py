"""`NeuralFocus`: separation, residual, estimator interface, errors."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")

from tests.rings import on_rings, separation, thirty_rings  # noqa: E402
from undistract import InputError, NeuralFocus, NoGroupsWarning, Source  # noqa: E402
from undistract.neural.network import (  # noqa: E402
    Architecture,
    build_network,
    get_weights,
    to_images,
    weight_shapes,
)

QUICK = {"n_components": 3, "n_hidden": 16, "epochs": 3, "n_groups": 4, "n_rows": 4}


class QuickWithGroups(NeuralFocus):
    """NeuralFocus with group labels, which scikit-learn's checks do not pass."""

    def __init__(self, *, append="residual", random_state=0):
        super().__init__(**QUICK, append=append, random_state=random_state)
        self.append = append
        self.random_state = random_state

    def fit(self, X, y=None, *, groups=None):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        if groups is None:
            groups = np.arange(n_rows) % 3
        return super().fit(X, groups=groups)


@pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning")
@parametrize_with_checks([NeuralFocus(**QUICK), QuickWithGroups(), QuickWithGroups(append="nothing")])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rings():
    return thirty_rings(40)


@pytest.fixture(scope="module")
def learned(rings):
    X, groups = rings
    return NeuralFocus(n_components=2, random_state=0).fit(X, groups=groups)


def test_new_ring_is_compact_and_other_radius_is_separated(learned):
    rng = np.random.default_rng(1)
    usual = on_rings(np.full(200, 2.0), rng)
    other = on_rings(np.full(200, 2.7), rng)
    assert separation(usual, other) < 0.2
    assert separation(learned.transform(usual), learned.transform(other)) > 2


def test_deviation_outside_training_is_visible(learned):
    """The third feature is the same in all groups, so the encoder has no reason to represent it."""
    rng = np.random.default_rng(1)
    usual = on_rings(np.full(200, 2.0), rng)
    shifted = usual + np.array([0, 0, 3.0])
    assert separation(learned.transform(usual), learned.transform(shifted)) > 2


def test_encoding_has_smaller_within_group_share_than_rows(learned):
    rows, encoded = learned.within_share_
    assert encoded < 0.3 < 0.9 < rows
    text = learned.summary()
    assert "30 groups, 1200 rows, 3 features (mlp encoder)" in text
    assert "6 held-out groups" in text


def test_seed_determines_result(rings):
    X, groups = rings
    first, second = (NeuralFocus(**QUICK, random_state=7).fit(X, groups=groups).transform(X) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, NeuralFocus(**QUICK, random_state=8).fit(X, groups=groups).transform(X))


def test_training_does_not_change_global_random_state(rings):
    X, groups = rings
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    NeuralFocus(**QUICK, random_state=7).fit(X, groups=groups)
    assert torch.equal(torch.rand(3), expected)


def test_output_scales_with_the_unit(rings):
    X, groups = rings
    plain = NeuralFocus(**QUICK, random_state=0).fit(X, groups=groups).transform(X)
    moved = NeuralFocus(**QUICK, random_state=0).fit(1024 * X, groups=groups).transform(1024 * X)
    assert moved == pytest.approx(1024 * plain, rel=1e-3, abs=1e-2)


def test_training_stops_early_on_held_out_groups(rings):
    X, groups = rings
    rng = np.random.default_rng(0)
    noise = rng.normal(size=X.shape)  # groups do not differ, so training only overfits
    focus = NeuralFocus(epochs=60, patience=3, random_state=0, n_groups=4).fit(noise, groups=groups)
    assert len(focus.losses_) < 60
    assert len(focus.losses_) == len(focus.held_out_losses_) == focus.n_epochs_ + 3
    assert focus.n_epochs_ == np.argmin(focus.held_out_losses_) + 1


def test_few_groups_are_all_used_for_training(rings):
    X, groups = rings
    focus = NeuralFocus(**QUICK).fit(X[groups < 4], groups=groups[groups < 4])
    assert (focus.n_epochs_, len(focus.held_out_losses_)) == (3, 0)
    assert "too few groups" in focus.summary()


def test_summary_without_held_out_groups(rings):
    X, groups = rings
    text = NeuralFocus(**QUICK, held_out=0.0).fit(X, groups=groups).summary()
    assert "all 3 epochs were run: no groups were held out." in text


@pytest.mark.parametrize("image_shape", [(8, 6), (8, 6, 1), (4, 4, 3), (1, 48), [8, 6]])
def test_images_of_any_shape_are_encoded(image_shape):
    rng = np.random.default_rng(0)
    X, groups = rng.random((60, 48)), np.repeat(np.arange(6), 10)
    focus = NeuralFocus("convolutional", image_shape=image_shape, **QUICK, random_state=0).fit(X, groups=groups)
    assert np.isfinite(focus.transform(X)).all()
    assert "convolutional" in focus.summary()


def test_channels_are_the_last_axis():
    images = np.arange(2 * 3 * 2).reshape(1, 2, 3, 2)
    assert np.array_equal(to_images(torch.tensor(images.reshape(1, -1)), (2, 3, 2))[0, 1], images[0, :, :, 1])


@pytest.mark.parametrize(
    "shape", [Architecture("mlp", 5, 2, 16, None), Architecture("convolutional", 90, 4, 40, (6, 5, 3))]
)
def test_shapes_of_weights_match_the_network(shape):
    assert {name: weight.shape for name, weight in get_weights(build_network(shape)).items()} == weight_shapes(shape)


def test_group_labels_are_routed_through_a_pipeline(rings):
    X, groups = rings
    with sklearn.config_context(enable_metadata_routing=True):
        chain = make_pipeline(NeuralFocus(**QUICK, random_state=0), KNeighborsClassifier()).fit(
            X, groups % 2, groups=groups
        )
    assert chain[0].n_groups_seen_ == 30
    assert len(chain.predict(X)) == 1200


def test_clone_is_unfitted_and_fits_equally(rings):
    X, groups = rings
    focus = NeuralFocus(**QUICK, random_state=0).fit(X, groups=groups)
    copy = clone(focus)
    assert not hasattr(copy, "weights_")
    assert np.array_equal(copy.fit(X, groups=groups).transform(X), focus.transform(X))


def test_fit_groups_equals_fit(rings):
    X, groups = rings
    reference = NeuralFocus(**QUICK, random_state=0).fit(X, groups=groups).transform(X)
    by_name = {name: X[groups == name] for name in range(30)}
    for collection in (by_name, list(by_name.values()), (Source(str(n), rows) for n, rows in by_name.items())):
        assert np.array_equal(NeuralFocus(**QUICK, random_state=0).fit_groups(collection).transform(X), reference)


def test_frames_keep_their_feature_names(rings):
    X, groups = rings
    frames = {name: pd.DataFrame(X[groups == name], columns=["x", "y", "z"]) for name in range(30)}
    focus = NeuralFocus(**QUICK, random_state=0).fit_groups(frames)
    assert list(focus.feature_names_in_) == ["x", "y", "z"]
    out = focus.set_output(transform="pandas").transform(frames[0])
    assert list(out.columns) == list(focus.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        focus.transform(frames[0].rename(columns={"z": "w"}))


def test_float32_stays_float32(learned, rings):
    X, _ = rings
    narrow = learned.transform(X.astype(np.float32))
    assert narrow.dtype == np.float32
    assert narrow == pytest.approx(learned.transform(X), abs=1e-4)


def test_transform_does_not_depend_on_batch(learned, rings):
    X, _ = rings
    assert learned.transform(X[5:6]) == pytest.approx(learned.transform(X)[5:6], abs=1e-12)


def test_fit_without_groups_warns_and_keeps_rows(rings):
    X, _ = rings
    with pytest.warns(NoGroupsWarning) as warned:
        focus = NeuralFocus().fit(X)
    assert [warning.filename for warning in warned] == [__file__]
    assert np.array_equal(focus.transform(X), X)
    assert "no groups" in focus.summary()


def test_options_changed_after_fit_have_no_effect(rings):
    X, groups = rings
    focus = NeuralFocus(**QUICK, random_state=0).fit(X, groups=groups)
    before = focus.transform(X)
    focus.set_params(append="nothing", n_components=1, weight=9.0)
    assert np.array_equal(focus.transform(X), before)
    assert len(focus.get_feature_names_out()) == before.shape[1]


def test_importing_needs_no_torch():
    """The estimator can be imported and cloned without PyTorch; only fit and transform need it."""
    code = (
        "import sys, undistract; from undistract.neural import GroupBatches\n"
        "focus = undistract.NeuralFocus(); print('torch' in sys.modules); sys.modules['torch'] = None\n"
        "try: focus.fit([[0.0], [1.0], [2.0], [3.0]], groups=[0, 0, 1, 1])\n"
        "except ImportError as error: print(error)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert output.split("\n")[:2] == ["False", 'A neural FOCUS needs torch: pip install "undistract[torch]"']


# Promise 4: a result, or one typed error with advice.
LABELS = np.repeat(np.arange(4), 10)


def good_rows():
    return np.random.default_rng(0).normal(size=(40, 4)) * [1, 5, 1, 1] + np.outer(LABELS, [3, 0, 0, 0])


def with_value(value):
    X = good_rows()
    X[3, 2] = value
    return X


usable = {
    "float16": lambda: good_rows().astype(np.float16),
    "long double": lambda: good_rows().astype(np.longdouble),
    "int8": lambda: (10 * good_rows()).astype(np.int8),
    "bool": lambda: good_rows() > 0,
    "lists": lambda: good_rows().tolist(),
    "columns first": lambda: np.asfortranarray(good_rows()),
    "read only": lambda: np.broadcast_to(good_rows(), (40, 4)),
    "constant": lambda: np.full((40, 4), 0.1),
    "zeros": lambda: np.zeros((40, 4)),
    "one constant feature": lambda: good_rows() * [1, 1, 0, 1] + 7,
    "duplicate rows": lambda: np.repeat(good_rows()[::10], 10, axis=0),
    "far from zero": lambda: good_rows() + 1e9,
}
unusable = {
    "NaN": lambda: with_value(np.nan),
    "infinity": lambda: with_value(np.inf),
    "no rows": lambda: good_rows()[:0],
    "no features": lambda: good_rows()[:, :0],
    "one dimension": lambda: good_rows()[:, 0],
    "ragged": lambda: [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0]] * 20,
    "strings": lambda: np.full((40, 4), "a"),
    "complex": lambda: good_rows() + 1j,
    "nothing": lambda: None,
    "1e308": lambda: good_rows() * 1e306,
    "1e-170": lambda: good_rows() * 1e-170,
}


def quick(**options):
    return NeuralFocus(**{**QUICK, "random_state": 0, **options})


@pytest.mark.parametrize("kind", usable)
def test_unusual_but_usable_rows_give_finite_numbers(kind):
    X = usable[kind]()
    focus = quick().fit(X, groups=LABELS)
    assert np.isfinite(focus.transform(X)).all()
    assert focus.summary()


@pytest.mark.parametrize("kind", unusable)
def test_unusable_rows_raise_an_error(kind):
    with pytest.raises((ValueError, TypeError)):
        quick().fit(unusable[kind](), groups=LABELS)


@pytest.mark.parametrize("scale", [1e3, 1e30, 1e307])
def test_distant_rows_give_finite_numbers_or_input_error(scale):
    focus = quick().fit(good_rows(), groups=LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if scale < 1e100:
            assert np.isfinite(focus.transform(good_rows() * scale)).all()
        else:
            with pytest.raises(InputError, match="overflows"):
                focus.transform(good_rows() * scale)


bad_groups = {
    "one group": np.zeros(40),
    "single rows": np.arange(40),
    "one group and single rows": np.maximum(LABELS * 0, np.arange(40) - 20),
    "too few": LABELS[:39],
    "a word": "a" * 40,
    "missing": [None, *LABELS[1:].tolist()],
}


@pytest.mark.parametrize("kind", bad_groups)
def test_invalid_group_labels_raise_input_error(kind):
    with pytest.raises(InputError):
        quick().fit(good_rows(), groups=bad_groups[kind])


def test_groups_with_one_row_are_skipped():
    labels = np.where(np.arange(40) == 39, 9, LABELS)
    focus = quick().fit(good_rows(), groups=labels)
    assert focus.n_groups_seen_ == 5
    assert np.isfinite(focus.transform(good_rows())).all()


@pytest.mark.parametrize("groups", [good_rows(), None, 3, [], {}])
def test_fit_groups_without_groups_raises_input_error(groups):
    with pytest.raises(InputError):
        quick().fit_groups(groups)


def test_groups_of_different_width_raise_input_error():
    with pytest.raises(InputError, match="'b' has 2 features, the others have 4"):
        quick().fit_groups({"a": good_rows(), "b": good_rows()[:, :2]})


invalid_options = [
    ("encoder", "transformer"),
    ("n_components", 0),
    ("n_components", 2.5),
    ("image_shape", (2, 2)),
    ("append", "both"),
    ("final_linear", "yes"),
    ("weight", -1.0),
    ("weight", np.nan),
    ("n_hidden", 0),
    ("ridge", 0.0),
    ("reconstruction_weight", "x"),
    ("epochs", True),
    ("held_out", 1.0),
    ("patience", 0),
    ("n_groups", 1),
    ("n_rows", 1),
    ("learning_rate", np.inf),
]


@pytest.mark.parametrize(("option", "value"), invalid_options, ids=str)
def test_invalid_option_raises_input_error_with_its_name(option, value):
    encoder = {"encoder": "convolutional"} if option == "image_shape" else {}
    with pytest.raises(InputError, match=option):
        quick(**encoder).set_params(**{option: value}).fit(np.ones((40, 6)), groups=LABELS)


def test_error_names_the_largest_value(rings):
    # Regression: the message had only the minimum.
    with pytest.raises(InputError, match="n_hidden must be a whole number from 1 to 1000000, got 2000000"):
        NeuralFocus(n_hidden=2_000_000).fit(rings[0], groups=rings[1])


@pytest.mark.parametrize("image_shape", [None, 4, (4,), (2, 2, 1, 1), (2.0, 2), "ab", (0, 4), (3, 3)])
def test_invalid_image_shape_raises_input_error(image_shape):
    with pytest.raises(InputError, match="image_shape"):
        quick(encoder="convolutional", image_shape=image_shape).fit(good_rows(), groups=LABELS)


def test_failed_fit_leaves_model_unchanged():
    fresh = quick()
    with pytest.raises(InputError):
        fresh.fit(good_rows(), groups=LABELS[:3])
    with pytest.raises(NotFittedError):
        fresh.transform(good_rows())
    focus = quick().fit(good_rows(), groups=LABELS)
    before = focus.transform(good_rows())
    with pytest.raises(InputError):
        focus.fit(good_rows()[:, :2], groups=LABELS[:3])
    assert np.array_equal(focus.transform(good_rows()), before)
