"""PROMISES 4: any input gives a finite result or one typed error with a next step; never NaN, never a raw error."""

import decimal
import enum
import pickle
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from undistract import Focus, GroupMoments, InputError, KernelFocus, Moments, Spectrum, rank_functions

pytestmark = [
    pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning"),
    pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning"),
]

N_SETS = 4
LABELS = np.repeat(np.arange(N_SETS), 10)


def good_rows():
    """Return four groups of ten rows; the first feature differs between groups, the second varies most."""
    X = np.random.default_rng(0).normal(size=(40, 4)) * [1, 5, 1, 1]
    X[:, 0] += 3 * LABELS
    return X


def rows_with(value):
    X = good_rows()
    X[3, 2] = value
    return X


def frame(X=None, columns="abcd"):
    return pd.DataFrame(good_rows() if X is None else X, columns=list(columns))


usable = {
    "float16": lambda: good_rows().astype(np.float16),
    "float32": lambda: good_rows().astype(np.float32),
    "long double": lambda: good_rows().astype(np.longdouble),
    "other byte order": lambda: good_rows().astype(">f8"),
    "int8": lambda: (10 * good_rows()).astype(np.int8),
    "uint64": lambda: (1e18 * np.abs(good_rows())).astype(np.uint64),
    "bool": lambda: good_rows() > 0,
    "lists": lambda: good_rows().tolist(),
    "columns first": lambda: np.asfortranarray(good_rows()),
    "read only": lambda: np.broadcast_to(good_rows(), (40, 4)),
    "every second row": lambda: np.repeat(good_rows(), 2, axis=0)[::2],
    "constant": lambda: np.full((40, 4), 0.1),
    "zeros": lambda: np.zeros((40, 4)),
    "duplicate rows": lambda: np.repeat(good_rows()[::10], 10, axis=0),
    "duplicate features": lambda: good_rows()[:, [0, 1, 0, 1]],
    "integer columns": lambda: pd.DataFrame(good_rows()),
}
refused = {
    "NaN": lambda: rows_with(np.nan),
    "inf": lambda: rows_with(np.inf),
    "-inf": lambda: rows_with(-np.inf),
    "no rows": lambda: good_rows()[:0],
    "no features": lambda: good_rows()[:, :0],
    "one dimension": lambda: good_rows()[:, 0],
    "three dimensions": lambda: good_rows()[None],
    "scalar": lambda: 3.0,
    "nothing": lambda: None,
    "a word": lambda: "rows",
    "ragged": lambda: [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0]] * 20,
    "objects": lambda: np.full((40, 4), "a", dtype=object),
    "strings": lambda: np.full((40, 4), "a"),
    "mixed frame": lambda: pd.DataFrame({"a": ["x"] * 40, "b": 1, "c": 2.0, "d": True}),
    "missing values in a frame": lambda: frame(rows_with(np.nan)).astype("Float64"),
    "nulls in a polars frame": lambda: pl.DataFrame({name: [None] + [1.0] * 39 for name in "abcd"}),
    "complex": lambda: good_rows() + 1j,
    "sparse": lambda: scipy.sparse.csr_array(good_rows()),
}
# Their squares overflow: a good result or an error, both without a numpy warning.
extreme = {
    "1e308": lambda: good_rows() * 1e306,
    "1e308, constant": lambda: np.full((40, 4), 1e308),
    "1e160": lambda: good_rows() * 1e160,
    "1e153": lambda: good_rows() * 1e153,
    "1e-155": lambda: good_rows() * 1e-155,
    "1e-170": lambda: good_rows() * 1e-170,
    "1e-308": lambda: good_rows() * 1e-308,
    "all scales at once": lambda: good_rows() * [1e-300, 1.0, 1e150, 1e-160],
}


def labels_for(rows):
    n_rows = rows.shape[0] if hasattr(rows, "shape") and rows.shape else len(rows) if hasattr(rows, "__len__") else 40
    return np.arange(n_rows) * N_SETS // max(n_rows, 1)


def split(rows):
    """Return the same rows as groups by name, in their own type."""
    labels = labels_for(rows)
    if isinstance(rows, pd.DataFrame):
        return {name: rows.iloc[labels == name] for name in range(N_SETS)}
    if isinstance(rows, pl.DataFrame):
        return {name: rows.filter(pl.Series(labels == name)) for name in range(N_SETS)}
    if isinstance(rows, list):
        return {name: [row for row, label in zip(rows, labels, strict=True) if label == name] for name in range(N_SETS)}
    if len(labels) == 40 and hasattr(rows, "__getitem__") and not isinstance(rows, str):
        return {name: rows[labels == name] for name in range(N_SETS)}
    return {0: rows, 1: rows}


def fitted(**settings):
    return Focus(**settings).fit(good_rows(), groups=LABELS)


# Entry points that fit, and entry points that use a fitted model.
learning = {
    "fit": lambda rows: Focus().fit(rows, groups=labels_for(rows)),
    "fit without a ridge": lambda rows: Focus(ridge=0.0).fit(rows, groups=labels_for(rows)),
    "fit by eigenvectors": lambda rows: Focus(cutoff=0.6, removal="eigen").fit(rows, groups=labels_for(rows)),
    "fit softly": lambda rows: Focus(cutoff=0.6, removal="soft").fit(rows, groups=labels_for(rows)),
    "fit without groups": lambda rows: Focus().fit(rows),
    "fit_groups": lambda rows: Focus().fit_groups(split(rows)),
    "partial_fit": lambda rows: Focus().partial_fit(rows, groups=labels_for(rows)),
    "partial_fit after fit": lambda rows: fitted().partial_fit(rows, groups=labels_for(rows) + 2),
    "fit by a kernel": lambda rows: KernelFocus().fit(rows, groups=labels_for(rows)),
    "fit by a polynomial": lambda rows: KernelFocus("poly", degree=2).fit(rows, groups=labels_for(rows)),
    "fit by Nyström": lambda rows: KernelFocus(approx="nystroem").fit(rows, groups=labels_for(rows)),
    "fit by waves": lambda rows: KernelFocus(approx="fourier").fit(rows, groups=labels_for(rows)),
    "fit by a kernel without groups": lambda rows: KernelFocus().fit(rows),
    "fit_groups by a kernel": lambda rows: KernelFocus().fit_groups(split(rows)),
    "partial_fit by waves": lambda rows: KernelFocus(approx="fourier").partial_fit(rows, groups=labels_for(rows)),
    "Moments.of": lambda rows: Moments.of(split(rows)),
    "Moments.from_labels": lambda rows: Moments.from_labels(rows, labels_for(rows)),
    "GroupMoments.of": lambda rows: GroupMoments.of(rows),
    "rank_functions": lambda rows: rank_functions({"first": lambda x: np.asarray(x)[:, 0]}, split(rows)),
}
using = {
    "transform": lambda rows: fitted(n_remove=2).transform(rows),
    "transform by eigenvectors": lambda rows: fitted(n_remove=2, removal="eigen").transform(rows),
    "transform obliquely": lambda rows: fitted(n_remove=2, removal="oblique").transform(rows),
    "transform softly": lambda rows: fitted(n_remove=2, removal="soft").transform(rows),
    "undo softly": lambda rows: fitted(n_remove=2, removal="soft", strength=9.0).inverse_transform(rows),
    "inverse_transform": lambda rows: fitted(n_remove=0).inverse_transform(rows),
    "denoise": lambda rows: fitted(n_remove=2).denoise(rows),
    "transform by a kernel": lambda rows: KernelFocus().fit(good_rows(), groups=LABELS).transform(rows),
    "transform by waves": lambda rows: KernelFocus(approx="fourier").fit(good_rows(), groups=LABELS).transform(rows),
    "denoise by a kernel": lambda rows: KernelFocus().fit(good_rows(), groups=LABELS).denoise(rows),
}


