"""`KernelFocus`: FOCUS for non-linear nuisance variation, by a kernel.

rows ─► coordinates in the kernel's feature space ─► linear FOCUS ─► coordinates without nuisance directions
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from undistract._arrays import Floats, Rows, check_number
from undistract._kernel_maps import PRECOMPUTED, FourierMap, Kernel, NystroemMap, PreImage, is_precomputed
from undistract._rollback import restore_on_error
from undistract._schema import instance_of, require, saveable
from undistract.algebra import FocusSummary
from undistract.errors import EvidenceWarning, InputError, NoGroupsWarning
from undistract.focus import Focus, to_numpy
from undistract.sources.source import FeatureNames, concatenate_groups

APPROXIMATIONS = ("nystroem", "fourier")
MAX_ROWS = 5000  # of an exact kernel: its matrix then has 200 MB, and the solution takes minutes
# Chosen with benchmarks/nonlinear on the validation part; see docs/kernel.md. The feature space always has more
# dimensions than there are groups, so the automatic cut-off of `Focus` would keep nearly every direction.
DEFAULT_CUTOFF = 0.8
DEFAULT_RIDGE = 1e-4
ALMOST_ALL = 0.99  # warn if at least this share of the variance is removed
FOCUS_PARAMS = ("cutoff", "n_remove", "ridge", "absolute_ridge", "prior", "removal", "strength")
NO_GROUPS = "KernelFocus was fitted without groups, so nothing is removed. Pass fit(X, groups=labels)."
NO_PRE_IMAGE = (
    "inverse_transform and denoise need the fitted rows, which random Fourier features and precomputed kernels do not "
    "have. Use approx=None or 'nystroem', with a kernel of rows."
)


def _can_update(focus: KernelFocus) -> bool:
    if focus.approx is None:
        raise InputError(
            "An exact kernel cannot be updated: its coordinates depend on all fitted rows. Fit again with all rows, or "
            "use approx='nystroem' or approx='fourier'."
        )
    return True


def _can_invert(focus: KernelFocus) -> bool:
    if focus.approx == "fourier" or is_precomputed(focus.kernel):
        raise InputError(NO_PRE_IMAGE)
    return True


def _from_focus(name: str, doc: str) -> Any:
    return property(lambda self: getattr(self.focus_, name), doc=doc)


def _validate(focus: KernelFocus) -> None:
    mapped = focus.map_
    if isinstance(mapped, FourierMap):
        n_features = len(mapped.frequencies)
    elif mapped.kernel.name == PRECOMPUTED:
        n_features = len(mapped.basis)
    else:
        n_features = mapped.rows.shape[1]
    require(n_features == focus.n_features_in_, "its map has other features")
    n_coordinates = getattr(focus.focus_, "n_features_in_", None)
    require(n_coordinates == mapped.n_out, "its focus has other coordinates than its map")


@saveable({"map_": instance_of(NystroemMap, FourierMap), "focus_": instance_of(Focus)}, validate=_validate)
class KernelFocus(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Remove directions that vary within every group but not between groups, in the feature space of a kernel.

    For non-linear nuisance variation: a position on a ring, exposure, a rotating object. For linear nuisance `Focus`
    is faster and shows which directions it removed.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Any pairwise kernel of scikit-learn that is positive semidefinite, "precomputed", or a function of two rows.
    approx : {None, "nystroem", "fourier"}, default=None
        None is exact, for a few thousand rows. "nystroem" (Nyström) restricts the kernel to the span of randomly drawn
        rows; "fourier" (random Fourier features) is only for the rbf kernel. Both support `partial_fit`.
    n_components : int, default=500
        For an approximation: the number of rows that span, or of coordinates from random frequencies.
    gamma : float or "auto", default="auto"
        For the kernels that have it. By default, one over the median squared distance of rows; for "laplacian", one
        over the median Manhattan distance.
    degree, coef0 : float, default=3 and 1
        For the kernels that have them.
    kernel_params : mapping, optional
        For a kernel that is a function.
    news : bool, default=True
        Add one more coordinate: the length of the part of a row outside the span of the fitted rows. It is zero for
        these. Not available for random frequencies, which span everything, or for a precomputed kernel.
    cutoff, n_remove, ridge, absolute_ridge, prior, removal, strength
        As in `Focus`, for coordinates in the feature space of the kernel.
    random_state : int, RandomState or None, default=None
        Seed of an approximation.

    Attributes
    ----------
    focus_ : Focus
        The Focus of the coordinates: spectrum, moments, selection and projection.
    map_ : NystroemMap or FourierMap
        The map from rows to coordinates.
    distraction_, debiased_distraction_, kinds_, n_removed_, cutoff_, moments_
        Those of `focus_`.

    Examples
    --------
    Thirty machines move on circles with different radii. The position on the circle is nuisance, the radius matters.

    >>> import numpy as np
    >>> from undistract import KernelFocus
    >>> rng = np.random.default_rng(0)
    >>> machine = np.repeat(np.arange(30), 20)
    >>> def on_circle(radius):
    ...     angle = rng.uniform(0, 2 * np.pi, len(radius))
    ...     return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> X = on_circle(rng.uniform(1, 3, 30)[machine])
    >>> focus = KernelFocus().fit(X, groups=machine)
    >>> usual = focus.transform(on_circle(np.full(50, 2.0)))
    >>> other = focus.transform(on_circle(np.full(50, 2.6)))
    >>> gap = np.linalg.norm(other.mean(axis=0) - usual.mean(axis=0))
    >>> bool(gap > 3 * np.linalg.norm(usual.std(axis=0)))
    True
    """

    focus_: Focus
    map_: NystroemMap | FourierMap

    # Request `groups` by default under metadata routing.
    __metadata_request__fit = {"groups": True}  # noqa: RUF012
    __metadata_request__partial_fit = {"groups": True, "batch_id": True}  # noqa: RUF012

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        approx: str | None = None,
        n_components: int = 500,
        gamma: float | str = "auto",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Any = None,
        news: bool = True,
        cutoff: float | str = DEFAULT_CUTOFF,
        n_remove: int | None = None,
        ridge: float = DEFAULT_RIDGE,
        absolute_ridge: bool = False,
        prior: Any = "uniform",
        removal: str = "orthogonal",
        strength: float | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.approx = approx
        self.n_components = n_components
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.news = news
        self.cutoff = cutoff
        self.n_remove = n_remove
        self.ridge = ridge
        self.absolute_ridge = absolute_ridge
        self.prior = prior
        self.removal = removal
        self.strength = strength
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Fit on rows with group labels.

        Parameters
        ----------
        X : (n, d) array or data frame; (n, n) kernel matrix of all rows with a precomputed kernel
        y : ignored
        groups : (n,) sequence of hashables
            The group of each row. Without it, no direction is removed (with a warning).
        """
        return self._fit(X, groups)

    def fit_groups(self, groups: Any) -> Self:
        """Fit on groups; all rows are kept in memory.

        Parameters
        ----------
        groups : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays or of sources.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> days = {day: rng.normal([day, 0, 0], [1, 9, 1], size=(20, 3)) for day in range(12)}
        >>> KernelFocus("linear", cutoff="auto", ridge=0.1).fit_groups(days).n_removed_
        1
        """
        if is_precomputed(self.kernel):
            raise InputError("fit_groups does not support a precomputed kernel. Use fit(K, groups=labels).")
        names = FeatureNames()
        X, labels = concatenate_groups(names.watch(groups))
        return self._fit(X, labels, names.found)

    @available_if(_can_update)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, *, groups: Any = None, batch_id: Hashable | None = None) -> Self:
        """Update the fit with more rows; needs an approximation. The first call fixes the map.

        Parameters
        ----------
        X : (n, d) array or data frame
            In the first call, many rows of several groups: Nyström's approximation draws the rows that span from them,
            and `gamma` is measured on them.
        y : ignored
        groups : (n,) sequence of hashables
        batch_id : hashable, optional
            Identifier of this batch; a batch with an earlier identifier is not counted again.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> focus = KernelFocus(approx="nystroem", n_components=50, random_state=0)
        >>> for hour in range(4):
        ...     rows = rng.normal(size=(60, 3))
        ...     focus = focus.partial_fit(rows, groups=np.repeat(["a", "b", "c"], 20), batch_id=hour)
        >>> focus.moments_.n_rows
        240
        """
        with restore_on_error(self):
            first = not hasattr(self, "focus_")
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=first).astype(np.float64)
            if first:
                self._check_options()
                self.map_ = self._make_map(X)
            # Update a copy: if this fails, the current focus keeps its parameters.
            focus = Focus() if first else copy(self.focus_)
            focus.set_params(**self._focus_params())
            self.focus_ = focus.partial_fit(self.map_(X), groups=to_numpy(groups), batch_id=batch_id)
        return self

    def transform(self, X: Any) -> Rows:
        """Return coordinates in the kernel's feature space without nuisance directions, for any detector.

        Parameters
        ----------
        X : (m, d) array or data frame; (m, n) kernel matrix with the fitted rows, for a precomputed kernel

        Returns
        -------
        (m, k) array, float32 if X is
        """
        rows, dtype = self._validate_rows(X)
        return self.focus_.transform(self.map_(rows)).astype(dtype, copy=False)

    @available_if(_can_invert)  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Rows:
        """Return rows whose coordinates are close to X, with the removed directions at their mean (see `PreImage`)."""
        check_is_fitted(self, "focus_")
        X = check_array(X, dtype=[np.float64, np.float32])
        coordinates = self.focus_.inverse_transform(X.astype(np.float64))
        rows: Rows = self._pre_image()(coordinates).astype(X.dtype, copy=False)
        return rows

    def denoise(self, X: Any, *, removal: str = "oblique") -> Rows:
        """Return rows in their original features without nuisance variation.

        The pre-image of the removed coordinates is subtracted from each row; the part of a row that the kernel does
        not capture stays unchanged. A larger ridge works better here: ``ridge=0.1, cutoff=0.95``.
        """
        rows, dtype = self._validate_rows(X)
        pre_image = self._pre_image()
        coordinates = self.map_(rows)
        clean: Rows = rows - pre_image.difference(coordinates - self.focus_.denoise(coordinates, removal=removal))
        return clean.astype(dtype, copy=False)

    def summary(self) -> FocusSummary:
        """Return what was removed, why, and how strong the evidence is; features are coordinates of the kernel."""
        check_is_fitted(self, "focus_")
        note = f"kernel {self.map_.kernel}: {self.map_}; features are its coordinates"
        return replace(self.focus_.summary(), notes=(note,))

    distraction_ = _from_focus("distraction_", "Distraction of each direction, descending.")
    debiased_distraction_ = _from_focus(
        "debiased_distraction_", "Distraction, corrected for the finite number of rows per group."
    )
    kinds_ = _from_focus("kinds_", "The kind of each direction: distracting, descriptive or constant.")
    n_removed_ = _from_focus("n_removed_", "Number of removed directions.")
    cutoff_ = _from_focus("cutoff_", "The smallest distraction that is removed.")
    moments_ = _from_focus("moments_", "Moments of the coordinates.")
    _n_features_out = _from_focus("_n_features_out", "Number of output features.")

    def _fit(self, X: Any, groups: Any, feature_names: Any = None) -> Self:
        with restore_on_error(self):
            self._check_options()
            min_rows = 1 if groups is None else 2
            X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=min_rows).astype(np.float64)
            if feature_names is not None:
                self.feature_names_in_ = feature_names
            self.map_ = self._make_map(X)
            with warnings.catch_warnings():
                # The feature space always has more dimensions than there are groups: `summary` reports that.
                warnings.simplefilter("ignore", EvidenceWarning)
                warnings.simplefilter("ignore", NoGroupsWarning)
                self.focus_ = Focus(**self._focus_params()).fit(self.map_(X), groups=to_numpy(groups))
            if groups is None:
                warnings.warn(NO_GROUPS, NoGroupsWarning, stacklevel=3)
            removed = float(self.focus_.spectrum_.total_share[: self.n_removed_].sum())
            if removed >= ALMOST_ALL:
                warnings.warn(
                    f"{self.n_removed_} of {self.map_.n_out} directions are removed, with {removed:.0%} of the "
                    "variance, so little is left for a detector. Increase cutoff or ridge, set n_remove, or use "
                    "groups that differ more.",
                    EvidenceWarning,
                    stacklevel=3,
                )
        return self

    def _check_options(self) -> None:
        """Raise an InputError for invalid options; `Kernel` and `Focus` check their own."""
        if self.approx is not None and not (isinstance(self.approx, str) and self.approx in APPROXIMATIONS):
            raise InputError(f"approx must be None, 'nystroem' or 'fourier', got {self.approx!r}.")
        check_number("n_components", self.n_components, least=1, most=MAX_ROWS)
        if not isinstance(self.news, bool):
            raise InputError(f"news must be True or False, got {self.news!r}.")
        is_rbf = isinstance(self.kernel, str) and self.kernel == "rbf"
        if self.approx == "fourier" and not is_rbf:
            raise InputError(f"approx='fourier' needs kernel='rbf', got {self.kernel!r}. Use approx='nystroem'.")
        if self.approx is not None and is_precomputed(self.kernel):
            raise InputError("A precomputed kernel cannot be approximated. Use approx=None.")

    def _make_map(self, X: Floats) -> NystroemMap | FourierMap:
        """Make the map from rows to coordinates: all rows span it (exact), drawn rows, or random frequencies."""
        if self.approx is None:
            self._check_exact(X)
        kernel = Kernel.of(
            X, self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, parameters=self.kernel_params
        )
        rng = check_random_state(self.random_state)
        if self.approx == "fourier":
            return FourierMap.of(kernel, X.shape[1], max(1, int(self.n_components) // 2), rng)
        if self.approx == "nystroem":
            X = X[np.sort(rng.permutation(len(X))[: int(self.n_components)])]
        return NystroemMap.of(X, kernel, news=self.news)

    def _check_exact(self, X: Floats) -> None:
        if len(X) > MAX_ROWS:
            raise InputError(
                f"An exact kernel is limited to {MAX_ROWS} rows, because it needs the product of every pair, got "
                f"{len(X)}. Use approx='nystroem', or approx='fourier' with the rbf kernel."
            )
        if not is_precomputed(self.kernel):
            return
        if X.shape[0] != X.shape[1]:
            raise InputError(f"A precomputed kernel must have shape (n, n), the products of all rows, got {X.shape}.")
        if not np.allclose(X, X.T, rtol=1e-6, atol=1e-6 * float(np.abs(X).max())):
            raise InputError("A precomputed kernel must be symmetric, k(x, y) = k(y, x); this one is not symmetric.")

    def _pre_image(self) -> PreImage:
        if isinstance(self.map_, FourierMap) or self.map_.kernel.name == PRECOMPUTED:
            raise InputError(NO_PRE_IMAGE)
        return self.map_.pre_image

    def _validate_rows(self, X: Any) -> tuple[Floats, npt.DTypeLike]:
        check_is_fitted(self, "focus_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X.astype(np.float64), X.dtype

    def _focus_params(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FOCUS_PARAMS}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
