"""`NeuralFocus`: a neural encoder for non-linear nuisance variation.

rows ─► standardised ─► network ─► [descriptive code | reconstruction residual]; the nuisance part is dropped
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract._arrays import LARGEST, Floats, Ints, Rows, check_choice, check_number, check_range, ignore_fp_warnings
from undistract._rollback import restore_on_error
from undistract._schema import (
    UNIT,
    Sizes,
    array,
    instance_of,
    integer,
    number,
    optional,
    require,
    saveable,
    string,
    tuple_of,
)
from undistract.algebra.groups import number_groups
from undistract.errors import EvidenceWarning, InputError, NoGroupsWarning
from undistract.focus import Focus, to_numpy
from undistract.neural.network import MAX_SIZE, Architecture, encode, parse_image_shape, weight_shapes
from undistract.neural.training import group_members, hold_out, train
from undistract.sources.source import FeatureNames, concatenate_groups

APPENDED = ("residual", "rows", "nothing")


@saveable({"mean": array("d"), "spread": number(5e-324)}, public=False)
@dataclass(frozen=True, eq=False)
class RowScale:
    """Mean and spread of rows: one scale for all features, so that their proportions do not change.

    Examples
    --------
    >>> scale = RowScale.of(np.array([[1.0, 10.0], [3.0, 10.0]]))
    >>> scale.mean, round(scale.spread, 3)
    (array([ 2., 10.]), 0.707)
    """

    mean: Floats  # (d,)
    spread: float  # root of the mean variance of the features

    @classmethod
    def of(cls, X: Floats, *, bounded: bool = True) -> Self:
        """Measure rows; raise an InputError if their squares overflow."""
        with ignore_fp_warnings():
            mean = X.mean(axis=0)
            variances = ((X - mean) ** 2).mean(axis=0)
        if bounded:
            check_range(variances, (X[:1] != X).any(axis=0))
        # Rounding in the mean gives equal rows a tiny variance: do not scale by it.
        spread = float(np.sqrt(variances.mean()))
        rounding = float(np.abs(mean).max()) * 1e-12
        if spread <= rounding:
            spread = 1.0
        return cls(mean, spread)

    def __call__(self, X: Floats) -> Floats:
        """Scale rows to mean zero and mean variance one."""
        return (X - self.mean) / self.spread


def descriptive_basis(content: Floats, groups: Ints) -> Floats:
    """Return an orthonormal basis of the directions of an encoding that linear FOCUS keeps, (kept, k).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.arange(20), 30)
    >>> content = rng.normal(size=(600, 2)) * [9, 1] + np.outer(groups, [0, 1])
    >>> np.abs(descriptive_basis(content, groups)).round(2)
    array([[0., 1.]])
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        try:
            focus = Focus().fit(content, groups=groups)
        except InputError:  # the encoding does not vary
            return np.eye(content.shape[1])
    return np.ascontiguousarray(focus.projection_.kept_basis)


def within_share(X: Floats, numbers: Ints) -> float:
    """Return the within-group share of the variance, without bias: 1 if groups do not differ.

    Groups with a single row are left out; see `undistract.neural.loss` for the formula.

    Examples
    --------
    >>> within_share(np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    0.2222222222222222
    """
    groups = group_members(numbers)
    n_rows = np.array([len(rows) for rows in groups])
    means = np.stack([X[rows].mean(axis=0) for rows in groups])
    scatter = np.array([((X[rows] - mean) ** 2).sum() for rows, mean in zip(groups, means, strict=True)])
    within = (scatter / (n_rows - 1)).mean()
    total = (scatter / n_rows).mean() + ((means - means.mean(axis=0)) ** 2).sum() / (len(groups) - 1)
    if not total > 0:
        return 1.0
    return float(min(1.0, within / total))


def _check_weights(value: Any, where: str, sizes: Sizes) -> None:
    require(isinstance(value, dict) and all(isinstance(name, str) for name in value), f"{where} are not named arrays")
    for name, weights in value.items():
        valid = isinstance(weights, np.ndarray) and weights.dtype == np.float32 and np.isfinite(weights).all()
        require(valid, f"{where}.{name} is not an array of finite float32")


FIELDS = {
    "architecture_": instance_of(Architecture),
    "weights_": _check_weights,
    "row_scale_": instance_of(RowScale),
    "content_scale_": instance_of(RowScale),
    "components_": array("k", "c", low=-UNIT, high=UNIT),
    "append_": string(*APPENDED),
    "weight_": number(0, MAX_SIZE),
    "losses_": array("e"),
    "held_out_losses_": array("f"),
    "n_epochs_": integer(0, MAX_SIZE),
    "within_share_": tuple_of(number(0, 1), min_length=2),
    "reconstruction_score_": number(high=1),
    "n_groups_seen_": integer(2),
    "n_rows_seen_": integer(4),
    "n_held_out_": integer(0),
}