def numbers_in(result):
    """Return all numbers of a result that a user can see."""
    if isinstance(result, Focus):
        assert str(result.summary())
        assert len(result.get_feature_names_out()) == result.transform(good_rows()[:, : result.n_features_in_]).shape[1]
        return [
            result.distraction_,
            result.debiased_distraction_,
            result.filters_,
            result.patterns_,
            result.components_,
        ]
    if isinstance(result, KernelFocus):
        assert str(result.summary())
        transformed = result.transform(good_rows()[:, : result.n_features_in_])
        return [result.distraction_, result.debiased_distraction_, transformed]
    if isinstance(result, Moments):
        return [result.within, result.between, result.mean]
    if isinstance(result, GroupMoments):
        return [result.mean, result.scatter]
    if isinstance(result, list):
        return [[function.within, function.total, function.distraction] for function in result]
    return [np.asarray(result)]


def is_helpful(error):
    """Return True for our errors and those of scikit-learn's validation, not for raw errors of numpy or Python."""
    said_in = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return isinstance(error, InputError) or any("sklearn" in path for path in said_in)


def result_or_reason(attempt):
    """Return the result, or None after a helpful error; raise all other errors."""
    try:
        return attempt()
    except (ValueError, TypeError) as refusal:
        if is_helpful(refusal):
            return None
        raise


@pytest.mark.parametrize("door", [*learning, *using])
@pytest.mark.parametrize("rows", usable)
def test_unusual_but_usable_rows_give_finite_numbers(rows, door):
    result = (learning | using)[door](usable[rows]())
    assert all(np.isfinite(numbers).all() for numbers in numbers_in(result))


@pytest.mark.parametrize("door", [*learning, *using])
@pytest.mark.parametrize("rows", refused)
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
def test_unusable_rows_raise_a_helpful_error(rows, door):
    with pytest.raises((ValueError, TypeError)) as refusal:
        (learning | using)[door](refused[rows]())
    assert is_helpful(refusal.value), repr(refusal.value)


@pytest.mark.parametrize("door", learning)
@pytest.mark.parametrize("rows", extreme)
def test_extreme_rows_give_finite_numbers_or_a_helpful_error(rows, door):
    result = result_or_reason(lambda: learning[door](extreme[rows]()))
    assert result is None or all(np.isfinite(numbers).all() for numbers in numbers_in(result))


@pytest.mark.parametrize("n_features", [4, 200])  # matrices; few rows
@pytest.mark.parametrize("exponent", [-300, -170, -162, -160, -155, -140, 140, 150, 153, 154, 300])
def test_tiny_and_huge_rows_give_the_usual_result_or_an_error(exponent, n_features):
    X = np.random.default_rng(0).normal(size=(40, n_features))
    X[:, 0] += 3 * LABELS
    usual = Focus().fit(X, groups=LABELS)
    scaled = result_or_reason(lambda: Focus().fit(X * float(f"1e{exponent}"), groups=LABELS))
    if scaled is not None:
        assert scaled.distraction_ == pytest.approx(usual.distraction_, abs=1e-6)
        assert scaled.debiased_distraction_ == pytest.approx(usual.debiased_distraction_, abs=1e-6)


def test_uninitialized_memory_does_not_matter(monkeypatch):
    """Regression: the unused half of a matrix was uninitialized and divided; tiny rows sometimes warned of overflow."""
    X = 1e-140 * np.random.default_rng(0).normal(size=(40, 200))
    usual = Focus().fit(X, groups=LABELS).distraction_
    monkeypatch.setattr(np, "empty", lambda shape, **how: np.full(shape, 1e300, **how))
    assert (Focus().fit(X, groups=LABELS).distraction_ == usual).all()


@pytest.mark.parametrize("door", ["transform", "denoise", "partial_fit after fit"])
def test_rows_of_another_width_are_an_error(door):
    with pytest.raises(ValueError, match="3 features, but Focus is expecting 4"):
        (learning | using)[door](good_rows()[:, :3])


def test_coordinates_of_another_width_are_an_error():
    with pytest.raises(InputError, match="transform gives 3"):
        fitted(n_remove=1).inverse_transform(good_rows())


def test_groups_of_different_width_are_an_error():
    X = good_rows()
    with pytest.raises(InputError, match="Group 'b' has 2 features, the others have 4"):
        Focus().fit_groups({"a": X[:20], "b": X[20:, :2]})


