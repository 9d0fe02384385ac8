"""scikit-learn in every respect: its own checks, and the places where people put an estimator."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut, cross_validate
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metaestimators import available_if

from undistract import EvidenceWarning, Focus, InputError, KernelFocus, Moments, NoSetsWarning


class FocusWithSets(Focus):
    """Focus as scikit-learn's checks never call it: with sets, so that it has something to remove."""

    def __init__(self, *, removal="kept_span"):
        super().__init__(n_remove=1, removal=removal)
        self.removal = removal

    def fit(self, X, y=None, *, sets=None):
        return super().fit(X, sets=self._made_up(X) if sets is None else sets)

    def partial_fit(self, X, y=None, *, sets=None):
        return super().partial_fit(X, sets=self._made_up(X) if sets is None else sets)

    @staticmethod
    def _made_up(X):
        return np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))) % 3


class KernelFocusWithSets(KernelFocus):
    """The same for the one with a kernel."""

    def __init__(self, *, approx=None, random_state=0):
        super().__init__(n_remove=1, approx=approx, random_state=random_state)
        self.approx = approx
        self.random_state = random_state

    def fit(self, X, y=None, *, sets=None):
        return super().fit(X, sets=FocusWithSets._made_up(X) if sets is None else sets)

    @available_if(lambda focus: focus.approx)
    def partial_fit(self, X, y=None, *, sets=None):
        return super().partial_fit(X, sets=FocusWithSets._made_up(X) if sets is None else sets)


APPROXIMATIONS = (None, "nystroem", "fourier")
REMOVALS = ("kept_span", "eigen", "oblique", "soft")


def known_differences(estimator):
    if isinstance(estimator, FocusWithSets):
        return {"check_fit2d_1feature": "removing the only feature would leave nothing: an error says so, in our words"}
    return {}


@pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning")
@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@parametrize_with_checks(
    [kind(removal=removal) for kind in (Focus, FocusWithSets) for removal in REMOVALS]
    + [kind(approx=approx, random_state=0) for kind in (KernelFocus, KernelFocusWithSets) for approx in APPROXIMATIONS],
    expected_failed_checks=known_differences,
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.fixture
def lit():
    """Six classes of rows in 24 sets; one strong direction varies in all of them."""
    rng = np.random.default_rng(0)
    sets = np.repeat(np.arange(24), 40)
    X = rng.normal(size=(960, 10)) + np.repeat(rng.normal(size=(24, 10)) * 2, 40, axis=0)
    return X + rng.normal(size=(960, 1)) * np.linspace(-20, 20, 10), sets % 6, sets


def test_sets_are_routed_through_a_pipeline(lit):
    X, y, sets = lit
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(Focus(), KNeighborsClassifier()).fit(X, y, sets=sets)
    named = Pipeline([("focus", Focus()), ("near", KNeighborsClassifier())]).fit(X, y, focus__sets=sets)
    assert routed[0].n_removed_ == named[0].n_removed_ == 1
    assert np.array_equal(routed.predict(X), named.predict(X))


def test_a_grid_search_over_held_out_sets_finds_that_removal_helps(lit):
    X, y, sets = lit
    y = sets % 2  # what must be told is the same in every set of a parity
    X = X + 4 * y[:, None]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(Focus(), KNeighborsClassifier()),
            {"focus__n_remove": [0, 1]},
            cv=GroupKFold(4),
        ).fit(X, y, sets=sets, groups=sets)
    assert search.best_params_ == {"focus__n_remove": 1}


def test_cross_validation_leaves_whole_sets_out(lit):
    X, y, sets = lit
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            make_pipeline(Focus(), KNeighborsClassifier()),
            X,
            y,
            cv=LeaveOneGroupOut(),
            params={"sets": sets, "groups": sets},
            return_estimator=True,
        )
    assert len(found["test_score"]) == 24
    assert {fitted[0].moments_.n_sets for fitted in found["estimator"]} == {23}