def _encode_fields(focus: NeuralFocus) -> dict[str, Any]:
    # Fitted without groups, it has no network.
    return {name.strip("_"): getattr(focus, name, None) for name in FIELDS}


def _decode_fields(fields: dict[str, Any]) -> dict[str, Any]:
    values = {name: fields[name.strip("_")] for name in FIELDS}
    missing = [name for name, value in values.items() if value is None]
    if fields["architecture"] is None:
        require(len(missing) == len(FIELDS), "it has no network, but results of one")
        return {"architecture_": None}
    require(not missing, f"it lacks {missing}")
    return values


def _validate(focus: NeuralFocus) -> None:
    architecture = focus.architecture_
    if architecture is None:
        return
    require(architecture.n_features == focus.n_features_in_, "its network has other features")
    actual = {name: weights.shape for name, weights in focus.weights_.items()}
    expected = weight_shapes(architecture)
    different = sorted(set(actual.items()) ^ set(expected.items()))[:3]
    require(actual == expected, f"its weights are not those of its network: {different}")
    sizes = ((focus.row_scale_, architecture.n_features), (focus.content_scale_, architecture.n_components))
    for scale, size in sizes:
        require(len(scale.mean) == size, f"a scale of {len(scale.mean)} for {size} numbers")
    require(focus.components_.shape[1] == architecture.n_components, "its basis has other components")
    require(len(focus.within_share_) == 2, "it needs two shares")