def test_groups_of_different_dtypes_give_the_same_result():
    X = np.round(8 * good_rows())
    dtypes = [np.float16, np.int8, np.float32, np.int64]
    mixed = [X[m == LABELS].astype(dtype) for m, dtype in enumerate(dtypes)]
    assert Focus().fit_groups(mixed).distraction_ == pytest.approx(Focus().fit(X, groups=LABELS).distraction_)


# Insufficient groups.


def test_one_group_is_an_error():
    with pytest.raises(InputError, match="at least two groups"):
        Focus().fit(good_rows(), groups=np.zeros(40))


def test_groups_of_one_row_are_an_error():
    with pytest.raises(InputError, match="single row"):
        Focus().fit(good_rows(), groups=np.arange(40))


@pytest.mark.parametrize("groups", [[], {}, iter([])])
def test_no_groups_are_an_error(groups):
    with pytest.raises(InputError, match="There are no groups"):
        Focus().fit_groups(groups)


@pytest.mark.parametrize("groups", [good_rows(), None, 3, scipy.sparse.csr_array(good_rows())], ids=type)
def test_single_object_instead_of_groups_is_an_error(groups):
    with pytest.raises(InputError, match="Expected several groups"):
        Focus().fit_groups(groups)


@pytest.mark.parametrize("moments", [None, "moments", good_rows(), GroupMoments.of(good_rows())], ids=type)
def test_fit_moments_rejects_other_types(moments):
    with pytest.raises((ValueError, TypeError)):
        Focus().fit_moments(moments)


# Labels and names.


class Camera(enum.Enum):
    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3


DAYS = pd.date_range("2024-01-01", periods=N_SETS)
hashable_names = {
    "words": list("abcd"),
    "bytes": [b"a", b"b", b"c", b"d"],
    "tuples": [("north", 0), ("north", 1), ("south", 0), ("south", 1)],
    "mixed": ["a", 1, ("x",), 2.5],
    "1 and '1'": [1, "1", 2, "2"],
    "enums": list(Camera),
    "dates": [day.date() for day in DAYS],
    "timestamps": list(DAYS),
    "numpy integers": list(np.arange(N_SETS)),
    "numpy floats": list(np.linspace(0, 1, N_SETS)),
    "numpy words": list(np.array(list("abcd"))),
    "numpy dates": list(DAYS.to_numpy()),
    "frozen groups": [frozenset([name]) for name in range(N_SETS)],
}


@pytest.mark.parametrize("kind", hashable_names)
def test_any_hashable_can_be_a_label(kind):
    names = hashable_names[kind]
    focus = Focus().fit(good_rows(), groups=[names[label] for label in LABELS])
    assert focus.distraction_ == pytest.approx(fitted().distraction_)


@pytest.mark.parametrize("kind", hashable_names)
def test_any_hashable_can_name_a_group(kind):
    X = good_rows()
    focus = Focus().fit_groups((name, X[number == LABELS]) for number, name in enumerate(hashable_names[kind]))
    assert focus.moments_.names == tuple(hashable_names[kind])
    assert focus.distraction_ == pytest.approx(fitted().distraction_)


label_columns = {
    "generator": lambda: (int(label) for label in LABELS),
    "series with an odd index": lambda: pd.Series(LABELS, index=3 * np.arange(40)[::-1]),
    "strings": lambda: pd.Series(list("abcd"))[LABELS],
    "categories": lambda: pd.Categorical.from_codes(LABELS, list("abcd")),
    "nullable integers": lambda: pd.Series(LABELS, dtype="Int64"),
    "days": lambda: DAYS[LABELS],
    "periods": lambda: DAYS.to_period("D")[LABELS],
    "index of two levels": lambda: pd.MultiIndex.from_arrays([LABELS, LABELS]),
    "polars": lambda: pl.Series(LABELS),
    "polars categories": lambda: pl.Series(np.array(list("abcd"))[LABELS], dtype=pl.Categorical),
}


@pytest.mark.parametrize("kind", label_columns)
def test_any_column_of_labels_is_accepted(kind):
    assert Focus().fit(good_rows(), groups=label_columns[kind]()).distraction_ == pytest.approx(fitted().distraction_)


