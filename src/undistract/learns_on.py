"""Learning on from rows as they come: sets grow by pieces, and are closed when they are whole.

rows ─► sets that grow ─► what they say, found at the next question
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract.algebra import SketchedMoments, Taught
from undistract.algebra.growing import Growing
from undistract.algebra.set_labels import number_sets
from undistract.attempt import as_before_if_it_fails
from undistract.dispatch import at_home, dtypes_of, library_of
from undistract.errors import InputError, NoSetsWarning
from undistract.learned import LearnedDirections, Settings


class LearnsOn(LearnedDirections):
    """An estimator that learns on; its settings are those of `Settings`."""

    prior: Any
    taught_: Taught | None

    def partial_fit(self, X: Any, y: Any = None, *, sets: Any = None, key: Hashable | None = None) -> Self:
        """Learn on from more rows; a set may come in any number of pieces.

        Rows are summed up now; what they say is found at the next question (`transform`, `n_removed_`, `describe`).
        Every set stays open with its own scatter, so memory grows with the sets: `close_sets` ends that, and where
        sets come whole, `fit_sets` needs no more than a few matrices. No warning is given while the evidence is still
        thin; see `describe`.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        sets : (n,) sequence of hashables
        key : hashable, optional
            What these rows are called, such as the hour they were seen or the file they are from. Rows whose key came
            before are not counted again, and nothing is said: after a break, send again what may have been lost. Keys
            are kept with the model, in ``focus.growing_.keys``.

        Examples
        --------
        >>> import numpy as np
        >>> from undistract import Focus
        >>> rng = np.random.default_rng(0)
        >>> focus = Focus()
        >>> for hour in [0, 1, 2, 2, 3]:  # one came twice
        ...     rows = rng.normal(size=(60, 3)) * [9, 1, 1] + [[0, hour, 0]]
        ...     focus = focus.partial_fit(rows, sets=np.repeat(["a", "b"], 30), key=hour)
        >>> focus.moments_.n_rows
        240
        """
        if not isinstance(self.prior, str) and not hasattr(self.prior, "keys"):
            raise InputError("prior gives weights in order, but a stream has no last set. Give weights by set name.")
        with as_before_if_it_fails(self):
            first = not self.__sklearn_is_fitted__()
            before = Growing() if first else self.growing_
            # Open sets are kept by numpy, so that rows of another library come home here.
            X = at_home(validate_data(self, X, dtype=dtypes_of(library_of(X)), reset=first))
            sets = at_home(sets)
            if not first and (sets is None) != (before.names == (None,)):
                raise InputError("Some rows came with sets, others without. Give sets with every call of partial_fit.")
            if isinstance(before.closed, SketchedMoments):
                raise InputError(
                    "Focus learned from a sketch, which no row can join later. Sketch the new sets, and join both: "
                    f"focus.fit_moments(focus.moments_ + SketchedMoments.of(sets, size={before.closed.size}))."
                )
            if key is not None and before.has(key, len(X)):
                return self
            settings = self._settings()
            settings.check()
            names, codes = ((None,), np.zeros(len(X), np.int64)) if sets is None else number_sets(sets, len(X))
            self._wait(before.grown(X, names, codes, "uniform" if sets is None else self.prior, key), settings)
            self.taught_ = None
            if sets is None:
                self._warn_without_sets(stacklevel=3)
        return self

    def close_sets(self, names: Collection[Hashable] | None = None) -> Self:
        """Say that sets will not grow any more: they are summed up together and take no memory of their own.

        What is learned stays the same. Where many rows came, a closed set that comes back is an error.

        Parameters
        ----------
        names : collection of hashables, optional
            Which sets; all that are open if left out.

        Examples
        --------
        >>> import numpy as np
        >>> from undistract import Focus
        >>> rng = np.random.default_rng(0)
        >>> focus = Focus()
        >>> for day in range(10):
        ...     for hour in range(24):
        ...         focus = focus.partial_fit(rng.normal([day, 0, 0], [1, 9, 1], size=(20, 3)), sets=[day] * 20)
        ...     focus = focus.close_sets()
        >>> focus.n_removed_, len(focus.growing_.opened)
        (1, 0)
        """
        check_is_fitted(self)
        if isinstance(names, str | bytes):
            raise InputError(f"names is {names!r}; expected several names of sets, such as [{names!r}].")
        prior = "uniform" if self.growing_.names == (None,) else self.settings_.prior
        growing = self.growing_.with_closed(names, prior)
        if self.is_waiting:
            self._wait(growing, self.settings_)
        else:
            # What was found holds; the sets may stand in another order, which is that of the moments from now on.
            self.growing_, self.moments_ = growing, growing.moments(prior)
        return self

    def _settings(self) -> Settings:
        return Settings(*(getattr(self, name) for name in Settings._fields))

    @staticmethod
    def _warn_without_sets(stacklevel: int) -> None:
        warnings.warn(
            "Focus was fitted without sets, so nothing is removed. Say which set (video, machine, person, day) "
            "each row belongs to: fit(X, sets=labels).",
            NoSetsWarning,
            stacklevel=stacklevel,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "growing_")
