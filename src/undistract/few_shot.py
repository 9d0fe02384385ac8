"""`FewShotClassifier`: few-shot classification of new classes from one or a few examples each (PLDA).

groups of other classes ─► moments ─► likelihood ─► the class of the most likely example

Groups and rows are Gaussian: groups differ by between + between_ridge, rows of a group by within + within_ridge. A
coordinate fᵀx with within-group variance one and distraction λ then has, in a group with the example y, the mean and
the standard deviation

    (1 - λ) fᵀy,   √(2 - λ)

Distracting coordinates (λ near 1) carry no information: their mean does not depend on the example. The between_ridge is
the between-group variance of groups that were not in the data; without it, this is PLDA (Ioffe 2006; Prince and Elder
2007). Few rows span few of many directions. In all others, rows of a group vary by the within_ridge alone and groups
differ by the between_ridge alone. Only the length of that component matters there, and no d × d matrix is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh, qr, svd
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract._arrays import LARGEST, Floats, Ints, Rows, check_number, ignore_fp_warnings
from undistract._rollback import restores_on_error
from undistract._schema import UNIT, Sizes, array, instance_of, integer, number, optional, require, saveable
from undistract.algebra.moments import Moments
from undistract.algebra.row_solvers import row_problem
from undistract.algebra.spectrum import Variances, check_enough_groups, has_few_rows
from undistract.errors import InputError

MIN_RIDGE = 1e-9
MAX_RIDGE = 1e9
SQRT_LARGEST = float(np.sqrt(LARGEST))  # values up to this can be squared
MAX_CHARACTERS = 2**26  # that class labels of one width may take in a file


def _validate_likelihood(likelihood: Likelihood) -> None:
    n_features, n_directions = likelihood.directions.shape
    require(n_directions <= n_features, f"{n_directions} directions of {n_features} features")
    with ignore_fp_warnings():
        result = likelihood(likelihood.origin[None], likelihood.origin[None])
    require(np.isfinite(result).all(), "the likelihood of its own mean is not finite")


@saveable(
    {
        "origin": array("d"),
        "directions": array("d", "q", low=-UNIT, high=UNIT),
        "within": array("q", low=0, high=LARGEST),
        "between": array("q", "b", low=-SQRT_LARGEST, high=SQRT_LARGEST),
        "between_ridge": number(0),
        "within_ridge": number(5e-324),
    },
    validate=_validate_likelihood,
    public=False,
)
@dataclass(frozen=True, eq=False)
class Likelihood:
    """Log-likelihood that rows belong to the same groups as examples. Create it with `Likelihood.of`.

    In coordinates with within-group variance 1, groups vary by S = diag(between_ridge) + between·betweenᵀ, and
    1/(1 + S) is the distraction. No eigenvector of S is needed, only products with 1/(1 + S) and 1/(1 + 2S)
    (Woodbury formula).

    Examples
    --------
    The first feature separates groups. The second varies far more and carries no information.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = [rng.normal([3 * m, 0], [1, 9], size=(50, 2)) for m in rng.normal(size=30)]
    >>> likelihood = Likelihood.of(Moments.of(groups), between_ridge=0.01, within_ridge=0.01)
    >>> likelihood([[3, 20]], [[-3, 20], [3, -20]]).round(1)
    array([[-8.4, -2.8]])
    """

    origin: Floats  # (d,) the mean of the data
    directions: Floats  # (d, q) orthonormal; q = d, or the rank of few rows
    within: Floats  # (q,) within-group variance along each direction
    between: Floats  # (q, b) between·betweenᵀ is the between-group covariance along the directions
    between_ridge: float  # between-group variance added in every direction, in squared units of the features
    within_ridge: float  # within-group variance added in every direction

    @classmethod
    def of(cls, moments: Moments, *, between_ridge: float, within_ridge: float) -> Likelihood:
        """Compute the likelihood model from moments.

        Parameters
        ----------
        moments : Moments
        between_ridge : float
            Between-group variance added in every direction, as a multiple of the mean variance of the features.
        within_ridge : float
            Within-group variance added in every direction, in the same units.
        """
        check_enough_groups(moments)
        check_number("between_ridge", between_ridge, least=0, most=1e100, whole=False)
        check_number("within_ridge", within_ridge, least=MIN_RIDGE, most=MAX_RIDGE, whole=False)
        solved = _SOLVED.get(moments) or _SOLVED.setdefault(moments, _Solved.of(moments))
        unit = solved.mean_variance
        return cls(
            moments.mean,
            solved.directions,
            solved.within,
            solved.between,
            float(between_ridge) * unit,
            float(within_ridge) * unit,
        )

    def __call__(self, X: Rows, examples: Rows) -> Floats:
        """Return the log-density of rows (n, d) given each of m examples, up to a constant, (n, m)."""
        rows = self._coordinates(X)
        references = self._coordinates(examples) if examples is not X else rows
        density = self._density_along(rows.along, references.along)
        if rows.residual is not None and references.residual is not None:
            density += self._density_outside(rows.residual, references.residual)
        return density

    def _coordinates(self, X: Rows) -> _Coordinates:
        centred = np.asarray(X, dtype=np.float64) - self.origin
        along = centred @ self.directions
        n_features, n_directions = self.directions.shape
        residual = centred - along @ self.directions.T if n_directions < n_features else None
        return _Coordinates(along / np.sqrt(self.within + self.within_ridge), residual)

    def _density_along(self, rows: Floats, examples: Floats) -> Floats:
        """Return the log-density in the coordinates along `directions`."""
        expected = examples - self._shrunk(examples, 1)  # S/(1 + S) = 1 - λ
        weighted = self._weighted(expected)
        lengths = np.einsum("ij,ij->i", rows, self._weighted(rows))[:, None]
        density: Floats = rows @ weighted.T - (lengths + np.einsum("ij,ij->i", expected, weighted)) / 2
        return density

    def _density_outside(self, rows: Floats, examples: Floats) -> Floats:
        """Return the log-density in the directions without data, where λ and S are the same for all."""
        relative_ridge = self.between_ridge / self.within_ridge  # S
        factor = relative_ridge / (1 + relative_ridge)  # 1 - λ
        lengths = np.einsum("ij,ij->i", rows, rows)[:, None] + factor**2 * np.einsum("ij,ij->i", examples, examples)
        density: Floats = (factor * (rows @ examples.T) - lengths / 2) / (
            (2 - 1 / (1 + relative_ridge)) * self.within_ridge
        )
        return density

    def _weighted(self, Y: Floats) -> Floats:
        """Return Y·(1 + S)/(1 + 2S) = Y/(2 - λ): divide by the variance around the expected value."""
        return (Y + self._shrunk(Y, 2)) / 2

    def _shrunk(self, Y: Floats, times: int) -> Floats:
        """Return Y/(1 + times · S) for the rows of Y (Woodbury: only a b × b system is solved)."""
        within = self.within + self.within_ridge
        between = self.between / np.sqrt(within)[:, None]
        share = 1 / (1 + times * self.between_ridge / within)
        inner = np.eye(between.shape[1]) + times * between.T @ (share[:, None] * between)
        solved = np.linalg.solve(inner, between.T @ (share * Y).T)  # (b, rows)
        return share * (Y - times * solved.T @ between.T)


class _Coordinates(NamedTuple):
    along: Floats  # (n, q) coordinates with within-group variance 1
    residual: Floats | None  # (n, d) the component outside all directions; None if the directions span everything


@dataclass(frozen=True, eq=False)
class _Solved:
    """The part that depends on neither between_ridge nor within_ridge."""

    within: Floats  # (q,) eigenvalues of the within-group covariance
    directions: Floats  # (d, q) their eigenvectors
    between: Floats  # (q, b) directions · between · betweenᵀ · directionsᵀ is the between-group covariance
    mean_variance: float

    @classmethod
    def of(cls, moments: Moments) -> _Solved:
        return cls._of_rows(moments) if has_few_rows(moments) else cls._of_matrices(moments)

    @classmethod
    def _of_matrices(cls, moments: Moments) -> _Solved:
        within = moments.within
        between = moments.between
        mean_variance = _positive(Variances.of(np.diag(within) + np.diag(between), np.diag(within)))
        inside, directions = eigh(within, driver="evd", check_finite=False)
        values, vectors = eigh(between, driver="evd", check_finite=False)
        real = values > 10 * np.finfo(np.float64).eps * mean_variance * len(values)  # not rounding
        between_root = directions.T @ (vectors[:, real] * np.sqrt(values[real]))  # (d, b)
        # Rounding can leave -1e-17 here; a variance is never negative.
        return cls(np.maximum(inside, 0), directions, between_root, mean_variance)

    @classmethod
    def _of_rows(cls, moments: Moments) -> _Solved:
        """Solve in the span of the rows: QR of (Eᵀ, Uᵀ), with E the deviations and U the means as in `few_rows`."""
        rows, *variances = row_problem(moments)
        mean_variance = _positive(Variances.of(*variances))
        deviations = rows.deviations * rows.row_roots[:, None]
        means = rows.means * np.sqrt(rows.shares)[:, None]
        basis, triangle = qr(np.vstack([deviations, means]).T, mode="economic", overwrite_a=True, check_finite=False)
        axes, lengths, _ = svd(triangle[:, : len(deviations)], check_finite=False)
        inside = np.zeros(len(axes))
        inside[: len(lengths)] = lengths**2
        return cls(inside, basis @ axes, axes.T @ triangle[:, len(deviations) :], mean_variance)


def _positive(variances: Variances) -> float:
    if variances.mean == 0:
        raise InputError("No feature varies, so rows cannot be distinguished. Pass rows that differ.")
    return variances.mean


# The ridges are tuned by trying several values with the same moments: solve once per moments.
_SOLVED: WeakKeyDictionary[Moments, _Solved] = WeakKeyDictionary()


def _check_labels(value: Any, where: str, sizes: Sizes) -> None:
    is_text = isinstance(value, tuple) and all(isinstance(label, str) for label in value)
    is_number = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufM"
    require(is_text or is_number, f"{where} are neither texts, numbers nor times; fit it again with such class labels")


def _encode(classifier: FewShotClassifier) -> dict[str, Any]:
    classes = classifier.classes_
    labels: Any = classes
    width = None  # of fixed-width strings; None for Python strings and numbers
    if classes.dtype.kind in "UO":
        labels = tuple(classes.tolist())
    if classes.dtype.kind == "U":
        width = classes.dtype.itemsize // np.dtype("U1").itemsize
    return {"classes": labels, "width": width, "example_classes": classifier._example_classes.astype(np.int64)}


def _decode(fields: dict[str, Any]) -> dict[str, Any]:
    classes = fields["classes"]
    width = fields["width"]
    if isinstance(classes, tuple):
        longest = max(map(len, classes), default=0)
        require(width is None or longest <= width, f"labels of up to {longest} letters in a width of {width}")
        n_characters = (width or 0) * len(classes)
        require(
            n_characters <= MAX_CHARACTERS,
            f"{len(classes)} labels of {width} letters take more than {MAX_CHARACTERS} in total; use shorter labels",
        )
        classes = np.array(classes, dtype=object if width is None else f"U{width}")
    else:
        require(width is None, "numbers have no width")
    return {"classes_": classes, "_example_classes": fields["example_classes"].astype(np.intp)}


def _validate(classifier: FewShotClassifier) -> None:
    classes = classifier.classes_
    n_features = classifier.n_features_in_
    require(len(classes) > 0 and (classes[1:] > classes[:-1]).all(), "its classes are not in order, each once")
    used = np.unique(classifier._example_classes)
    require(np.array_equal(used, np.arange(len(classes))), "its examples are not those of its classes")
    widths = classifier.examples_.shape[1], len(classifier.likelihood_.origin)
    require(all(width == n_features for width in widths), f"inconsistent number of features, expected {n_features}")
    moments = classifier.moments
    require(isinstance(moments, Moments | None), "its moments have the wrong type")
    require(moments is None or moments.n_features == n_features, f"its moments do not have {n_features} features")


@saveable(
    {
        "classes": _check_labels,
        "width": optional(integer(1)),
        "example_classes": array("m", dtype=np.int64, low=0),
        "examples_": array("m", "d"),
        "likelihood_": instance_of(Likelihood),
    },
    validate=_validate,
    encode=_encode,
    decode=_decode,
)
class FewShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Assign rows to the class of the example with the highest likelihood (few-shot PLDA).

    The moments of *other* classes show what varies within a class and what differs between classes. Along each
    direction an example is trusted by one minus the distraction: along a pure nuisance direction the class mean is
    expected at the overall mean, independent of the example. Each example is compared on its own.

    Parameters
    ----------
    moments : Moments, optional
        Moments of groups of other classes, such as ``Moments.of(groups)`` or ``focus.moments_``. None: computed from
        the examples themselves; then each class is a group, and some classes need several examples.
    between_ridge : float, default=0.03
        Ridge on the between-group variance of every direction, as a multiple of the mean variance of the features. It
        allows new classes to differ where the other classes do not.
    within_ridge : float, default=0.3
        Ridge on the within-group variance of every direction, in the same units. Choose both on held-out groups.

    Attributes
    ----------
    classes_ : (C,) array
    examples_ : (m, d) array
    likelihood_ : Likelihood

    Examples
    --------
    Thirty classes show that the second feature is nuisance, although it varies most. Two other classes are then
    separated with one example each.

    >>> import numpy as np
    >>> from undistract import Moments, FewShotClassifier
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments.of(rng.normal([3 * m, 0], [1, 9], size=(50, 2)) for m in rng.normal(size=30))
    >>> classifier = FewShotClassifier(moments, within_ridge=0.01).fit([[-3, 20], [3, -20]], ["left", "right"])
    >>> classifier.predict([[3, 20], [-2, -20]])
    array(['right', 'left'], dtype='<U5')
    """

    def __init__(
        self, moments: Moments | None = None, *, between_ridge: float = 0.03, within_ridge: float = 0.3
    ) -> None:
        self.moments = moments
        self.between_ridge = between_ridge
        self.within_ridge = within_ridge

    @restores_on_error
    def fit(self, X: Any, y: Any) -> Self:
        """Store the examples and solve the likelihood.

        Parameters
        ----------
        X : (m, d) array or data frame
        y : (m,) sequence
            The class of each example.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        classes, codes = _classes(y)
        if not isinstance(self.moments, Moments | None):
            raise InputError(
                "moments must be Moments, such as Moments.of(groups) or focus.moments_, got "
                f"{type(self.moments).__name__}."
            )
        if self.moments is None and len(classes) in (1, len(y)):
            raise InputError(
                f"{len(y)} example(s) of {len(classes)} class(es) cannot show both the variation within a class and "
                "the difference between classes. With one class, or one sample of each, pass the moments of other "
                "classes: FewShotClassifier(Moments.of(groups))."
            )
        moments = Moments.from_labels(X, y) if self.moments is None else self.moments
        if moments.n_features != X.shape[1]:
            raise InputError(f"X has {X.shape[1]} features, but moments has {moments.n_features}.")
        self.likelihood_ = Likelihood.of(moments, between_ridge=self.between_ridge, within_ridge=self.within_ridge)
        self.classes_ = classes
        self.examples_ = X
        self._example_classes = codes  # the class of each example, as an index into classes_
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of the most likely example for each row, (n,)."""
        likeliest = self._densities(X).argmax(axis=1)
        predicted: npt.NDArray[Any] = self.classes_[likeliest]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n, C), for equal priors and the most likely example of each class.

        Rows are rarely Gaussian in many dimensions, so the probabilities are overconfident; use only their order.
        """
        probabilities: Floats = softmax(self._densities(X), axis=1)
        return probabilities

    def _densities(self, X: Any) -> Floats:
        """Return the log density of each row under the most likely example of each class, (n, C)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            densities = self.likelihood_(X, self.examples_)
        if not np.isfinite(densities).all():
            raise InputError("Some rows are too far from the examples: their squares overflow. Check their units.")
        return np.column_stack(
            [densities[:, self._example_classes == code].max(axis=1) for code in range(len(self.classes_))]
        )

    def __sklearn_clone__(self) -> FewShotClassifier:
        # Moments are frozen: a clone shares them and their cached solution.
        return type(self)(**self.get_params(deep=False))


def _classes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """Return the distinct classes, (C,), and the class index of each example, (m,)."""
    try:
        check_classification_targets(y)
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        types = sorted({type(label).__name__ for label in y})
        raise InputError(
            f"y must have labels of one type, got {', '.join(types)}. Use only strings or only numbers, for example "
            "with map(str, y)."
        ) from error