def test_equal_dates_of_different_types_are_one_group():
    X, nanoseconds = good_rows(), DAYS.to_numpy().astype("datetime64[ns]")
    focus = Focus().partial_fit(X[::2], groups=nanoseconds[LABELS[::2]])
    focus.partial_fit(X[1::2], groups=[DAYS[label] for label in LABELS[1::2]])
    assert focus.moments_.n_groups == N_SETS


bad_labels = {
    "too few": LABELS[:39],
    "none at all": [],
    "two dimensions": LABELS[:, None],
    "a frame": pd.DataFrame({"set": LABELS}),
    "scalar": 3,
    "one string": "a" * 40,
    "lists": [[int(label)] for label in LABELS],
}
missing = {
    "None": None,
    "NaN": float("nan"),
    "NaN of numpy": np.float32("nan"),
    "NA of pandas": pd.NA,
    "NaT of pandas": pd.NaT,
    "NaT of numpy": np.datetime64("NaT"),
    "NaN of decimal": decimal.Decimal("NaN"),
}


@pytest.mark.parametrize("kind", bad_labels)
@pytest.mark.parametrize("door", ["fit", "partial_fit"])
def test_unusable_labels_are_an_error(kind, door):
    with pytest.raises(InputError):
        getattr(Focus(), door)(good_rows(), groups=bad_labels[kind])


@pytest.mark.parametrize("kind", missing)
def test_missing_label_error_names_the_row(kind):
    labels = [int(label) for label in LABELS]
    labels[7] = missing[kind]
    with pytest.raises(InputError, match="Row 7 has no group label"):
        Focus().fit(good_rows(), groups=labels)


# Settings.

nonsense = [
    *[("ridge", value) for value in (-1, np.nan, np.inf, "x", None, [0.1])],
    *[("cutoff", value) for value in (0, 2, -1, np.nan, "x", None, [0.5])],
    *[("n_remove", value) for value in (-1, 2.5, True, 10**9, "2", np.nan)],
    *[("removal", value) for value in ("x", None, 0, ["eigen"])],
    *[("prior", value) for value in ("x", None, 3, {}, [], [1.0], [1.0] * 5, [0.0, 1.0, 1.0, 1.0])],
    *[("prior", value) for value in ([-1.0, 1.0, 1.0, 1.0], [np.nan, 1.0, 1.0, 1.0], {0: 1.0}, {0: "x"}, [[1.0]] * 4)],
]


@pytest.mark.parametrize(("setting", "value"), nonsense, ids=str)
def test_invalid_setting_error_names_the_setting(setting, value):
    with pytest.raises(InputError, match=setting):
        Focus().set_params(**{setting: value}).fit(good_rows(), groups=LABELS)


