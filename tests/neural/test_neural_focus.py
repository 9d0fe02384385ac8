"""`NeuralFocus`: what it learns, what it keeps, and that it is an estimator in every respect."""

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
from undistract import FeatureSet, InputError, NeuralFocus, NoSetsWarning  # noqa: E402
from undistract.neural.architecture import Architecture, shapes_of  # noqa: E402
from undistract.neural.network import Network, weights_of  # noqa: E402

QUICK = {"n_components": 3, "n_hidden": 16, "epochs": 3, "n_sets": 4, "n_rows": 4}


class QuickWithSets(NeuralFocus):
    """NeuralFocus as scikit-learn's checks never call it: with sets, so that it has something to learn."""

    def __init__(self, *, beside="news", random_state=0):
        super().__init__(**QUICK, beside=beside, random_state=random_state)
        self.beside = beside
        self.random_state = random_state

    def fit(self, X, y=None, *, sets=None):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, sets=np.arange(n_rows) % 3 if sets is None else sets)


@pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning")
@parametrize_with_checks([NeuralFocus(**QUICK), QuickWithSets(), QuickWithSets(beside="nothing")])
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rings():
    return thirty_rings(40)


@pytest.fixture(scope="module")
def learned(rings):
    X, sets = rings
    return NeuralFocus(n_components=2, random_state=0).fit(X, sets=sets)


def test_rows_of_an_unseen_ring_lie_together_and_another_radius_stands_out(learned):
    rng = np.random.default_rng(1)
    usual, other = on_rings(np.full(200, 2.0), rng), on_rings(np.full(200, 2.7), rng)
    assert separation(usual, other) < 0.2
    assert separation(learned.transform(usual), learned.transform(other)) > 2


def test_what_no_set_ever_showed_stays_visible(learned):
    """The third feature is the same in all sets: an encoder that tells sets apart has no reason to look at it."""
    rng = np.random.default_rng(1)
    usual = on_rings(np.full(200, 2.0), rng)
    strange = usual + np.array([0, 0, 3.0])
    assert separation(learned.transform(usual), learned.transform(strange)) > 2


def test_an_encoding_varies_less_inside_sets_than_the_rows_do(learned):
    rows, encoded = learned.share_inside_
    assert encoded < 0.3 < 0.9 < rows
    words = learned.describe()
    assert "30 sets with 1200 rows of 3 features (mlp)" in words
    assert "6 held-out sets" in words


def test_the_same_seed_gives_the_same_bits(rings):
    X, sets = rings
    one, other = (NeuralFocus(**QUICK, random_state=7).fit(X, sets=sets).transform(X) for _ in range(2))
    assert np.array_equal(one, other)
    assert not np.array_equal(one, NeuralFocus(**QUICK, random_state=8).fit(X, sets=sets).transform(X))


def test_training_leaves_the_random_numbers_of_others_alone(rings):
    X, sets = rings
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    NeuralFocus(**QUICK, random_state=7).fit(X, sets=sets)
    assert torch.equal(torch.rand(3), expected)


def test_a_change_of_units_changes_nothing_but_the_units(rings):
    X, sets = rings
    plain = NeuralFocus(**QUICK, random_state=0).fit(X, sets=sets).transform(X)
    moved = NeuralFocus(**QUICK, random_state=0).fit(1024 * X, sets=sets).transform(1024 * X)
    assert moved == pytest.approx(1024 * plain, rel=1e-3, abs=1e-2)


def test_training_stops_when_held_out_sets_no_longer_profit(rings):
    X, sets = rings
    rng = np.random.default_rng(0)
    noise = rng.normal(size=X.shape)  # nothing tells sets apart: whatever is learned is not true of others
    focus = NeuralFocus(epochs=60, patience=3, random_state=0, n_sets=4).fit(noise, sets=sets)
    assert len(focus.losses_) < 60
    assert len(focus.losses_) == len(focus.held_out_losses_) == focus.n_epochs_ + 3
    assert focus.n_epochs_ == np.argmin(focus.held_out_losses_) + 1


def test_few_sets_are_all_learned_from(rings):
    X, sets = rings
    focus = NeuralFocus(**QUICK).fit(X[sets < 4], sets=sets[sets < 4])
    assert (focus.n_epochs_, len(focus.held_out_losses_)) == (3, 0)
    assert "too few sets" in focus.describe()


def test_sets_that_were_not_to_be_held_out_are_not_called_too_few(rings):
    X, sets = rings
    words = NeuralFocus(**QUICK, held_out=0.0).fit(X, sets=sets).describe()
    assert "All 3 rounds were run: no sets were to be held out." in words