def test_a_frozen_focus_stands_before_a_detector_that_is_fitted_on_the_test_rows_alone(lit):
    X, _, sets = lit
    focus = Focus().fit(X[sets < 20], sets=sets[sets < 20])
    chain = make_pipeline(FrozenEstimator(focus), LocalOutlierFactor())
    test = X[sets == 22]
    assert np.array_equal(chain.fit_predict(test), LocalOutlierFactor().fit_predict(focus.transform(test)))


def test_a_clone_is_unfitted_and_learns_the_same(lit):
    X, _, sets = lit
    focus = Focus(cutoff=0.9, cushion=0.2, prior="by_size").fit(X, sets=sets)
    copy = clone(focus)
    assert not hasattr(copy, "moments_")
    assert np.array_equal(copy.fit(X, sets=sets).transform(X), focus.transform(X))


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_data_frames_come_out_as_they_went_in(library, frame):
    rows, species = load_iris(return_X_y=True)
    X = frame({name: rows[:, place] for place, name in enumerate(["sepal", "width", "petal", "breadth"])})
    focus = Focus(n_remove=1).set_output(transform=library)
    with pytest.warns(UserWarning, match="3 sets can describe at most 2"):
        Z = focus.fit(X, sets=species).transform(X)
    assert isinstance(Z, frame)
    assert list(Z.columns) == ["focus0", "focus1", "focus2"] == list(focus.get_feature_names_out())
    assert list(focus.feature_names_in_) == list(X.columns)
    with pytest.warns(UserWarning, match="3 sets can describe at most 2"):
        same_names = focus.set_params(removal="oblique").fit(X, sets=species).transform(X)
    assert list(same_names.columns) == list(X.columns)


def test_sets_of_data_frames_keep_their_column_names(lit):
    X, _, sets = lit
    columns = [f"pixel {place}" for place in range(10)]
    frames = {name: pd.DataFrame(X[sets == name], columns=columns) for name in range(24)}
    focus = Focus().fit_sets(frames)
    assert list(focus.feature_names_in_) == columns
    focus.transform(frames[0])  # no warning about names
    frames[3] = frames[3].rename(columns={"pixel 2": "pixel two"})
    with pytest.raises(InputError, match="Set number 3 has the columns"):
        Focus().fit_sets(frames)


def test_float32_stays_float32(lit):
    X, _, sets = lit
    focus = Focus().fit(X.astype(np.float32), sets=sets)
    for result in (focus.transform, focus.denoise):
        assert result(X.astype(np.float32)).dtype == np.float32
        assert result(X).dtype == np.float64
        assert result(X.astype(np.float32)) == pytest.approx(result(X), abs=1e-4)
    assert focus.moments_.within.dtype == np.float64


@pytest.mark.parametrize("prior", ["uniform", "by_size"])
@pytest.mark.parametrize("size", [20, 111, 960])
def test_partial_fit_in_any_chunking_is_fit(lit, prior, size):
    X, _, sets = lit
    order = np.random.default_rng(size).permutation(len(X))[:-3]  # unequal sets, in disorder
    whole = Focus(prior=prior).fit(X[order], sets=sets[order])
    pieces = Focus(prior=prior)
    for start in range(0, len(order), size):
        chunk = order[start : start + size]
        pieces.partial_fit(X[chunk], sets=sets[chunk])
    assert pieces.n_removed_ == whole.n_removed_ == 1
    assert pieces.distraction_ == pytest.approx(whole.distraction_, rel=1e-10)
    assert pieces.denoise(X) == pytest.approx(whole.denoise(X), rel=1e-9, abs=1e-9)


def test_partial_fit_learns_on_from_fit(lit):
    X, _, sets = lit
    early = sets < 12
    focus = Focus().fit(X[early], sets=sets[early]).partial_fit(X[~early], sets=sets[~early])
    assert focus.moments_.n_sets == 24
    assert focus.distraction_ == pytest.approx(Focus().fit(X, sets=sets).distraction_, rel=1e-10)


def test_one_set_so_far_removes_nothing_yet(lit):
    X, _, sets = lit
    focus = Focus().partial_fit(X[sets == 0], sets=sets[sets == 0])
    assert np.array_equal(focus.transform(X), X)
    assert "two sets with several rows are needed" in focus.describe()
    focus.partial_fit(X[sets > 0], sets=sets[sets > 0])
    assert focus.n_removed_ == 1


