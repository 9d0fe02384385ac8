"""`Focus`: learn nuisance directions from groups of normal rows, and remove them from any rows.

groups ─► moments ─► spectrum ─► selection ─► projection
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils._array_api import _convert_to_numpy, get_namespace_and_device
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from undistract._arrays import Floats, Rows
from undistract.algebra.array_api import Namespace, to_device
from undistract.algebra.feedback import Feedback, apply_feedback
from undistract.algebra.groups import number_groups
from undistract.algebra.moments import GroupMoments, Moments
from undistract.algebra.projection import REMOVALS, Projection, check_removal
from undistract.algebra.selection import Selection, check_cutoff, eigen_request, select_directions
from undistract.algebra.sketch import SketchedMoments, describe_sketch, sketched_cut, sketched_spectrum
from undistract.algebra.solvers import EigenRequest
from undistract.algebra.spectrum import (
    DEFAULT_RIDGE,
    Spectrum,
    check_enough_groups,
    check_ridge,
    compute_spectrum,
    count_varying,
    has_enough_groups,
)
from undistract.algebra.streaming import StreamingMoments
from undistract.algebra.summary import FocusSummary
from undistract.errors import EvidenceWarning, InputError, NoGroupsWarning
from undistract.sources.source import FeatureNames, chunk_memmaps

# Attributes that `partial_fit` leaves open: the first access computes them.
SOLVED = ("moments_", "spectrum_", "selection_", "projection_")
INSUFFICIENT = Selection(0, 1.0, "insufficient")
PARAMETERS = ("cutoff", "n_remove", "ridge", "absolute_ridge", "prior", "removal", "strength")

Solution = tuple[Spectrum, Selection, Projection]

# Projections of `denoise` with another removal than that of the estimator, so that a device copies each only once.
_OTHER_PROJECTIONS: WeakKeyDictionary[Projection, dict[str, Projection]] = WeakKeyDictionary()


class Focus(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Remove nuisance directions: those that vary within every group but not between groups.

    Parameters
    ----------
    cutoff : float or "auto", default="auto"
        Remove directions with at least this distraction. ``cutoff=0.999, ridge=1e-8`` is the paper's setting.
    n_remove : int, optional
        Remove this number of directions, the most distracting first; overrides `cutoff`.
    ridge : float, default=0.1
        Between-group variance added to every direction, as a multiple of the mean variance of the features (the paper's
        cushion). It prevents directions with hardly any variance from looking distracting.
    absolute_ridge : bool, default=False
        Use `ridge` in squared units of the features instead.
    prior : {"uniform", "by_size"}, mapping or sequence, default="uniform"
        Weight of each group: equal, by its number of rows, or weights by group name or in order.
    removal : {"orthogonal", "eigen", "oblique", "soft"}, default="orthogonal"
        How directions are removed: orthonormal coordinates of the complement of the removed patterns; the readings of
        the kept eigenvectors, as in the paper; the original features with each removed reading set to its mean; or the
        original features, shrunk along the removed directions.
    strength : float or "auto", default="auto"
        γ, how much a soft removal shrinks: 0 changes nothing, and a large value approaches the orthogonal removal. By
        default each direction has its own strength: practically a cut with enough evidence, and less with few and
        heterogeneous groups.

    Attributes
    ----------
    distraction_ : (d,) array
        λ, the share of the variance along each direction that is within groups, between 0 and 1, largest first.
    debiased_distraction_ : (d,) array
        The same without the sampling noise of the group means.
    kinds_ : (d,) array of str
        "distracting" (removed), "descriptive" or "constant" (both kept).
    filters_, patterns_ : (d, q) arrays
        Filters read a direction, patterns are the movement of rows along it; q < d if some directions never varied.
    components_ : (k, d) array
        Orthonormal basis of the complement of the removed patterns.
    n_removed_ : int
    cutoff_ : float
    moments_ : Moments
        The sufficient statistics of the rows; ``focus.moments_ + more`` adds groups.
    spectrum_, selection_, projection_ : Spectrum, Selection, Projection
        The solved eigenproblem, the decision what to remove, and the map that removes it.
    streaming_ : StreamingMoments
        State of `partial_fit`: open groups, closed groups, and the ids of the batches that were counted.
    feedback_ : Feedback or None
        User feedback that was applied.

    Examples
    --------
    Ten days of one machine: the first feature differs between days, the second only varies within each day.

    >>> import numpy as np
    >>> from undistract import Focus
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(10), 100)
    >>> X = rng.normal(size=(1000, 4)) * [1, 12, 1, 1]
    >>> X[:, 0] += 3 * day
    >>> focus = Focus().fit(X, groups=day)
    >>> focus.kinds_
    array(['distracting', 'descriptive', 'descriptive', 'descriptive'], dtype='<U11')
    >>> focus.transform(X).shape
    (1000, 3)
    >>> print(focus.summary())
    Fitted on 10 groups, 1000 rows, 4 features.
    Removed: 1 of 4 directions, with 98% of the within-group variance and 63% of the total variance (orthogonal).
    Strongest: feature 1.
    Reason: distraction 0.956 (de-biased at least 1.000) is at least 0.95, the automatic cut-off: rows vary there at
    least 19 times as much within groups as groups differ (with a ridge of 0.1 mean variances).
    Kept: 3 descriptive directions (highest distraction 0.169), 0 constant within groups.
    Evidence: 10 groups can show differences in 9 directions, 4 vary. Expected distraction of a pure distractor: 0.991.
    """

    # Request `groups` by default under metadata routing.
    __metadata_request__fit = {"groups": True}  # noqa: RUF012
    __metadata_request__partial_fit = {"groups": True, "batch_id": True}  # noqa: RUF012

    n_features_in_: int
    moments_: Moments
    spectrum_: Spectrum
    selection_: Selection
    projection_: Projection
    streaming_: StreamingMoments
    feedback_: Feedback | None
    fit_params_: dict[str, Any]  # the parameters at the time of fitting; they may have been changed since
    _fitted_on: tuple[str, str] | None = None  # array library and device of the rows; None for numpy

    def __init__(
        self,
        *,
        cutoff: float | str = "auto",
        n_remove: int | None = None,
        ridge: float = DEFAULT_RIDGE,
        absolute_ridge: bool = False,
        prior: Any = "uniform",
        removal: str = "orthogonal",
        strength: float | str = "auto",
    ) -> None:
        self.cutoff = cutoff
        self.n_remove = n_remove
        self.ridge = ridge
        self.absolute_ridge = absolute_ridge
        self.prior = prior
        self.removal = removal
        self.strength = strength

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Fit to rows with group labels.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        groups : (n,) sequence of hashables
            Group label of each row. Without labels a warning is issued and nothing is removed.
        """
        self.check_params()
        namespace = namespace_of(X)
        checked = Focus()  # validate_data writes to its estimator; self must not change if fitting fails
        checks: dict[str, Any] = {"dtype": supported_dtypes(namespace), "ensure_min_samples": 1}
        if groups is None:
            rows = to_numpy(validate_data(checked, X, **checks))
            moments = Moments.of([(None, GroupMoments.of(rows))])
            warn_without_groups(stacklevel=3)
            return self._set_solution(moments, self._solve(moments, allow_insufficient=True), checked, namespace)
        # NaN and inf propagate into the sums, which are checked: skip the separate pass over the rows.
        checks["ensure_min_samples"] = 2
        rows = to_numpy(validate_data(checked, X, ensure_all_finite=False, **checks))
        try:
            moments = Moments.from_labels(rows, to_numpy(groups), self.prior, validated=True)
        except InputError:
            validate_data(checked, X, **checks)  # its message names the invalid values
            raise
        return self._set_solution(moments, self._solve(moments), checked, namespace, warn=True)

    def fit_groups(self, groups: Any) -> Self:
        """Fit to groups one by one, in constant memory.

        Parameters
        ----------
        groups : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays or of sources. Consecutive
            items with the same name are parts of one group.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> recordings = (rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10))
        >>> Focus().fit_groups(recordings).n_removed_
        1
        """
        self.check_params()
        names = FeatureNames()
        moments = Moments.of(chunk_memmaps(names.watch(groups)), self.prior)
        checked = Focus()
        if names.found is not None:
            checked.feature_names_in_ = names.found
        return self._set_solution(moments, self._solve(moments), checked, warn=True)

    def fit_moments(self, moments: Moments | SketchedMoments, *, feedback: Feedback | None = None) -> Self:
        """Fit to moments that were computed before; their own prior applies.

        Parameters
        ----------
        moments : Moments or SketchedMoments
        feedback : Feedback, optional
            False alarms to ignore, and confirmed anomalies to keep visible.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> moments = Moments.of(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10))
        >>> Focus().fit_moments(moments).n_removed_
        0
        >>> Focus().fit_moments(moments, feedback=Feedback([[0, 7, 0, 0]])).n_removed_
        1
        """
        self.check_params()
        if not isinstance(moments, Moments | SketchedMoments):
            raise InputError(
                f"moments must be Moments, got {type(moments).__name__}. Create them with Moments.of(groups)."
            )
        return self._set_solution(moments, self._solve(moments, feedback), Focus(), feedback=feedback, warn=True)

    def partial_fit(self, X: Any, y: Any = None, *, groups: Any = None, batch_id: Hashable | None = None) -> Self:
        """Add more rows; a group may arrive in any number of batches.

        Rows are added to the moments at once; the solution is computed on the next access (`transform`, `n_removed_`,
        `summary`). Each group stays open with its own scatter matrix, so memory grows with the number of groups, until
        `close_groups` is called. If groups arrive complete, `fit_groups` needs only a few matrices. Weak evidence does
        not raise a warning here; see `summary`.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        groups : (n,) sequence of hashables
        batch_id : hashable, optional
            Identifier of this batch, such as its hour or file. A batch whose id was seen before is skipped silently, so
            after an interruption a batch can be sent again. The ids are stored with the model, in
            ``focus.streaming_.batch_ids``.

        Examples
        --------
        >>> import numpy as np
        >>> from undistract import Focus
        >>> rng = np.random.default_rng(0)
        >>> focus = Focus()
        >>> for hour in [0, 1, 2, 2, 3]:  # one batch is sent twice
        ...     rows = rng.normal(size=(60, 3)) * [9, 1, 1] + [[0, hour, 0]]
        ...     focus = focus.partial_fit(rows, groups=np.repeat(["a", "b"], 30), batch_id=hour)
        >>> focus.moments_.n_rows
        240
        """
        self.check_params()
        if not isinstance(self.prior, str) and not hasattr(self.prior, "keys"):
            raise InputError("prior has weights in order, but a stream has no fixed order. Pass weights by group name.")
        is_first = not self.__sklearn_is_fitted__()
        before = StreamingMoments()
        checked = Focus()
        if not is_first:
            before = self.streaming_
            checked = self
        # Open groups are numpy arrays, so rows of another array library are converted.
        X = to_numpy(validate_data(checked, X, dtype=supported_dtypes(namespace_of(X)), reset=is_first))
        groups = to_numpy(groups)
        if not is_first and (groups is None) != (before.names == (None,)):
            raise InputError("Some batches have groups, others do not. Pass groups in every call of partial_fit.")
        if isinstance(before.closed, SketchedMoments):
            raise InputError(
                "Focus was fitted to a sketch, which rows cannot extend. Sketch the new groups and add both: "
                f"focus.fit_moments(focus.moments_ + SketchedMoments.of(groups, size={before.closed.size}))."
            )
        if batch_id is not None and before.has_batch(batch_id, len(X)):
            return self
        names: tuple[Hashable, ...] = (None,)
        codes = np.zeros(len(X), np.int64)
        prior: Any = "uniform"
        if groups is not None:
            names, codes = number_groups(groups, len(X))
            prior = self.prior
        self._set_streaming(before.update(X, names, codes, prior, batch_id))
        self._set_input(checked, X.shape[1])
        self.feedback_ = None
        if groups is None:
            warn_without_groups(stacklevel=3)
        return self

    def close_groups(self, names: Collection[Hashable] | None = None) -> Self:
        """Close groups that will not receive more rows: their sums are merged and take no separate memory.

        The result does not change. If many rows were seen, later rows of a closed group are an error.

        Parameters
        ----------
        names : collection of hashables, optional
            Groups to close; all open groups by default.

        Examples
        --------
        >>> import numpy as np
        >>> from undistract import Focus
        >>> rng = np.random.default_rng(0)
        >>> focus = Focus()
        >>> for day in range(10):
        ...     for hour in range(24):
        ...         focus = focus.partial_fit(rng.normal([day, 0, 0], [1, 9, 1], size=(20, 3)), groups=[day] * 20)
        ...     focus = focus.close_groups()
        >>> focus.n_removed_, len(focus.streaming_.open_groups)
        (1, 0)
        """
        check_is_fitted(self)
        if isinstance(names, str | bytes):
            raise InputError(f"names must be a collection of group names, got {names!r}. Pass [{names!r}].")
        streaming = self.streaming_.close(names, self._stream_prior())
        if self.is_stale:
            self._set_streaming(streaming)
        else:
            # The solution stays valid. The order of the groups may change, so take the moments from the new state.
            self.streaming_ = streaming
            self.moments_ = streaming.moments(self._stream_prior())
        return self

    def with_feedback(self, feedback: Feedback) -> Focus:
        """Return a copy with user feedback applied; the eigenproblem of the groups is not solved again.

        Parameters
        ----------
        feedback : Feedback
            Replaces feedback that was applied before.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> focus = Focus().fit_groups(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10))
        >>> focus.with_feedback(Feedback([[0, 7, 0, 0]])).n_removed_, focus.n_removed_
        (1, 0)
        """
        check_is_fitted(self)
        updated = self._copy()
        if self.feedback_ is not None:  # start again from the groups
            solution = updated._solve(self.moments_, feedback, allow_insufficient=True)
            return updated._set_solution(self.moments_, solution, self, feedback=feedback)
        # All directions are solved for once, and cached here for every copy.
        spectrum, n_removed = apply_feedback(self.full_spectrum(), self.n_removed_, feedback)
        updated.spectrum_ = spectrum
        updated.selection_ = replace(self.selection_, n_removed=n_removed)
        updated.projection_ = type(self.projection_).from_spectrum(spectrum, n_removed, self.fit_params_["strength"])
        updated.feedback_ = feedback
        return updated

    def transform(self, X: Any) -> Rows:
        """Remove the distracting directions from rows.

        Returns
        -------
        (n, k) array, float32 if X is
        """
        rows, namespace = self._validate(X, "transform")
        transformed: Rows = _on_device(self.projection_, namespace, rows)(rows)
        return transformed

    def inverse_transform(self, X: Any) -> Rows:
        """Map transformed rows back to the original features, with removed readings at their mean.

        A soft removal is inverted exactly.
        """
        check_is_fitted(self)
        namespace = self._namespace(X, "inverse_transform")
        X = check_array(X, dtype=supported_dtypes(namespace))
        if X.shape[1] != self.projection_.n_out:
            raise InputError(f"X has {X.shape[1]} columns, but transform gives {self.projection_.n_out}.")
        rows: Rows = _on_device(self.projection_, namespace, X).inverse(X)
        return rows

    def denoise(self, X: Any, *, removal: str = "oblique") -> Rows:
        """Return the rows in their original features, without the distracting directions.

        "oblique" is closest to the clean row if the ridge is large enough; "orthogonal" and "soft" never amplify noise.
        """
        X, namespace = self._validate(X, "denoise")
        strength = self.fit_params_["strength"]
        check_removal(removal, strength)
        projection = self.projection_
        if removal != projection.removal:
            others = _OTHER_PROJECTIONS.setdefault(projection, {})
            if removal not in others:
                others[removal] = Projection.of(self.spectrum_, self.n_removed_, removal, strength)
            projection = others[removal]
        denoised: Rows = _on_device(projection, namespace, X).denoise(X)
        return denoised

    def summary(self, feature_names: Sequence[str] | None = None) -> FocusSummary:
        """Return what was removed, why, and how strong the evidence is; print it to read it.

        Features are called by `feature_names`, by the columns of a data frame, or by their number.
        """
        check_is_fitted(self)
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        elif len(feature_names) != self.n_features_in_:
            raise InputError(f"feature_names has {len(feature_names)} names for {self.n_features_in_} features.")
        moments = self.moments_
        spectrum = self.spectrum_
        n_varying = spectrum.n_varying
        if not spectrum.is_complete:
            # Only the removed directions and the next one are needed: far less work than all of them.
            n_varying = min(count_varying(moments), spectrum.n_directions)
            number = min(self.n_removed_ + 1, n_varying)
            if len(spectrum.distraction) < number:
                request = EigenRequest(np.inf, number)
                spectrum = Spectrum.of(moments, ridge=spectrum.ridge, absolute=True, request=request)
            if spectrum.is_complete:  # all directions were computed: keep them
                self.spectrum_ = spectrum
                n_varying = spectrum.n_varying
        if moments.names == (None,):
            spectrum = replace(spectrum, evidence=replace(spectrum.evidence, n_groups=0))
        notes: tuple[str, ...] = ()
        if isinstance(moments, SketchedMoments) and has_enough_groups(moments):
            notes = (describe_sketch(moments, spectrum),)
        return FocusSummary.of(
            spectrum, self.selection_, self.projection_, n_varying=n_varying, feature_names=feature_names, notes=notes
        )

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the output columns: the input names if features are kept, else focus0, focus1, ..."""
        check_is_fitted(self)
        mixin: Any = ClassNamePrefixFeaturesOutMixin
        if self.projection_.keeps_features:
            mixin = OneToOneFeatureMixin
        names: npt.NDArray[Any] = mixin.get_feature_names_out(self, input_features)
        return names

    # Fitted attributes.

    @property
    def distraction_(self) -> Floats:
        """λ of each direction, (d,), largest first."""
        return self._pad(self.full_spectrum().distraction)

    @property
    def debiased_distraction_(self) -> Floats:
        """λ without the sampling noise of group means, (d,)."""
        return self._pad(self.full_spectrum().debiased)

    @property
    def kinds_(self) -> npt.NDArray[Any]:
        """Kind of each direction: distracting, descriptive or constant, (d,).

        It is "unknown" with fewer than two groups, and beyond the size of a sketch.
        """
        if not has_enough_groups(self.moments_):
            return np.full(self.n_features_in_, "unknown")
        kinds = self.full_spectrum().kinds(self.n_removed_)
        if isinstance(self.moments_, SketchedMoments) and self.moments_.dropped > 0:
            kinds[self.spectrum_.n_varying :] = "unknown"
        return kinds

    @property
    def filters_(self) -> Floats:
        """Filters, (d, q)."""
        return self.full_spectrum().filters

    @property
    def patterns_(self) -> Floats:
        """Patterns, (d, q)."""
        return self.full_spectrum().patterns

    @property
    def components_(self) -> Floats:
        """Orthonormal basis of the complement of the removed patterns, (k, d)."""
        return self.projection_.kept_basis

    @property
    def n_removed_(self) -> int:
        """Number of removed directions."""
        return self.selection_.n_removed

    @property
    def cutoff_(self) -> float:
        """The smallest distraction that is removed."""
        return self.selection_.cutoff

    @property
    def is_stale(self) -> bool:
        """True if rows were added since the last solution."""
        return "projection_" not in self.__dict__

    def full_spectrum(self) -> Spectrum:
        """Return the spectrum with all directions; solve for the others if only the leading ones are available."""
        self.spectrum_ = _complete(self.spectrum_, self.moments_)
        return self.spectrum_

    # The solution.

    def _solve(self, moments: Any, feedback: Feedback | None = None, *, allow_insufficient: bool = False) -> Solution:
        """Compute spectrum, selection and projection, without changing the estimator."""
        kind = REMOVALS[self.removal]
        if not has_enough_groups(moments):
            if not allow_insufficient:
                check_enough_groups(moments)
            spectrum = Spectrum.empty(moments)
            return spectrum, INSUFFICIENT, kind.from_spectrum(spectrum, 0, self.strength)
        settings: dict[str, Any] = {"cutoff": self.cutoff, "n_remove": self.n_remove}
        is_sketch = isinstance(moments, SketchedMoments)
        if is_sketch:
            spectrum = sketched_spectrum(moments, ridge=self.ridge, absolute=self.absolute_ridge)
        else:
            request = None if kind.needs_all_directions else eigen_request(**settings)
            spectrum = compute_spectrum(moments, self.ridge, self.absolute_ridge, request)
        try:
            if is_sketch:
                selection = sketched_cut(moments, spectrum, **settings)
            else:
                selection = select_directions(spectrum, **settings)
        except InputError as error:
            if not allow_insufficient:
                raise
            # More rows may make the selection possible; until then nothing is removed.
            selection = replace(INSUFFICIENT, warnings=(str(error),))
        if feedback is not None:
            spectrum, n_removed = apply_feedback(_complete(spectrum, moments), selection.n_removed, feedback)
            selection = replace(selection, n_removed=n_removed)
        return spectrum, selection, kind.from_spectrum(spectrum, selection.n_removed, self.strength)

    def _set_solution(
        self,
        moments: Any,
        solution: Solution,
        checked: Focus,
        namespace: Namespace | None = None,
        *,
        feedback: Feedback | None = None,
        warn: bool = False,
    ) -> Self:
        """Set all fitted attributes at once, so that a failed fit leaves the estimator as it was."""
        self.moments_ = moments
        self.spectrum_, self.selection_, self.projection_ = solution
        self.feedback_ = feedback
        self.streaming_ = StreamingMoments(closed=moments)
        self._set_input(checked, moments.n_features, namespace)
        if warn:
            for warning in self.selection_.warnings:
                warnings.warn(warning, EvidenceWarning, stacklevel=3)
        return self

    if not TYPE_CHECKING:  # a type checker knows the attributes from their annotations

        def __getattr__(self, name: str) -> Any:
            """Compute the attributes that `partial_fit` left open, with the parameters of that time."""
            if name not in SOLVED or "streaming_" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if name == "moments_":
                self.moments_ = self.streaming_.moments(self._stream_prior())
                return self.moments_
            solution = Focus(**self.fit_params_)._solve(self.moments_, allow_insufficient=True)
            self.spectrum_, self.selection_, self.projection_ = solution
            return self.__dict__[name]

    def _stream_prior(self) -> Any:
        return "uniform" if self.streaming_.names == (None,) else self.fit_params_["prior"]

    def _set_streaming(self, streaming: StreamingMoments) -> None:
        self.streaming_ = streaming
        for name in SOLVED:
            self.__dict__.pop(name, None)

    def _set_input(self, checked: Focus, n_features: int, namespace: Namespace | None = None) -> None:
        """Remember the parameters, and columns and array library of the rows; `checked` has the column names."""
        self.fit_params_ = {name: getattr(self, name) for name in PARAMETERS}
        self.n_features_in_ = n_features
        self.__dict__.pop("_fitted_on", None)
        if namespace is not None:
            self._fitted_on = namespace.key
        names = checked.__dict__.get("feature_names_in_")
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    # Checks.

    def check_params(self) -> None:
        """Raise InputError for parameters that are invalid for any rows."""
        check_ridge(self.ridge)
        check_cutoff(self.cutoff, self.n_remove)
        check_removal(self.removal, self.strength)

    def _validate(self, X: Any, method: str) -> tuple[Rows, Namespace | None]:
        """Validate rows and return their array library, None for numpy."""
        check_is_fitted(self)
        namespace = self._namespace(X, method)
        return validate_data(self, X, dtype=supported_dtypes(namespace), reset=False), namespace

    def _namespace(self, X: Any, method: str) -> Namespace | None:
        """Return the array library of rows, None for numpy; raise if the estimator was fitted on another one.

        scikit-learn requires rows from the library and the device that an estimator was fitted on. An estimator that
        was fitted on numpy arrays or moments, or loaded from a file, accepts all of them.
        """
        namespace = namespace_of(X)
        key = namespace.key if namespace is not None else None
        if self._fitted_on is not None and key != self._fitted_on and get_config()["array_api_dispatch"]:
            raise InputError(
                f"{type(self).__name__}.{method}() got rows of {_format_key(key)}, but was fitted on rows of "
                f"{_format_key(self._fitted_on)}. With array_api_dispatch they must use the same namespace and device. "
                "Move the rows, or the estimator: sklearn.utils._array_api.move_estimator_to(estimator, xp, device)."
            )
        return namespace

    def _copy(self) -> Self:
        copy: Self = clone(self)
        copy.__dict__.update(self.__dict__)
        return copy

    @property
    def _n_features_out(self) -> int:
        return self.projection_.n_out

    def _pad(self, values: Floats) -> Floats:
        """Append zeros for the directions without vectors: they never varied."""
        return np.pad(values, (0, self.n_features_in_ - len(values)))

    def __sklearn_is_fitted__(self) -> bool:
        return "streaming_" in self.__dict__

    def __sklearn_array_api_convert__(self, convert: Any) -> Any:
        """Return a copy for rows of another library or device."""
        copy = self._copy()
        copy._set_input(self, self.n_features_in_, namespace_of(convert(np.zeros(1))))
        copy.fit_params_ = self.fit_params_
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