@pytest.mark.parametrize("image_shape", [(8, 6), (8, 6, 1), (4, 4, 3), (1, 48), [8, 6]])
def test_images_of_any_shape_are_encoded(image_shape):
    rng = np.random.default_rng(0)
    X, sets = rng.random((60, 48)), np.repeat(np.arange(6), 10)
    focus = NeuralFocus("convolutional", image_shape=image_shape, **QUICK, random_state=0).fit(X, sets=sets)
    assert np.isfinite(focus.transform(X)).all()
    assert "convolutional" in focus.describe()


def test_channels_of_a_pixel_stand_together():
    from undistract.neural.network import _Images

    images = np.arange(2 * 3 * 2).reshape(1, 2, 3, 2)
    assert np.array_equal(_Images((2, 3, 2))(torch.tensor(images.reshape(1, -1)))[0, 1], images[0, :, :, 1])


@pytest.mark.parametrize(
    "shape", [Architecture("mlp", 5, 2, 16, None), Architecture("convolutional", 90, 4, 40, (6, 5, 3))]
)
def test_the_sizes_that_a_file_must_have_are_those_of_the_network(shape):
    assert {name: one.shape for name, one in weights_of(Network(shape)).items()} == shapes_of(shape)


def test_sets_are_routed_through_a_pipeline(rings):
    X, sets = rings
    with sklearn.config_context(enable_metadata_routing=True):
        chain = make_pipeline(NeuralFocus(**QUICK, random_state=0), KNeighborsClassifier()).fit(X, sets % 2, sets=sets)
    assert chain[0].n_sets_seen_ == 30
    assert len(chain.predict(X)) == 1200


def test_a_clone_is_unfitted_and_learns_the_same(rings):
    X, sets = rings
    focus = NeuralFocus(**QUICK, random_state=0).fit(X, sets=sets)
    copy = clone(focus)
    assert not hasattr(copy, "weights_")
    assert np.array_equal(copy.fit(X, sets=sets).transform(X), focus.transform(X))


def test_sets_one_by_one_teach_the_same(rings):
    X, sets = rings
    whole = NeuralFocus(**QUICK, random_state=0).fit(X, sets=sets).transform(X)
    by_name = {name: X[sets == name] for name in range(30)}
    for some in (by_name, list(by_name.values()), (FeatureSet(str(n), rows) for n, rows in by_name.items())):
        assert np.array_equal(NeuralFocus(**QUICK, random_state=0).fit_sets(some).transform(X), whole)


def test_frames_keep_their_names(rings):
    X, sets = rings
    frames = {name: pd.DataFrame(X[sets == name], columns=["x", "y", "z"]) for name in range(30)}
    focus = NeuralFocus(**QUICK, random_state=0).fit_sets(frames)
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


def test_a_row_reads_the_same_in_any_batch(learned, rings):
    X, _ = rings
    assert learned.transform(X[5:6]) == pytest.approx(learned.transform(X)[5:6], abs=1e-12)


def test_without_sets_there_is_one_warning_and_rows_stay_as_they_are(rings):
    X, _ = rings
    with pytest.warns(NoSetsWarning) as said:
        focus = NeuralFocus().fit(X)
    assert [one.filename for one in said] == [__file__]
    assert np.array_equal(focus.transform(X), X)
    assert "no sets" in focus.describe()


def test_settings_changed_after_fit_wait_for_the_next_fit(rings):
    X, sets = rings
    focus = NeuralFocus(**QUICK, random_state=0).fit(X, sets=sets)
    before = focus.transform(X)
    focus.set_params(beside="nothing", n_components=1, weight=9.0)
    assert np.array_equal(focus.transform(X), before)
    assert len(focus.get_feature_names_out()) == before.shape[1]


