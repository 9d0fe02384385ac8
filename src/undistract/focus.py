"""`Focus`: learn from sets of normal rows what to ignore, then take it out of any rows.

sets ─► moments ─► spectrum ─► cut ─► projection
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from undistract.algebra import Moments, SetMoments, Taught, describe
from undistract.algebra.cushion import CUSHION
from undistract.algebra.elsewhere import denoising, moved
from undistract.algebra.gather_elsewhere import moments_on
from undistract.algebra.growing import Growing
from undistract.algebra.library import Library
from undistract.algebra.projection import Soft
from undistract.algebra.sketch import SketchedMoments
from undistract.algebra.sketched_spectrum import sketch_in_words
from undistract.algebra.solve_elsewhere import dense_on
from undistract.algebra.solvers import dense
from undistract.algebra.spectrum import check_learnable, is_learnable
from undistract.algebra.taught import teach
from undistract.arrays import Rows
from undistract.attempt import as_before_if_it_fails
from undistract.dispatch import OnAnyLibrary, at_home, dtypes_of, library_of
from undistract.errors import EvidenceWarning, InputError
from undistract.learns_on import LearnsOn
from undistract.sets.columns import ColumnNames
from undistract.sets.feature_set import in_chunks


class Focus(LearnsOn, OnAnyLibrary, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Remove the directions of feature space that vary inside every set and never tell sets apart.

    Parameters
    ----------
    cutoff : float or "auto", default="auto"
        Remove directions with at least this distraction. ``cutoff=0.999, cushion=1e-8`` is the paper's setting.
    n_remove : int, optional
        Remove so many directions, the most distracting first; overrides `cutoff`.
    cushion : float, default=0.1
        Between-set variance that every direction is granted, as a multiple of the mean variance of the features. It
        keeps directions that barely vary from looking distracting.
    absolute_cushion : bool, default=False
        Take `cushion` in squared units of the features instead.
    prior : {"uniform", "by_size"}, mapping or sequence, default="uniform"
        How much each set counts: all the same, as many rows as it has, or weights by set name or in order.
    removal : {"kept_span", "eigen", "oblique", "soft"}, default="kept_span"
        How directions are removed: orthonormal coordinates of what is kept; the readings of the kept eigenvectors, as
        the paper writes; the original features with each removed reading set back to its mean; or the original
        features, shrunk along what distracts and not cut.
    strength : float or "auto", default="auto"
        γ, how much a soft removal shrinks: 0 changes nothing, and without bound it is the kept span. By default each
        direction has a strength of its own: as good as a cut where the sets are believed, and less where they are few
        and vary unevenly.

    Attributes
    ----------
    distraction_ : (d,) array
        How distracting each direction is, between 0 and 1, largest first.
    debiased_distraction_ : (d,) array
        The same as it would read with endless rows per set.
    kinds_ : (d,) array of str
        "distracting" (removed), "descriptive" or "constant" (both kept).
    filters_, patterns_ : (d, q) arrays
        What reads each direction, and how the rows move along it; q < d where some directions never varied.
    components_ : (k, d) array
        Orthonormal basis of what is kept.
    n_removed_ : int
    cutoff_ : float
    moments_ : Moments
        All that is remembered of the rows; ``focus.moments_ + more`` learns on.
    growing_ : Growing
        Sets that may still grow, those that are closed, and the keys of deliveries that were counted.
    taught_ : Taught or None
        What people added to them.

    Examples
    --------
    Ten days of one machine: the first reading tells the days apart, the second only wobbles.

    >>> import numpy as np
    >>> from undistract import Focus
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(10), 100)
    >>> X = rng.normal(size=(1000, 4)) * [1, 12, 1, 1]
    >>> X[:, 0] += 3 * day
    >>> focus = Focus().fit(X, sets=day)
    >>> focus.kinds_
    array(['distracting', 'descriptive', 'descriptive', 'descriptive'], dtype='<U11')
    >>> focus.transform(X).shape
    (1000, 3)
    >>> print(focus.describe())
    Learned from 10 sets with 1000 rows of 4 features.
    Removed: 1 of 4 directions, with 98% of the variation inside sets and 63% of all variation (kept_span).
    Why: distraction 0.956 (de-biased 1.000) is at least 0.95, the automatic cut-off.
    That is: inside sets rows vary there at least 19 times as much as sets differ, with a cushion of 0.1 mean
    variances granted to the difference.
    Kept: 3 descriptive (the next reads 0.169), 0 constant, where any change is news.
    How sure: 9 directions can be told apart by 10 sets, 4 vary; a pure distractor would read about 0.991.
    """

    # In a pipeline with metadata routing, `sets` is asked for without further ado.
    __metadata_request__fit = {"sets": True}  # noqa: RUF012
    __metadata_request__partial_fit = {"sets": True, "key": True}  # noqa: RUF012

    def __init__(
        self,
        *,
        cutoff: float | str = "auto",
        n_remove: int | None = None,
        cushion: float = CUSHION,
        absolute_cushion: bool = False,
        prior: Any = "uniform",
        removal: str = "kept_span",
        strength: float | str = "auto",
    ) -> None:
        self.cutoff = cutoff
        self.n_remove = n_remove
        self.cushion = cushion
        self.absolute_cushion = absolute_cushion
        self.prior = prior
        self.removal = removal
        self.strength = strength

    def fit(self, X: Any, y: Any = None, *, sets: Any = None) -> Self:
        """Learn from rows that are labelled with their set.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        sets : (n,) sequence of hashables
            Which set each row belongs to. Without it nothing can be learned: a warning, and nothing is removed.
        """
        with as_before_if_it_fails(self):
            library = library_of(X)
            # Numbers that are missing show in the sums: rows are not read once more to look for them.
            in_sums = library is None and sets is not None
            wanted = {"dtype": dtypes_of(library), "ensure_min_samples": 1 if sets is None else 2}
            given, X = X, validate_data(self, X, ensure_all_finite=not in_sums, **wanted)
            may_wait = sets is None
            if library is not None:
                return self._learn(
                    moments_on(X, at_home(sets), self.prior, library), may_wait=may_wait, library=library
                )
            if sets is None:
                return self._learn(Moments.of([(None, SetMoments.of(X))]), may_wait=may_wait)
            try:
                moments = Moments.of_checked(X, at_home(sets), self.prior)
            except InputError:
                validate_data(self, given, **wanted)
                raise
            return self._learn(moments)

    def fit_sets(self, sets: Any) -> Self:
        """Learn from sets one by one, in flat memory.

        Parameters
        ----------
        sets : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays or of feature sets. Pieces
            of one set may follow one another.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> recordings = (rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10))
        >>> Focus().fit_sets(recordings).n_removed_
        1
        """
        names = ColumnNames()
        moments = Moments.of(in_chunks(names.watch(sets)), self.prior)
        return self._learn_anew(moments, names.found)

    def fit_moments(self, moments: Moments | SketchedMoments, *, taught: Taught | None = None) -> Self:
        """Learn from moments that were summed up elsewhere; their own prior holds.

        Parameters
        ----------
        moments : Moments or SketchedMoments
        taught : Taught, optional
            What people called familiar or confirmed as an anomaly.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> moments = Moments.of(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10))
        >>> Focus().fit_moments(moments).n_removed_
        0
        >>> Focus().fit_moments(moments, taught=Taught([[0, 7, 0, 0]])).n_removed_
        1
        """
        if not isinstance(moments, Moments | SketchedMoments):
            raise InputError(f"fit_moments got {type(moments).__name__}; expected Moments, such as Moments.of(sets).")
        return self._learn_anew(moments, None, taught)

    def taught_by(self, taught: Taught) -> Focus:
        """Return the same, with what people taught besides; what the sets showed is not solved again.

        Parameters
        ----------
        taught : Taught
            In place of what was taught before.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> focus = Focus().fit_sets(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10))
        >>> focus.taught_by(Taught([[0, 7, 0, 0]])).n_removed_, focus.n_removed_
        (1, 0)
        """
        check_is_fitted(self)
        self.whole_spectrum()  # once, however often people teach
        made: Focus = clone(self)
        made.__dict__.update(self.__dict__)
        if made.taught_ is None:
            made._teach(taught)
        else:
            made._learn(made.moments_, taught, may_wait=True)
        return made

    def transform(self, X: Any) -> Rows:
        """Take out what distracts; hand the rest to any detector.

        Returns
        -------
        (n, k) array, float32 if X is
        """
        rows, library = self._rows(X, "transform")
        there = self.projection_ if library is None else moved(self.projection_, library, rows.dtype)
        transformed: Rows = there(rows)
        return transformed

    def inverse_transform(self, X: Any) -> Rows:
        """Bring transformed rows back to the original features, with what was removed at its mean.

        A soft removal loses nothing, and is undone.
        """
        check_is_fitted(self)
        library = self._library(X, "inverse_transform")
        X = check_array(X, dtype=dtypes_of(library))
        if X.shape[1] != self.projection_.n_out:
            raise InputError(f"X has {X.shape[1]} columns; transform gives {self.projection_.n_out}.")
        there = self.projection_ if library is None else moved(self.projection_, library, X.dtype)
        back: Rows = there.back(X)
        return back

    def denoise(self, X: Any, *, removal: str = "oblique") -> Rows:
        """Return the rows in their original features, without what distracts.

        The oblique way is the closest to the clean row where the cushion is healthy; "kept_span" and "soft" never
        amplify.
        """
        X, library = self._rows(X, "denoise")
        own = self.projection_ if isinstance(self.projection_, Soft) and removal == "soft" else None
        projection = own or denoising(self.spectrum_, self.n_removed_, removal, self.settings_.strength)
        there = projection if library is None else moved(projection, library, X.dtype)
        denoised: Rows = there.clean(X)
        return denoised

    def describe(self) -> str:
        """Say in words what was removed, why, and how sure we are."""
        check_is_fitted(self)
        if not is_learnable(self.moments_):
            sets = "no sets" if self.moments_.names == (None,) else f"{self.moments_.n_sets} set(s)"
            return (
                f"Seen {self.moments_.n_rows} rows and {sets}; two sets with several rows are needed. Removed: nothing."
            )
        spectrum, n_moving = self._described()
        words = describe(spectrum, self.cut_, self.projection_, n_moving=n_moving)
        if isinstance(self.moments_, SketchedMoments):
            return f"{words}\n{sketch_in_words(self.moments_, self.spectrum_)}"
        return words

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Name the columns that `transform` returns: as before for "oblique" and "soft", else focus0 and so on."""
        check_is_fitted(self)
        same = self.projection_.removal in ("oblique", "soft")
        mixin = OneToOneFeatureMixin if same else ClassNamePrefixFeaturesOutMixin
        names: npt.NDArray[Any] = mixin.get_feature_names_out(self, input_features)
        return names

    def _learn_anew(self, moments: Any, feature_names: Any, taught: Taught | None = None) -> Self:
        """Learn from moments alone: names of features are those given, or none."""
        with as_before_if_it_fails(self):
            self.__dict__.pop("feature_names_in_", None)
            if feature_names is not None:
                self.feature_names_in_ = feature_names
            return self._learn(moments, taught, stacklevel=4)

    def _learn(
        self,
        moments: Moments,
        taught: Taught | None = None,
        *,
        may_wait: bool = False,
        stacklevel: int = 3,
        library: Library | None = None,
    ) -> Self:
        """Go from moments to the projection; with `may_wait`, moments that tell nothing yet are no error."""
        settings = self._settings()
        settings.check()
        if not may_wait:
            check_learnable(moments)
        solve = dense if library is None else partial(dense_on, library=library)
        solution = settings.solve(moments, may_wait=may_wait, solve=solve)
        if moments.names == (None,):
            self._warn_without_sets(stacklevel=stacklevel + 1)
        # A stream starts with few sets by nature: `describe` says what speaks against its answer so far.
        for caution in () if may_wait else solution.cut.cautions:
            warnings.warn(caution, EvidenceWarning, stacklevel=stacklevel)
        self._wait(Growing(closed=moments), settings)
        self.n_features_in_, self.moments_, self.taught_ = moments.n_features, moments, None
        self.spectrum_, self.cut_, self.projection_ = solution
        self._remember_place(library)
        if taught is not None:
            self._teach(taught)
        return self

    def _teach(self, taught: Taught) -> None:
        """Add what people taught to what the sets showed."""
        spectrum, n_removed = teach(self.whole_spectrum(), self.cut_.n_removed, taught)
        projection = self.projection_.like(spectrum, n_removed)
        self.spectrum_, self.cut_, self.projection_ = spectrum, replace(self.cut_, n_removed=n_removed), projection
        self.taught_ = taught

    def _rows(self, X: Any, method: str) -> tuple[Rows, Library | None]:
        """Check rows, and say where they live: None for numpy."""
        check_is_fitted(self)
        library = self._library(X, method)
        return validate_data(self, X, dtype=dtypes_of(library), reset=False), library

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags
