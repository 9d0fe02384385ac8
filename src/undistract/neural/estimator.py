"""`NeuralFocus`: an encoder that learns from sets what to ignore where no straight direction will do.

rows ─► standardised ─► network ─► [what describes | what no set ever showed]; what distracts is left behind
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract.algebra.set_labels import number_sets
from undistract.arrays import LARGEST, Floats, Rows, quiet
from undistract.attempt import as_before_if_it_fails
from undistract.dispatch import at_home
from undistract.errors import InputError, NoSetsWarning
from undistract.neural.architecture import Architecture, image_shape_of
from undistract.neural.rows import RowScale, descriptive, share_inside
from undistract.neural.settings import Training, check_settings
from undistract.neural.words import in_words
from undistract.sets.columns import ColumnNames
from undistract.sets.gathered import gathered


class NeuralFocus(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode rows so that those of one set lie together and sets lie apart, and keep what no set ever showed.

    For distractors that bend: a turning object, exposure, a place on a ring. Where what distracts is a straight
    direction, `Focus` needs no training and is the better tool. Needs PyTorch: ``pip install "undistract[torch]"``.

    The network is an encoder and a decoder. Half of its code describes (the FOCUS loss works there), half is there for
    whatever else a row is made of, and both together rebuild the row. `transform` returns the half that describes and,
    beside it, what could not be rebuilt: an encoder alone would be blind to what tells no training sets apart.

    Parameters
    ----------
    encoder : {"mlp", "convolutional"}, default="mlp"
        Fully connected layers, or convolutions for rows that are images.
    n_components : int, default=16
        Directions of the encoding.
    image_shape : (height, width) or (height, width, channels), optional
        What a row is, for the convolutional encoder; the channels of a pixel stand together.
    beside : {"news", "rows", "nothing"}, default="news"
        What `transform` returns beside the encoding: what could not be rebuilt, the rows themselves, or nothing.
    weight : float, default=1.0
        Of what stands beside the encoding. At 1 the rows would vary as much as the encoding does.
    finish : bool, default=True
        Let linear FOCUS look at the encoding in turn, and take out directions of it that still distract. An encoding
        with more directions than tell sets apart has some.
    n_hidden : int, default=256
        Width of the hidden layers.
    cushion : float, default=0.1
        Between-set variance that every direction of the encoding is granted, as a multiple of their mean variance.
    rebuilding : float, default=1.0
        Weight of the error of rebuilding in the loss.
    epochs : int, default=40
        At most so many rounds.
    held_out : float, default=0.2
        Share of the *sets* that are not trained on and say when to stop; with fewer than two such sets all epochs are
        run.
    patience : int, default=10
        Stop after so many rounds without a better loss on the sets held out; the best round is kept.
    n_sets, n_rows : int, default=16 and 8
        Sets in a batch, and rows of each.
    learning_rate : float, default=1e-3
    random_state : int, RandomState or None, default=None
        The same seed gives the same bits on one thread of one machine.
    progress : bool, optional
        A progress bar on a terminal: True always, False never, None on runs of more than two seconds.

    Attributes
    ----------
    architecture_ : Architecture or None
        None if there were no sets, so that nothing was learned.
    weights_ : dict of arrays
        What the network learned.
    components_ : (k, n_components) array
        Orthonormal basis of what the finish keeps of the encoding.
    losses_, held_out_losses_ : arrays
        One for each round: of training batches, and of the sets held out.
    n_epochs_ : int
        The round that was kept.
    share_inside_ : (float, float)
        The share of the variation that lies inside sets, of the rows and of their encoding, without bias.
    rebuilt_ : float
        The share of the variation of the rows that can be rebuilt.

    Examples
    --------
    Thirty machines run in circles, each at a radius of its own. Where on the circle distracts; the radius is news.

    >>> import numpy as np
    >>> from undistract import NeuralFocus
    >>> rng = np.random.default_rng(0)
    >>> machine = np.repeat(np.arange(30), 40)
    >>> def on_circle(radius):
    ...     angle = rng.uniform(0, 2 * np.pi, len(radius))
    ...     return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> X = on_circle(rng.uniform(1, 3, 30)[machine])
    >>> focus = NeuralFocus(n_components=2, random_state=0).fit(X, sets=machine)
    >>> usual, other = focus.transform(on_circle(np.full(50, 2.0))), focus.transform(on_circle(np.full(50, 2.6)))
    >>> gap = np.linalg.norm(other.mean(axis=0) - usual.mean(axis=0))
    >>> bool(gap > 3 * usual.std(axis=0).max())
    True
    """

    architecture_: Architecture | None

    # In a pipeline with metadata routing, `sets` is asked for without further ado.
    __metadata_request__fit = {"sets": True}  # noqa: RUF012

    def __init__(
        self,
        encoder: str = "mlp",
        *,
        n_components: int = 16,
        image_shape: Any = None,
        beside: str = "news",
        weight: float = 1.0,
        finish: bool = True,
        n_hidden: int = 256,
        cushion: float = 0.1,
        rebuilding: float = 1.0,
        epochs: int = 40,
        held_out: float = 0.2,
        patience: int = 10,
        n_sets: int = 16,
        n_rows: int = 8,
        learning_rate: float = 1e-3,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.encoder = encoder
        self.n_components = n_components
        self.image_shape = image_shape
        self.beside = beside
        self.weight = weight
        self.finish = finish
        self.n_hidden = n_hidden
        self.cushion = cushion
        self.rebuilding = rebuilding
        self.epochs = epochs
        self.held_out = held_out
        self.patience = patience
        self.n_sets = n_sets
        self.n_rows = n_rows
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None, *, sets: Any = None) -> Self:
        """Learn from rows that are labelled with their set.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        sets : (n,) sequence of hashables
            Which set each row belongs to. Without it nothing can be learned: a warning, and rows stay as they are.
            Sets with a single row are not learned from.
        """
        with as_before_if_it_fails(self):
            check_settings(self)
            least = 1 if sets is None else 2
            X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=least)
            shape = Architecture(
                self.encoder,
                X.shape[1],
                int(self.n_components),
                int(self.n_hidden),
                image_shape_of(self.encoder, self.image_shape, X.shape[1]),
            )
            if sets is None:
                warnings.warn(
                    "NeuralFocus was fitted without sets, so rows stay as they are. Say which set (video, machine, "
                    "person, day) each row belongs to: fit(X, sets=labels).",
                    NoSetsWarning,
                    stacklevel=2,
                )
                self._forget()
                return self
            _, numbers = number_sets(at_home(sets), len(X))
            return self._learn(shape, X.astype(np.float64), numbers)

    def fit_sets(self, sets: Any) -> Self:
        """Learn from sets; all rows are held in memory, since training goes over them again and again.

        Parameters
        ----------
        sets : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays or of feature sets.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> sets = {day: rng.normal([day, 0, 0], 1, size=(20, 3)) for day in range(5)}
        >>> NeuralFocus(n_components=2, epochs=3, random_state=0).fit_sets(sets).transform(sets[0]).shape
        (20, 5)
        """
        names = ColumnNames()
        X, labels = gathered(names.watch(sets))
        self.fit(X, sets=labels)
        if names.found is not None:
            self.feature_names_in_ = names.found
        return self

    def transform(self, X: Any) -> Rows:
        """Return what describes each row and, beside it, what no set ever showed.

        Returns
        -------
        (n, k + d) array, or (n, k) with ``beside="nothing"``; float32 if X is
            k is `n_components`, less what the finish took out.
        """
        check_is_fitted(self, "architecture_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        learned = self.architecture_ is not None
        transformed: Rows = self._encoded(X.astype(np.float64)).astype(X.dtype) if learned else X.copy()
        return transformed

    def describe(self) -> str:
        """Say in words what was learned, and how far it can be trusted."""
        check_is_fitted(self, "architecture_")
        return in_words(self)

    def _learn(self, shape: Architecture, X: Floats, numbers: Any) -> Self:
        from undistract.neural.network import encode
        from undistract.neural.training import hold_out, train

        counts = np.bincount(numbers)
        if len(counts) < 2 or (counts > 1).sum() < 2:
            raise InputError(
                f"{len(counts)} set(s), {int((counts > 1).sum())} of them with two rows or more, cannot show what "
                "varies inside sets and what tells them apart. Give at least two sets with several rows each: is the "
                "label unique to each row, or the same for all?"
            )
        scale = RowScale.of(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        chosen = hold_out(numbers, float(self.held_out), seed)
        rows = scale(X)
        trained = train(shape, Training.of(self, seed), rows, numbers, chosen)
        content, news = encode(shape, trained.weights, rows)
        self.architecture_, self.weights_, self.row_scale_ = shape, trained.weights, scale
        self.content_scale_ = RowScale.of(content, bounded=False)
        self.components_ = (
            descriptive(self.content_scale_(content), numbers) if self.finish else np.eye(shape.n_components)
        )
        self.beside_, self.weight_ = self.beside, float(self.weight)
        self.losses_, self.held_out_losses_, self.n_epochs_ = trained.losses, trained.held_out_losses, trained.epoch
        self.share_inside_ = share_inside(rows, numbers), share_inside(content, numbers)
        spread = rows.var(axis=0).sum()
        self.rebuilt_ = float(1 - news.var(axis=0).sum() / spread) if spread > 0 else 1.0
        self.n_sets_seen_, self.n_rows_seen_, self.n_held_out_ = len(counts), len(X), len(chosen)
        return self

    def _encoded(self, X: Floats) -> Floats:
        from undistract.neural.network import encode

        shape = self.architecture_
        assert shape is not None
        with quiet():  # what leaves the range of numbers is refused below, with its row
            rows = self.row_scale_(X)
            content, news = encode(shape, self.weights_, rows)
            # In the units of the features: the encoding varies as much as all of them together.
            unit = self.row_scale_.spread
            kept = self.content_scale_(content) @ self.components_.T
            columns = [kept * (unit * np.sqrt(shape.n_features / shape.n_components))]
            if self.beside_ != "nothing":
                columns.append((news if self.beside_ == "news" else rows) * (unit * self.weight_))
        encoded = np.hstack(columns)
        lost = ~(np.abs(encoded) < LARGEST).all(axis=1)
        if lost.any():
            raise InputError(
                f"Row {int(np.argmax(lost))} lies so far from all that was learned from that its encoding overflows. "
                "Is it in the same units?"
            )
        return encoded

    def _forget(self) -> None:
        for name in [
            name for name in vars(self) if name.endswith("_") and name not in ("n_features_in_", "feature_names_in_")
        ]:
            delattr(self, name)
        self.architecture_ = None

    @property
    def _n_features_out(self) -> int:
        if self.architecture_ is None:
            return int(self.n_features_in_)
        return int(len(self.components_) + (self.beside_ != "nothing") * self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