@pytest.mark.parametrize(
    "prior",
    [(1.0, 2.0, 3.0, 4.0), np.array([1.0, 2.0, 3.0, 4.0]), {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}.values()],
    ids=["tuple", "array", "values of a mapping"],
)
def test_weights_may_be_any_collection(prior):
    focus = Focus(prior=prior).fit(good_rows(), groups=LABELS)
    assert focus.moments_.shares == pytest.approx([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("size", [1e-99, 1e-30, 1e30, 1e99])
def test_only_the_ratio_of_weights_counts(size):
    plain, sized = (
        Focus(prior=[weight * unit for weight in (1.0, 2.0, 3.0, 4.0)]).fit(good_rows(), groups=LABELS)
        for unit in (1.0, size)
    )
    assert sized.distraction_ == pytest.approx(plain.distraction_)
    assert sized.debiased_distraction_ == pytest.approx(plain.debiased_distraction_)


@pytest.mark.parametrize("size", [1e-300, 1e307])
def test_overflowing_weights_are_an_error(size):
    with pytest.raises(InputError, match="1e-100 to 1e100"):
        Focus(prior=[size, size, size, size]).fit(good_rows(), groups=LABELS)


@pytest.mark.parametrize(("setting", "value"), [("ridge", 1e308), ("ridge", 1e200), ("prior", [1e20, 1.0, 1.0, 1.0])])
def test_extreme_setting_gives_finite_numbers_or_a_helpful_error(setting, value):
    focus = result_or_reason(lambda: Focus(**{setting: value}).fit(good_rows(), groups=LABELS))
    assert focus is None or all(np.isfinite(numbers).all() for numbers in numbers_in(focus))


ridged = {
    "Spectrum.of": lambda ridge: Spectrum.of(Moments.of(split(good_rows())), ridge=ridge),
    "rank_functions": lambda ridge: rank_functions([lambda x: x[:, 0]], split(good_rows()), ridge=ridge),
}


@pytest.mark.parametrize("ridge", [-1.0, np.nan, np.inf, "x", None])
@pytest.mark.parametrize("door", ridged)
def test_invalid_ridge_is_an_error_at_each_entry_point(door, ridge):
    with pytest.raises(InputError, match="ridge"):
        ridged[door](ridge)


# State after a failure.


def test_failed_first_fit_leaves_the_estimator_unfitted():
    focus = Focus()
    with pytest.raises(InputError):
        focus.fit(good_rows(), groups=LABELS[:3])
    for use in (focus.transform, focus.inverse_transform, focus.denoise):
        with pytest.raises(NotFittedError):
            use(good_rows())
    with pytest.raises(NotFittedError):
        focus.summary()


def test_failed_refit_keeps_the_old_model():
    focus = Focus(n_remove=1).fit(frame(), groups=LABELS)
    before = focus.transform(frame())
    with pytest.raises(InputError):
        focus.fit(frame(good_rows()[:, :2], "xy"), groups=LABELS[:3])
    assert np.array_equal(focus.transform(frame()), before)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (good_rows(), LABELS[:3]),
        (rows_with(np.nan), LABELS),
        (good_rows()[:, :2], LABELS),
        (good_rows(), None),
        (good_rows(), [None] * 40),
    ],
    ids=["labels", "NaN", "width", "without groups", "missing labels"],
)
def test_failed_partial_fit_changes_nothing(rows, labels):
    X = good_rows()
    focus = Focus().partial_fit(X[::2], groups=LABELS[::2])
    with pytest.raises(ValueError):  # noqa: PT011  the type is tested elsewhere
        focus.partial_fit(rows, groups=labels)
    focus.partial_fit(X[1::2], groups=LABELS[1::2])
    assert focus.moments_.n_rows == 40
    assert focus.distraction_ == pytest.approx(fitted().distraction_)


@pytest.mark.parametrize("relearn", ["fit", "fit_groups", "fit_moments"])
def test_refit_forgets_the_old_columns(relearn):
    X = good_rows()[:, :3]
    focus = Focus(n_remove=1, removal="oblique").fit(frame(), groups=LABELS)
    if relearn == "fit":
        focus.fit(X, groups=LABELS)
    elif relearn == "fit_groups":
        focus.fit_groups(split(X))
    else:
        focus.fit_moments(Moments.of(split(X)))
    assert not hasattr(focus, "feature_names_in_")
    assert list(focus.get_feature_names_out()) == ["x0", "x1", "x2"]
    assert focus.transform(X).shape == (40, 3)  # and no warning about names


def test_numbered_columns_are_not_feature_names():
    table = pd.DataFrame(good_rows())
    focus = Focus(n_remove=1).fit_groups(split(table))
    assert not hasattr(focus, "feature_names_in_")
    assert focus.transform(table).shape == (40, 3)  # and no warning about names


def test_changed_setting_applies_at_the_next_fit():
    focus = fitted(n_remove=1).set_params(removal="oblique")
    assert len(focus.get_feature_names_out()) == focus.transform(good_rows()).shape[1]
    assert focus.summary().removal == "orthogonal"


def test_pickled_model_supports_partial_fit():
    X = good_rows()
    focus = pickle.loads(pickle.dumps(Focus().partial_fit(X[::2], groups=LABELS[::2])))
    focus.partial_fit(X[1::2], groups=LABELS[1::2])
    assert focus.distraction_ == pytest.approx(fitted().distraction_)


def test_input_rows_are_never_modified():
    X = good_rows()
    with warnings.catch_warnings(action="ignore"):
        for door in learning | using:
            (learning | using)[door](X)
    assert np.array_equal(X, good_rows())
