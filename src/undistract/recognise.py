"""`Recogniser`: rows of classes that nobody taught, recognised from one or a few examples each.

sets of other classes ─► moments ─► likelihood ─► the example that a row most likely shares its class with
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract.algebra import Moments
from undistract.algebra.likelihood import Likelihood
from undistract.arrays import Floats, Ints
from undistract.attempt import all_or_nothing
from undistract.errors import InputError


class Recogniser(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Recognise rows by the example that they most likely share a class with.

    Sets of *other* classes teach what varies inside a class and what tells classes apart. An example is then believed
    by one minus the distraction of each direction: what distracts is expected at its mean, whatever the example shows.
    Every example speaks for itself.

    Parameters
    ----------
    moments : Moments, optional
        Of the sets that teach, such as ``Moments.of(sets)`` or ``focus.moments_``. Without them the examples teach:
        then each class is a set, and some need several examples.
    cushion : float, default=0.03
        Between-set variance that every direction is granted, as a multiple of the mean variance of the features: what
        new classes may differ by, where those that teach do not.
    ridge : float, default=0.3
        Variance inside sets that every direction is granted, in the same units. Choose both on held-out sets.

    Attributes
    ----------
    classes_ : (C,) array
    examples_ : (m, d) array
    likelihood_ : Likelihood

    Examples
    --------
    Thirty classes teach that the second feature tells nothing, though it varies most; two others are told apart by one
    example each.

    >>> import numpy as np
    >>> from undistract import Moments, Recogniser
    >>> rng = np.random.default_rng(0)
    >>> taught = Moments.of(rng.normal([3 * m, 0], [1, 9], size=(50, 2)) for m in rng.normal(size=30))
    >>> recogniser = Recogniser(taught, ridge=0.01).fit([[-3, 20], [3, -20]], ["left", "right"])
    >>> recogniser.predict([[3, 20], [-2, -20]])
    array(['right', 'left'], dtype='<U5')
    """

    def __init__(self, moments: Moments | None = None, *, cushion: float = 0.03, ridge: float = 0.3) -> None:
        self.moments = moments
        self.cushion = cushion
        self.ridge = ridge

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the examples.

        Parameters
        ----------
        X : (m, d) array or data frame
        y : (m,) sequence
            The class of each.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        classes, owner = _classes(y)
        if not isinstance(self.moments, Moments | None):
            raise InputError(
                f"moments is {type(self.moments).__name__}; expected Moments, "
                "such as Moments.of(sets) or focus.moments_."
            )
        if self.moments is None and len(classes) in (1, len(y)):
            raise InputError(
                f"{len(y)} example(s) of {len(classes)} class(es) cannot show both what varies inside a class "
                "and what tells classes apart. With one class, or one sample of each, give the moments of other "
                "classes: Recogniser(Moments.of(sets))."
            )
        moments = Moments.of_labelled(X, y) if self.moments is None else self.moments
        if moments.n_features != X.shape[1]:
            raise InputError(f"X has {X.shape[1]} features, the moments have {moments.n_features}.")
        self.likelihood_ = Likelihood.of(moments, cushion=self.cushion, ridge=self.ridge)
        self.classes_, self._owner, self.examples_ = classes, owner, X
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Name the class of the likeliest example, (n,)."""
        likeliest = self._densities(X).argmax(axis=1)
        predicted: npt.NDArray[Any] = self.classes_[likeliest]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
        """How probable each class is, (n, C), if all are as frequent and each is as its likeliest example says.

        Rows are seldom Gaussian in many dimensions: these are far too sure, only their order is good.
        """
        probable: Floats = softmax(self._densities(X), axis=1)
        return probable

    def _densities(self, X: Any) -> Floats:
        """Give the logarithm of the density of each class at its likeliest example, (n, C)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            densities = self.likelihood_(X, self.examples_)
        if not np.isfinite(densities).all():
            raise InputError("Some rows are too far from what was taught: their squares leave the range of doubles.")
        return np.column_stack([densities[:, self._owner == one].max(axis=1) for one in range(len(self.classes_))])

    def __sklearn_clone__(self) -> Recogniser:
        # Moments are frozen: a copy shares them, and what was solved of them.
        return type(self)(**self.get_params(deep=False))


def _classes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """Name each class once, (C,), and say which one each example is of, (m,)."""
    try:
        check_classification_targets(y)
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(one).__name__ for one in y})
        raise InputError(
            f"The names of classes are of the kinds {', '.join(kinds)}, which have no order among them. "
            "Give texts alone or numbers alone, for example with map(str, y)."
        ) from error