def test_fit_sets_reads_a_generator_once_and_pieces_that_follow_one_another(lit):
    X, _, sets = lit
    pieces = ((name, X[sets == name][half]) for name in range(24) for half in (slice(0, 13), slice(13, None)))
    focus = Focus().fit_sets(pieces)
    assert focus.distraction_ == pytest.approx(Focus().fit(X, sets=sets).distraction_, rel=1e-10)


def test_a_set_that_comes_back_later_is_refused_by_name(lit):
    X, _, _ = lit
    with pytest.raises(InputError, match="Set 'mon' is already in these moments"):
        Focus().fit_sets([("mon", X[:40]), ("tue", X[40:80]), ("mon", X[80:120])])


def test_moments_of_several_sites_are_learned_without_their_rows(lit):
    X, _, sets = lit
    here, there = (Focus().fit(X[part], sets=sets[part]).moments_ for part in (sets < 11, sets >= 11))
    assert Focus().fit_moments(here + there).distraction_ == pytest.approx(Focus().fit(X, sets=sets).distraction_)


@pytest.mark.parametrize(
    "relabel",
    [
        lambda sets: [("camera", int(one)) for one in sets],
        lambda sets: [f"day-{one}" for one in sets],
        lambda sets: pd.Categorical(sets.astype(str)),
        lambda sets: pd.Series(sets, index=np.arange(len(sets))[::-1]),
        lambda sets: pl.Series(sets.astype(str)),
        lambda sets: np.datetime64("2024-01-01") + sets.astype("timedelta64[D]"),
        lambda sets: [bytes([one]) if one % 2 else float(one) for one in sets],
        lambda sets: (one for one in sets.tolist()),
    ],
)
def test_any_hashable_labels_will_do(lit, relabel):
    X, _, sets = lit
    focus = Focus().fit(X, sets=relabel(sets))
    assert focus.moments_.n_sets == 24
    assert focus.distraction_ == pytest.approx(Focus().fit(X, sets=sets).distraction_, rel=1e-12)


def test_numbers_and_their_names_are_different_sets():
    X = np.random.default_rng(0).normal(size=(40, 1))
    assert Focus().fit(X, sets=[1, "1"] * 20).moments_.names == (1, "1")


def test_without_sets_there_is_one_warning_and_nothing_is_removed(lit):
    X, _, _ = lit
    with pytest.warns(NoSetsWarning) as said:
        focus = Focus().fit(X)
    assert len(said) == 1
    assert said[0].filename == __file__  # the warning points at the caller's own line
    assert np.array_equal(focus.transform(X), X)
    assert set(focus.kinds_) == {"unknown"}
    assert "no sets" in focus.describe()


@pytest.mark.parametrize("door", ["fit", "fit_sets", "fit_moments"])
def test_a_warning_points_at_the_caller_s_own_line(lit, door):
    X, _, sets = lit
    few = {name: X[sets == name] for name in range(3)}
    learn = {
        "fit": lambda: Focus().fit(np.concatenate([*few.values()]), sets=np.repeat([*few], 40)),
        "fit_sets": lambda: Focus().fit_sets(few),
        "fit_moments": lambda: Focus().fit_moments(Moments.of(few)),
    }
    with pytest.warns(EvidenceWarning) as said:
        learn[door]()
    assert {one.filename for one in said} == {__file__}


def test_a_constant_feature_is_kept_as_it_is_and_changes_nothing(lit):
    X, _, sets = lit
    wider = np.insert(X, 4, 0.1, axis=1)
    focus, plain = Focus().fit(wider, sets=sets), Focus().fit(X, sets=sets)
    assert focus.distraction_[:10] == pytest.approx(plain.distraction_, rel=1e-12)
    assert focus.kinds_[-1] == "constant"
    changed = wider[:1] + np.eye(11)[4]  # a dead pixel comes to life: the whole change must arrive
    moved = focus.transform(changed) - focus.transform(wider[:1])
    assert np.linalg.norm(moved) == pytest.approx(1.0)
    assert np.count_nonzero(moved.round(12)) == 1  # and it arrives in one coordinate
