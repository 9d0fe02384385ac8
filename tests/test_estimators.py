"""scikit-learn compatibility: its own checks, pipelines, searches, data frames, cloning."""

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

from undistract import EvidenceWarning, Focus, InputError, KernelFocus, Moments, NoGroupsWarning


class FocusWithGroups(Focus):
    """Focus with groups, which scikit-learn's checks do not pass, so that directions are removed."""

    def __init__(self, *, removal="orthogonal"):
        super().__init__(n_remove=1, removal=removal)
        self.removal = removal

    def fit(self, X, y=None, *, groups=None):
        return super().fit(X, groups=self._make_groups(X) if groups is None else groups)

    def partial_fit(self, X, y=None, *, groups=None):
        return super().partial_fit(X, groups=self._make_groups(X) if groups is None else groups)

    @staticmethod
    def _make_groups(X):
        return np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))) % 3


class KernelFocusWithGroups(KernelFocus):
    """The same for KernelFocus."""

    def __init__(self, *, approx=None, random_state=0):
        super().__init__(n_remove=1, approx=approx, random_state=random_state)
        self.approx = approx
        self.random_state = random_state

    def fit(self, X, y=None, *, groups=None):
        return super().fit(X, groups=FocusWithGroups._make_groups(X) if groups is None else groups)

    @available_if(lambda focus: focus.approx)
    def partial_fit(self, X, y=None, *, groups=None):
        return super().partial_fit(X, groups=FocusWithGroups._make_groups(X) if groups is None else groups)


APPROXIMATIONS = (None, "nystroem", "fourier")
REMOVALS = ("orthogonal", "eigen", "oblique", "soft")


def known_differences(estimator):
    if isinstance(estimator, FocusWithGroups):
        return {"check_fit2d_1feature": "removing the only feature would leave nothing: an error says so, in our words"}
    return {}


@pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning")
@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@parametrize_with_checks(
    [kind(removal=removal) for kind in (Focus, FocusWithGroups) for removal in REMOVALS]
    + [
        kind(approx=approx, random_state=0)
        for kind in (KernelFocus, KernelFocusWithGroups)
        for approx in APPROXIMATIONS
    ],
    expected_failed_checks=known_differences,
)
def test_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.fixture
def lit():
    """Return six classes of rows in 24 groups; one strong direction varies in all of them."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(24), 40)
    X = rng.normal(size=(960, 10)) + np.repeat(rng.normal(size=(24, 10)) * 2, 40, axis=0)
    return X + rng.normal(size=(960, 1)) * np.linspace(-20, 20, 10), groups % 6, groups


def test_groups_are_routed_through_a_pipeline(lit):
    X, y, groups = lit
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(Focus(), KNeighborsClassifier()).fit(X, y, groups=groups)
    named = Pipeline([("focus", Focus()), ("near", KNeighborsClassifier())]).fit(X, y, focus__groups=groups)
    assert routed[0].n_removed_ == named[0].n_removed_ == 1
    assert np.array_equal(routed.predict(X), named.predict(X))


def test_grid_search_over_groups_prefers_removal(lit):
    X, y, groups = lit
    y = groups % 2  # the class depends on the parity of the group
    X = X + 4 * y[:, None]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(Focus(), KNeighborsClassifier()),
            {"focus__n_remove": [0, 1]},
            cv=GroupKFold(4),
        ).fit(X, y, groups=groups)
    assert search.best_params_ == {"focus__n_remove": 1}


def test_cross_validation_leaves_groups_out(lit):
    X, y, groups = lit
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            make_pipeline(Focus(), KNeighborsClassifier()),
            X,
            y,
            cv=LeaveOneGroupOut(),
            params={"groups": groups},
            return_estimator=True,
        )
    assert len(scores["test_score"]) == 24
    assert {fitted[0].moments_.n_groups for fitted in scores["estimator"]} == {23}


def test_frozen_focus_before_a_detector_fitted_on_test_rows(lit):
    X, _, groups = lit
    focus = Focus().fit(X[groups < 20], groups=groups[groups < 20])
    chain = make_pipeline(FrozenEstimator(focus), LocalOutlierFactor())
    test = X[groups == 22]
    assert np.array_equal(chain.fit_predict(test), LocalOutlierFactor().fit_predict(focus.transform(test)))


def test_clone_is_unfitted_and_fits_the_same(lit):
    X, _, groups = lit
    focus = Focus(cutoff=0.9, ridge=0.2, prior="by_size").fit(X, groups=groups)
    copy = clone(focus)
    assert not hasattr(copy, "moments_")
    assert np.array_equal(copy.fit(X, groups=groups).transform(X), focus.transform(X))


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_data_frames_in_and_out(library, frame):
    rows, species = load_iris(return_X_y=True)
    X = frame({name: rows[:, place] for place, name in enumerate(["sepal", "width", "petal", "breadth"])})
    focus = Focus(n_remove=1).set_output(transform=library)
    Z = focus.fit(X, groups=species).transform(X)
    assert isinstance(Z, frame)
    assert list(Z.columns) == ["focus0", "focus1", "focus2"] == list(focus.get_feature_names_out())
    assert list(focus.feature_names_in_) == list(X.columns)
    same_names = focus.set_params(removal="oblique").fit(X, groups=species).transform(X)
    assert list(same_names.columns) == list(X.columns)


def test_groups_of_data_frames_keep_their_column_names(lit):
    X, _, groups = lit
    columns = [f"pixel {place}" for place in range(10)]
    frames = {name: pd.DataFrame(X[groups == name], columns=columns) for name in range(24)}
    focus = Focus().fit_groups(frames)
    assert list(focus.feature_names_in_) == columns
    focus.transform(frames[0])  # no warning about names
    frames[3] = frames[3].rename(columns={"pixel 2": "pixel two"})
    with pytest.raises(InputError, match="Group number 3 has the columns"):
        Focus().fit_groups(frames)


def test_float32_stays_float32(lit):
    X, _, groups = lit
    focus = Focus().fit(X.astype(np.float32), groups=groups)
    for result in (focus.transform, focus.denoise):
        assert result(X.astype(np.float32)).dtype == np.float32
        assert result(X).dtype == np.float64
        assert result(X.astype(np.float32)) == pytest.approx(result(X), abs=1e-4)
    assert focus.moments_.within.dtype == np.float64


@pytest.mark.parametrize("prior", ["uniform", "by_size"])
@pytest.mark.parametrize("size", [20, 111, 960])
def test_partial_fit_in_any_batches_equals_fit(lit, prior, size):
    X, _, groups = lit
    order = np.random.default_rng(size).permutation(len(X))[:-3]  # unequal groups, shuffled
    full = Focus(prior=prior).fit(X[order], groups=groups[order])
    batches = Focus(prior=prior)
    for start in range(0, len(order), size):
        chunk = order[start : start + size]
        batches.partial_fit(X[chunk], groups=groups[chunk])
    assert batches.n_removed_ == full.n_removed_ == 1
    assert batches.distraction_ == pytest.approx(full.distraction_, rel=1e-10)
    assert batches.denoise(X) == pytest.approx(full.denoise(X), rel=1e-9, abs=1e-9)


def test_partial_fit_continues_after_fit(lit):
    X, _, groups = lit
    early = groups < 12
    focus = Focus().fit(X[early], groups=groups[early]).partial_fit(X[~early], groups=groups[~early])
    assert focus.moments_.n_groups == 24
    assert focus.distraction_ == pytest.approx(Focus().fit(X, groups=groups).distraction_, rel=1e-10)


def test_one_group_so_far_removes_nothing(lit):
    X, _, groups = lit
    focus = Focus().partial_fit(X[groups == 0], groups=groups[groups == 0])
    assert np.array_equal(focus.transform(X), X)
    assert "two groups with several rows are needed" in str(focus.summary())
    focus.partial_fit(X[groups > 0], groups=groups[groups > 0])
    assert focus.n_removed_ == 1


def test_fit_groups_reads_a_generator_once_and_joins_consecutive_parts(lit):
    X, _, groups = lit
    batches = ((name, X[groups == name][half]) for name in range(24) for half in (slice(0, 13), slice(13, None)))
    focus = Focus().fit_groups(batches)
    assert focus.distraction_ == pytest.approx(Focus().fit(X, groups=groups).distraction_, rel=1e-10)


def test_repeated_group_error_has_its_name(lit):
    X, _, _ = lit
    with pytest.raises(InputError, match="Group 'mon' is already in these moments"):
        Focus().fit_groups([("mon", X[:40]), ("tue", X[40:80]), ("mon", X[80:120])])


def test_moments_of_several_sites_need_no_rows(lit):
    X, _, groups = lit
    first, second = (Focus().fit(X[part], groups=groups[part]).moments_ for part in (groups < 11, groups >= 11))
    assert Focus().fit_moments(first + second).distraction_ == pytest.approx(Focus().fit(X, groups=groups).distraction_)


@pytest.mark.parametrize(
    "relabel",
    [
        lambda groups: [("camera", int(label)) for label in groups],
        lambda groups: [f"day-{label}" for label in groups],
        lambda groups: pd.Categorical(groups.astype(str)),
        lambda groups: pd.Series(groups, index=np.arange(len(groups))[::-1]),
        lambda groups: pl.Series(groups.astype(str)),
        lambda groups: np.datetime64("2024-01-01") + groups.astype("timedelta64[D]"),
        lambda groups: [bytes([label]) if label % 2 else float(label) for label in groups],
        lambda groups: (label for label in groups.tolist()),
    ],
)
def test_any_hashable_labels_are_accepted(lit, relabel):
    X, _, groups = lit
    focus = Focus().fit(X, groups=relabel(groups))
    assert focus.moments_.n_groups == 24
    assert focus.distraction_ == pytest.approx(Focus().fit(X, groups=groups).distraction_, rel=1e-12)


def test_numbers_and_strings_are_different_groups():
    X = np.random.default_rng(0).normal(size=(40, 1))
    assert Focus().fit(X, groups=[1, "1"] * 20).moments_.names == (1, "1")


def test_fit_without_groups_warns_once_and_removes_nothing(lit):
    X, _, _ = lit
    with pytest.warns(NoGroupsWarning) as caught:
        focus = Focus().fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # the warning has the caller's line
    assert np.array_equal(focus.transform(X), X)
    assert set(focus.kinds_) == {"unknown"}
    assert "0 groups" in str(focus.summary())


@pytest.mark.parametrize("door", ["fit", "fit_groups", "fit_moments"])
def test_warning_has_the_line_of_the_caller(lit, door):
    X, _, groups = lit
    few = {name: X[groups == name] for name in range(3)}
    focus = Focus(cutoff=0.999)  # above the distraction of a pure distractor
    learn = {
        "fit": lambda: focus.fit(np.concatenate([*few.values()]), groups=np.repeat([*few], 40)),
        "fit_groups": lambda: focus.fit_groups(few),
        "fit_moments": lambda: focus.fit_moments(Moments.of(few)),
    }
    with pytest.warns(EvidenceWarning) as caught:
        learn[door]()
    assert {warning.filename for warning in caught} == {__file__}


def test_constant_feature_is_kept_and_changes_nothing(lit):
    X, _, groups = lit
    wider = np.insert(X, 4, 0.1, axis=1)
    focus, plain = Focus().fit(wider, groups=groups), Focus().fit(X, groups=groups)
    assert focus.distraction_[:10] == pytest.approx(plain.distraction_, rel=1e-12)
    assert focus.kinds_[-1] == "constant"
    changed = wider[:1] + np.eye(11)[4]  # a change in a constant feature must be kept in full
    moved = focus.transform(changed) - focus.transform(wider[:1])
    assert np.linalg.norm(moved) == pytest.approx(1.0)
    assert np.count_nonzero(moved.round(12)) == 1  # in one coordinate
