"""`KernelFocus`: FOCUS where what distracts moves rows along curves, by way of a kernel.

rows ─► coordinates in the space of the kernel ─► linear FOCUS ─► coordinates without what distracts
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract.algebra import Moments, SetMoments
from undistract.arrays import Rows
from undistract.attempt import as_before_if_it_fails
from undistract.dispatch import at_home
from undistract.errors import EvidenceWarning, InputError
from undistract.focus import Focus
from undistract.kernel.kernels import is_precomputed
from undistract.kernel.makes_map import MakesMap
from undistract.kernel.shown import ShowsFocus
from undistract.kernel.way_back import GoesBack
from undistract.sets.columns import ColumnNames
from undistract.sets.gathered import gathered

# Chosen with benchmarks/nonlinear on the part for choosing; see docs/kernel.md. There are more dimensions than sets by
# nature, so that the automatic cut-off of `Focus` would keep nearly everything.
CUTOFF, CUSHION = 0.8, 1e-4
ALMOST_ALL = 0.99  # from this share of all variation on, little is left
OF_FOCUS = ("cutoff", "n_remove", "cushion", "absolute_cushion", "prior", "removal", "strength")


def _learns_on(focus: KernelFocus) -> bool:
    if focus.approx is None:
        raise InputError(
            "An exact kernel is made of the rows it was fitted on, and cannot learn on. Fit again with all rows, or "
            "use approx='nystroem' or approx='fourier'."
        )
    return True


class KernelFocus(
    MakesMap,
    GoesBack,
    ShowsFocus,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Remove what varies inside every set and never tells sets apart, in the space of a kernel.

    For distractors that bend: a place on a ring, exposure, a turning object. Where what distracts is a straight
    direction, `Focus` is quicker and can say what it removed.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Any pairwise kernel of scikit-learn that is positive semidefinite, "precomputed", or a function of two rows.
    approx : {None, "nystroem", "fourier"}, default=None
        None is exact, for some thousand rows. Nyström's approximation is the same in the span of some rows, drawn at
        random; random Fourier features are for the rbf kernel alone. Both learn on with `partial_fit`.
    n_components : int, default=500
        Of an approximation: rows that span, or coordinates made of random frequencies.
    gamma : float or "auto", default="auto"
        Of the kernels that have it. By default, one over the median squared distance of rows; for "laplacian", over the
        median sum of their differences.
    degree, coef0 : float, default=3 and 1
        Of the kernels that have them.
    kernel_params : mapping, optional
        For a kernel that is a function.
    news : bool, default=True
        One more coordinate: how much of a row lies outside of the span of all rows that were learned from. It is zero
        for these. Random frequencies span everything, and of a precomputed kernel it is not known.
    cutoff, n_remove, cushion, absolute_cushion, prior, removal, strength
        As in `Focus`, for coordinates in the space of the kernel.
    random_state : int, RandomState or None, default=None
        What an approximation draws.

    Attributes
    ----------
    focus_ : Focus
        What was learned about the coordinates; its spectrum, moments, cut and projection.
    map_ : SpanMap or FourierMap
        From rows to coordinates.
    distraction_, debiased_distraction_, kinds_, n_removed_, cutoff_, moments_
        Those of `focus_`.

    Examples
    --------
    Thirty machines run in circles, each at a radius of its own. Where on the circle distracts; the radius is news.

    >>> import numpy as np
    >>> from undistract import KernelFocus
    >>> rng = np.random.default_rng(0)
    >>> machine = np.repeat(np.arange(30), 20)
    >>> def on_circle(radius):
    ...     angle = rng.uniform(0, 2 * np.pi, len(radius))
    ...     return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> X = on_circle(rng.uniform(1, 3, 30)[machine])
    >>> focus = KernelFocus().fit(X, sets=machine)
    >>> usual, other = focus.transform(on_circle(np.full(50, 2.0))), focus.transform(on_circle(np.full(50, 2.6)))
    >>> gap = np.linalg.norm(other.mean(axis=0) - usual.mean(axis=0))
    >>> bool(gap > 3 * np.linalg.norm(usual.std(axis=0)))
    True
    """

    # In a pipeline with metadata routing, `sets` is asked for without further ado.
    __metadata_request__fit = {"sets": True}  # noqa: RUF012
    __metadata_request__partial_fit = {"sets": True, "key": True}  # noqa: RUF012

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
        cutoff: float | str = CUTOFF,
        n_remove: int | None = None,
        cushion: float = CUSHION,
        absolute_cushion: bool = False,
        prior: Any = "uniform",
        removal: str = "kept_span",
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
        self.cushion = cushion
        self.absolute_cushion = absolute_cushion
        self.prior = prior
        self.removal = removal
        self.strength = strength
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sets: Any = None) -> Self:
        """Learn from rows that are labelled with their set.

        Parameters
        ----------
        X : (n, d) array or data frame; (n, n) products of all rows with a precomputed kernel
        y : ignored
        sets : (n,) sequence of hashables
            Which set each row belongs to. Without it nothing can be learned: a warning, and nothing is removed.
        """
        return self._fit(X, sets)

    def fit_sets(self, sets: Any) -> Self:
        """Learn from sets; all rows are held in memory.

        Parameters
        ----------
        sets : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays or of feature sets.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> days = {day: rng.normal([day, 0, 0], [1, 9, 1], size=(20, 3)) for day in range(12)}
        >>> KernelFocus("linear", cutoff="auto", cushion=0.1).fit_sets(days).n_removed_
        1
        """
        if is_precomputed(self.kernel):
            raise InputError("Sets cannot be gathered for a precomputed kernel. Use fit(K, sets=labels).")
        names = ColumnNames()
        X, labels = gathered(names.watch(sets))
        return self._fit(X, labels, names.found)

    @available_if(_learns_on)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, *, sets: Any = None, key: Hashable | None = None) -> Self:
        """Learn on from more rows, with an approximation; the first rows settle the map once and for all.

        Parameters
        ----------
        X : (n, d) array or data frame
            The first time, many rows of several sets: Nyström's approximation draws those that span, and `gamma`
            is measured.
        y : ignored
        sets : (n,) sequence of hashables
        key : hashable, optional
            What these rows are called; rows whose key came before are not counted again.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> focus = KernelFocus(approx="nystroem", n_components=50, random_state=0)
        >>> for hour in range(4):
        ...     focus = focus.partial_fit(rng.normal(size=(60, 3)), sets=np.repeat(["a", "b", "c"], 20), key=hour)
        >>> focus.moments_.n_rows
        240
        """
        with as_before_if_it_fails(self):
            first = not hasattr(self, "focus_")
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=first).astype(np.float64)
            if first:
                self._check()
                self.map_ = self._map(X)
            # A copy: the one that is there keeps its settings should this fail.
            focus = Focus() if first else copy(self.focus_)
            self.focus_ = focus.set_params(**self._of_focus()).partial_fit(self.map_(X), sets=at_home(sets), key=key)
        return self

    def transform(self, X: Any) -> Rows:
        """Give coordinates in the space of the kernel, without what distracts; hand them to any detector.

        Parameters
        ----------
        X : (m, d) array or data frame; (m, n) products with all rows learned from, with a precomputed kernel

        Returns
        -------
        (m, k) array, float32 if X is
        """
        rows, dtype = self._rows(X)
        return self.focus_.transform(self.map_(rows)).astype(dtype, copy=False)

    def describe(self) -> str:
        """Say in words what was removed, why, and how sure we are."""
        check_is_fitted(self, "focus_")
        return f"By {self.map_.kernel}: {self.map_}. Features are coordinates there.\n{self.focus_.describe()}"

    def _fit(self, X: Any, sets: Any, feature_names: Any = None) -> Self:
        with as_before_if_it_fails(self):
            self._check()
            least = 1 if sets is None else 2
            X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=least).astype(np.float64)
            if feature_names is not None:
                self.feature_names_in_ = feature_names
            self.map_ = self._map(X)
            coordinates = self.map_(X)
            moments = (
                Moments.of([(None, SetMoments.of(coordinates))])
                if sets is None
                else Moments.of_checked(coordinates, at_home(sets), self.prior)
            )
            self.focus_ = Focus(**self._of_focus())
            with warnings.catch_warnings():
                # There are more dimensions than sets by nature: what is doubtful about that is left to `describe`.
                warnings.simplefilter("ignore", EvidenceWarning)
                self.focus_._learn(moments, may_wait=sets is None, stacklevel=4)
            removed = float(self.focus_.spectrum_.variation[: self.n_removed_].sum())
            if removed >= ALMOST_ALL:
                warnings.warn(
                    f"{self.n_removed_} of {self.map_.n_out} directions are removed, with {removed:.0%} of all "
                    "variation: little is left for a detector to see. Raise the cut-off or the cushion, set n_remove, "
                    "or give sets that differ more.",
                    EvidenceWarning,
                    stacklevel=3,
                )
        return self

    def _of_focus(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OF_FOCUS}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