def _complete(spectrum: Spectrum, moments: Any) -> Spectrum:
    """Return the spectrum with all directions."""
    if spectrum.is_complete:
        return spectrum
    return Spectrum.of(moments, ridge=spectrum.ridge, absolute=True)


def warn_without_groups(stacklevel: int) -> None:
    """Warn that nothing can be removed without groups."""
    warnings.warn(
        "Focus was fitted without groups, so nothing is removed. Pass the group (video, machine, person, day) "
        "of each row: fit(X, groups=labels).",
        NoGroupsWarning,
        stacklevel=stacklevel,
    )


# Array API support: the library of rows is numpy unless scikit-learn's dispatch is enabled.

_NUMPY = {"numpy", "array_api_compat.numpy", "sklearn.externals.array_api_compat.numpy"}


def namespace_of(array: Any) -> Namespace | None:
    """Return the array library of an array, or None for numpy and for anything that is converted to numpy.

    Without ``sklearn.config_context(array_api_dispatch=True)`` the result is always None, because scikit-learn then
    converts all input to numpy.

    Examples
    --------
    >>> import numpy as np
    >>> print(namespace_of(np.zeros(3)), namespace_of([1, 2]))
    None None
    """
    if not get_config()["array_api_dispatch"]:
        return None
    xp, is_standard, device = get_namespace_and_device(array)
    if not is_standard or xp.__name__ in _NUMPY:
        return None
    return Namespace(xp, device, lambda values: _to_numpy(values, xp))


def to_numpy(array: Any) -> Any:
    """Convert an array of another library to numpy, and return anything else unchanged.

    Examples
    --------
    >>> to_numpy(["mon", "tue"])
    ['mon', 'tue']
    """
    try:
        namespace = namespace_of(array)
    except TypeError:  # group labels may be of a type that no array library supports
        return array
    if namespace is None:
        return array
    return namespace.to_numpy(array)


def supported_dtypes(namespace: Namespace | None) -> list[Any]:
    """Return the supported dtypes of rows, the widest first; None means numpy.

    Examples
    --------
    >>> supported_dtypes(None)
    [<class 'numpy.float64'>, <class 'numpy.float32'>]
    """
    return [np.float64, np.float32] if namespace is None else namespace.dtypes


def _on_device(projection: Projection, namespace: Namespace | None, rows: Any) -> Any:
    if namespace is None:
        return projection
    return to_device(projection, namespace, rows.dtype)


def _format_key(key: tuple[str, str] | None) -> str:
    if key is None:
        return "numpy"
    return f"{key[0].rpartition('.')[2]} on {key[1]}"


def _to_numpy(values: Any, xp: Any) -> npt.NDArray[Any]:
    if hasattr(values, "detach"):  # a torch tensor that records gradients cannot be converted directly
        values = values.detach()
    return np.asarray(_convert_to_numpy(values, xp))