@saveable(
    {name.strip("_"): optional(check) for name, check in FIELDS.items()},
    validate=_validate,
    encode=_encode_fields,
    decode=_decode_fields,
)
class NeuralFocus(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode rows so that rows of one group are close and groups differ, and add the reconstruction residual.

    For non-linear nuisance variation: a rotating object, exposure, a position on a ring. For linear nuisance `Focus`
    needs no training and is the better choice. Needs PyTorch: ``pip install "undistract[torch]"``.

    The network is an autoencoder. One half of its code is descriptive (the FOCUS loss applies to it), the other half
    encodes the nuisance, and the decoder reconstructs the row from both. `transform` returns the descriptive half and
    the reconstruction residual: the encoding alone could not show deviations that occur in no training group.

    Parameters
    ----------
    encoder : {"mlp", "convolutional"}, default="mlp"
        Fully connected layers, or convolutions for rows that are images.
    n_components : int, default=16
        Number of directions of the encoding.
    image_shape : (height, width) or (height, width, channels), optional
        The image shape of a row, for the convolutional encoder; channels are the last axis.
    append : {"residual", "rows", "nothing"}, default="residual"
        What `transform` appends to the encoding: the reconstruction residual, the rows themselves, or nothing.
    weight : float, default=1.0
        Weight of the appended features. At 1 the rows would have the same variance as the encoding.
    final_linear : bool, default=True
        Apply linear FOCUS to the encoding and remove directions of it that are still nuisance. There are some if the
        encoding has more directions than the groups differ in.
    n_hidden : int, default=256
        Width of the hidden layers.
    ridge : float, default=0.1
        Ridge on the between-group variance of the encoding, as a multiple of its mean variance.
    reconstruction_weight : float, default=1.0
        Weight of the reconstruction error in the loss.
    epochs : int, default=40
        Maximum number of epochs.
    held_out : float, default=0.2
        Share of the *groups* that are held out for early stopping; with fewer than two such groups all epochs are run.
    patience : int, default=10
        Stop after this number of epochs without a better loss on the held-out groups; the best epoch is kept.
    n_groups, n_rows : int, default=16 and 8
        Number of groups in a batch, and of rows of each.
    learning_rate : float, default=1e-3
    random_state : int, RandomState or None, default=None
        The same seed gives bitwise the same result on one thread of one machine.
    progress : bool, optional
        A progress bar on a terminal: True always, False never, None on runs of more than two seconds.

    Attributes
    ----------
    architecture_ : Architecture or None
        None if it was fitted without groups; then rows pass unchanged.
    weights_ : dict of arrays
        The trained weights of the network.
    components_ : (k, n_components) array
        Orthonormal basis of the directions of the encoding that `final_linear` keeps.
    losses_, held_out_losses_ : arrays
        One value per epoch: on training batches, and on the held-out groups.
    n_epochs_ : int
        The epoch that was kept.
    within_share_ : (float, float)
        The within-group share of the variance, of the rows and of their encoding, without bias.
    reconstruction_score_ : float
        The share of the variance of the rows that the network reconstructs.

    Examples
    --------
    Thirty machines move on circles with different radii. The position on the circle is nuisance, the radius matters.

    >>> import numpy as np
    >>> from undistract import NeuralFocus
    >>> rng = np.random.default_rng(0)
    >>> machine = np.repeat(np.arange(30), 40)
    >>> def on_circle(radius):
    ...     angle = rng.uniform(0, 2 * np.pi, len(radius))
    ...     return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> X = on_circle(rng.uniform(1, 3, 30)[machine])
    >>> focus = NeuralFocus(n_components=2, random_state=0).fit(X, groups=machine)
    >>> usual = focus.transform(on_circle(np.full(50, 2.0)))
    >>> other = focus.transform(on_circle(np.full(50, 2.6)))
    >>> gap = np.linalg.norm(other.mean(axis=0) - usual.mean(axis=0))
    >>> bool(gap > 3 * usual.std(axis=0).max())
    True
    """

    architecture_: Architecture | None

    # Request `groups` by default under metadata routing.
    __metadata_request__fit = {"groups": True}  # noqa: RUF012

    def __init__(
        self,
        encoder: str = "mlp",
        *,
        n_components: int = 16,
        image_shape: Any = None,
        append: str = "residual",
        weight: float = 1.0,
        final_linear: bool = True,
        n_hidden: int = 256,
        ridge: float = 0.1,
        reconstruction_weight: float = 1.0,
        epochs: int = 40,
        held_out: float = 0.2,
        patience: int = 10,
        n_groups: int = 16,
        n_rows: int = 8,
        learning_rate: float = 1e-3,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.encoder = encoder
        self.n_components = n_components
        self.image_shape = image_shape
        self.append = append
        self.weight = weight
        self.final_linear = final_linear
        self.n_hidden = n_hidden
        self.ridge = ridge
        self.reconstruction_weight = reconstruction_weight
        self.epochs = epochs
        self.held_out = held_out
        self.patience = patience
        self.n_groups = n_groups
        self.n_rows = n_rows
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Train on rows with group labels.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        groups : (n,) sequence of hashables
            The group of each row. Without it, rows stay unchanged (with a warning). Groups with a single row are not
            used for training.
        """
        with restore_on_error(self):
            self._check_options()
            min_rows = 1 if groups is None else 2
            X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=min_rows)
            n_features = X.shape[1]
            image_shape = parse_image_shape(self.encoder, self.image_shape, n_features)
            architecture = Architecture(
                self.encoder, n_features, int(self.n_components), int(self.n_hidden), image_shape
            )
            if groups is not None:
                codes = number_groups(to_numpy(groups), len(X))[1]
                return self._fit_network(architecture, X.astype(np.float64), codes)
            for name in FIELDS:
                self.__dict__.pop(name, None)  # of an earlier fit
            self.architecture_ = None
            warnings.warn(
                "NeuralFocus was fitted without groups, so rows stay unchanged. Pass the group (video, machine, "
                "person, day) of each row: fit(X, groups=labels).",
                NoGroupsWarning,
                stacklevel=2,
            )
        return self

    def fit_groups(self, groups: Any) -> Self:
        """Train on groups; all rows are kept in memory, because training reads them in every epoch.

        Parameters
        ----------
        groups : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays or of sources.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> groups = {day: rng.normal([day, 0, 0], 1, size=(20, 3)) for day in range(5)}
        >>> NeuralFocus(n_components=2, epochs=3, random_state=0).fit_groups(groups).transform(groups[0]).shape
        (20, 5)
        """
        names = FeatureNames()
        X, labels = concatenate_groups(names.watch(groups))
        self.fit(X, groups=labels)
        if names.found is not None:
            self.feature_names_in_ = names.found
        return self

    def transform(self, X: Any) -> Rows:
        """Return the encoding of each row and, appended, the reconstruction residual.

        Returns
        -------
        (n, k + d) array, or (n, k) with ``append="nothing"``; float32 if X is
            k is `n_components`, minus the directions that `final_linear` removed.
        """
        check_is_fitted(self, "architecture_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.architecture_ is None:
            unchanged: Rows = X.copy()
            return unchanged
        encoded: Rows = self._encode(self.architecture_, X.astype(np.float64)).astype(X.dtype)
        return encoded

    def summary(self) -> str:
        """Return a text summary of the training, the encoding and the output of `transform`."""
        check_is_fitted(self, "architecture_")
        architecture = self.architecture_
        if architecture is None:
            return "Fitted without groups (no groups were given), so rows stay unchanged. Pass at least two groups."
        n_epochs = len(self.losses_)
        if self.n_held_out_:
            training = (
                f"best of {n_epochs} epochs on {self.n_held_out_} held-out groups: epoch {self.n_epochs_} (kept)."
            )
        elif self.held_out:
            training = f"all {n_epochs} epochs were run: too few groups for early stopping."
        else:
            training = f"all {n_epochs} epochs were run: no groups were held out."
        appended = {
            "residual": f"the reconstruction residual ({1 - self.reconstruction_score_:.0%} of the variance)",
            "rows": "the rows themselves",
            "nothing": "nothing",
        }[self.append_]
        rows, encoded = self.within_share_
        n_removed = architecture.n_components - len(self.components_)
        return "\n".join(
            (
                f"Fitted on {self.n_groups_seen_} groups, {self.n_rows_seen_} rows, {architecture.n_features} features "
                f"({architecture.encoder} encoder).",
                f"Training: {training}",
                f"Within-group share of the variance: {rows:.0%} of the rows, {encoded:.0%} of the encoding.",
                f"Encoding: {architecture.n_components} directions, {n_removed} of them nuisance and removed.",
                f"Appended to the encoding: {appended}.",
            )
        )

    def _check_options(self) -> None:
        """Raise an InputError for invalid options."""
        for name in ("n_components", "n_hidden", "epochs", "patience"):
            check_number(name, getattr(self, name), least=1, most=MAX_SIZE)
        for name in ("n_groups", "n_rows"):
            check_number(name, getattr(self, name), least=2, most=MAX_SIZE)
        check_number("weight", self.weight, least=0, most=1e6, whole=False)
        check_number("ridge", self.ridge, least=1e-6, most=1e6, whole=False)
        check_number("reconstruction_weight", self.reconstruction_weight, least=0, most=1e6, whole=False)
        check_number("held_out", self.held_out, least=0, most=0.9, whole=False)
        check_number("learning_rate", self.learning_rate, least=1e-9, most=10, whole=False)
        if not isinstance(self.final_linear, bool):
            raise InputError(f"final_linear must be True or False, got {self.final_linear!r}.")
        check_choice("append", self.append, APPENDED)

    def _fit_network(self, architecture: Architecture, X: Floats, codes: Ints) -> Self:
        counts = np.bincount(codes)
        if len(counts) < 2 or (counts > 1).sum() < 2:
            raise InputError(
                f"NeuralFocus needs at least two groups with two rows or more each, got {len(counts)} group(s), "
                f"{int((counts > 1).sum())} of them with two rows or more. Check that the label is neither unique to "
                "each row nor the same for all."
            )
        scale = RowScale.of(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        held_out = hold_out(codes, float(self.held_out), seed)
        rows = scale(X)
        trained = train(architecture, rows, codes, held_out, self, seed)
        content, residual = encode(architecture, trained.weights, rows)
        self.architecture_ = architecture
        self.weights_ = trained.weights
        self.row_scale_ = scale
        self.content_scale_ = RowScale.of(content, bounded=False)
        self.components_ = np.eye(architecture.n_components)
        if self.final_linear:
            self.components_ = descriptive_basis(self.content_scale_(content), codes)
        self.append_ = self.append
        self.weight_ = float(self.weight)
        self.losses_ = trained.losses
        self.held_out_losses_ = trained.held_out_losses
        self.n_epochs_ = trained.epoch
        self.within_share_ = within_share(rows, codes), within_share(content, codes)
        total = rows.var(axis=0).sum()
        self.reconstruction_score_ = 1.0
        if total > 0:
            self.reconstruction_score_ = float(1 - residual.var(axis=0).sum() / total)
        self.n_groups_seen_ = len(counts)
        self.n_rows_seen_ = len(X)
        self.n_held_out_ = len(held_out)
        return self

    def _encode(self, architecture: Architecture, X: Floats) -> Floats:
        with ignore_fp_warnings():  # overflow raises an InputError below, with the row number
            rows = self.row_scale_(X)
            content, residual = encode(architecture, self.weights_, rows)
            # In the units of the features, scaled so that the encoding has the variance of all features together.
            unit = self.row_scale_.spread
            code = self.content_scale_(content) @ self.components_.T
            columns = [code * (unit * np.sqrt(architecture.n_features / architecture.n_components))]
            if self.append_ == "residual":
                columns.append(residual * (unit * self.weight_))
            elif self.append_ == "rows":
                columns.append(rows * (unit * self.weight_))
        encoded = np.hstack(columns)
        overflow = ~(np.abs(encoded) < LARGEST).all(axis=1)
        if overflow.any():
            raise InputError(
                f"Row {int(np.argmax(overflow))} is so far from the training rows that its encoding overflows. Check "
                "its units."
            )
        return encoded

    @property
    def _n_features_out(self) -> int:
        if self.architecture_ is None:
            return int(self.n_features_in_)
        return int(len(self.components_) + (self.append_ != "nothing") * self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
