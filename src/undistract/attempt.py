"""Learning that fails leaves an estimator as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class AllOrNothing:
    """An estimator whose attributes change all together or not at all.

    Examples
    --------
    >>> class Careful(AllOrNothing):
    ...     def fit(self):
    ...         with self._all_or_nothing():
    ...             self.mean_ = 1.0
    ...             raise ValueError
    >>> careful = Careful()
    >>> careful.fit()
    Traceback (most recent call last):
    ...
    ValueError
    >>> hasattr(careful, "mean_")
    False
    """

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was when learning fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