def test_importing_needs_no_torch():
    """The estimator can be named and cloned without PyTorch; only learning and transforming ask for it."""
    code = (
        "import sys, undistract; from undistract.neural import SetBatches\n"
        "focus = undistract.NeuralFocus(); print('torch' in sys.modules); sys.modules['torch'] = None\n"
        "try: focus.fit([[0.0], [1.0], [2.0], [3.0]], sets=[0, 0, 1, 1])\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert told.split("\n")[:2] == ["False", 'A neural FOCUS needs torch: pip install "undistract[torch]"']


# PROMISES 4: a result, or one typed error that says what to do.
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
refused = {
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


def quick(**settings):
    return NeuralFocus(**{**QUICK, "random_state": 0, **settings})


@pytest.mark.parametrize("kind", usable)
def test_unusual_but_usable_rows_give_finite_numbers(kind):
    X = usable[kind]()
    focus = quick().fit(X, sets=LABELS)
    assert np.isfinite(focus.transform(X)).all()
    assert focus.describe()


@pytest.mark.parametrize("kind", refused)
def test_unusable_rows_are_refused(kind):
    with pytest.raises((ValueError, TypeError)):
        quick().fit(refused[kind](), sets=LABELS)


@pytest.mark.parametrize("scale", [1e3, 1e30, 1e307])
def test_rows_far_from_all_that_was_seen_give_finite_numbers_or_a_reason(scale):
    focus = quick().fit(good_rows(), sets=LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if scale < 1e100:
            assert np.isfinite(focus.transform(good_rows() * scale)).all()
        else:
            with pytest.raises(InputError, match="overflows"):
                focus.transform(good_rows() * scale)


bad_sets = {
    "one set": np.zeros(40),
    "single rows": np.arange(40),
    "one set and single rows": np.maximum(LABELS * 0, np.arange(40) - 20),
    "too few": LABELS[:39],
    "a word": "a" * 40,
    "missing": [None, *LABELS[1:].tolist()],
}


@pytest.mark.parametrize("kind", bad_sets)
def test_sets_that_cannot_teach_are_refused(kind):
    with pytest.raises(InputError):
        quick().fit(good_rows(), sets=bad_sets[kind])


def test_sets_with_one_row_are_passed_over():
    labels = np.where(np.arange(40) == 39, 9, LABELS)
    focus = quick().fit(good_rows(), sets=labels)
    assert focus.n_sets_seen_ == 5
    assert np.isfinite(focus.transform(good_rows())).all()


@pytest.mark.parametrize("sets", [good_rows(), None, 3, [], {}])
def test_what_is_not_several_sets_is_refused_by_fit_sets(sets):
    with pytest.raises(InputError):
        quick().fit_sets(sets)


def test_sets_of_different_width_are_refused():
    with pytest.raises(InputError, match="'b' has 2 features, the others have 4"):
        quick().fit_sets({"a": good_rows(), "b": good_rows()[:, :2]})


nonsense = [
    ("encoder", "transformer"),
    ("n_components", 0),
    ("n_components", 2.5),
    ("image_shape", (2, 2)),
    ("beside", "both"),
    ("finish", "yes"),
    ("weight", -1.0),
    ("weight", np.nan),
    ("n_hidden", 0),
    ("cushion", 0.0),
    ("rebuilding", "x"),
    ("epochs", True),
    ("held_out", 1.0),
    ("patience", 0),
    ("n_sets", 1),
    ("n_rows", 1),
    ("learning_rate", np.inf),
]


@pytest.mark.parametrize(("setting", "value"), nonsense, ids=str)
def test_a_nonsense_setting_is_refused_by_name(setting, value):
    encoder = {"encoder": "convolutional"} if setting == "image_shape" else {}
    with pytest.raises(InputError, match=setting):
        quick(**encoder).set_params(**{setting: value}).fit(np.ones((40, 6)), sets=LABELS)


def test_a_number_that_is_too_large_is_told_how_large_it_may_be(rings):
    # It was told to be at least 1.
    with pytest.raises(InputError, match="n_hidden is 2000000; expected a whole number from 1 to 1000000"):
        NeuralFocus(n_hidden=2_000_000).fit(rings[0], sets=rings[1])


@pytest.mark.parametrize("image_shape", [None, 4, (4,), (2, 2, 1, 1), (2.0, 2), "ab", (0, 4), (3, 3)])
def test_a_shape_that_rows_do_not_have_is_refused(image_shape):
    with pytest.raises(InputError, match="image_shape"):
        quick(encoder="convolutional", image_shape=image_shape).fit(good_rows(), sets=LABELS)


def test_a_failed_fit_leaves_the_old_model_whole():
    fresh = quick()
    with pytest.raises(InputError):
        fresh.fit(good_rows(), sets=LABELS[:3])
    with pytest.raises(NotFittedError):
        fresh.transform(good_rows())
    focus = quick().fit(good_rows(), sets=LABELS)
    before = focus.transform(good_rows())
    with pytest.raises(InputError):
        focus.fit(good_rows()[:, :2], sets=LABELS[:3])
    assert np.array_equal(focus.transform(good_rows()), before)
