"""Restore the attributes of an estimator if fitting fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Learner = TypeVar("Learner")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


@contextmanager
def restore_on_error(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator if the block raises."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def restores_on_error(
    learn: Callable[Concatenate[Learner, Given], Answer],
) -> Callable[Concatenate[Learner, Given], Answer]:
    """Decorate a method so that the attributes of its estimator are restored if it raises.

    Examples
    --------
    >>> class Careful:
    ...     @restores_on_error
    ...     def fit(self):
    ...         self.mean_ = 1.0
    ...         raise ValueError
    >>> careful = Careful()
    >>> careful.fit()
    Traceback (most recent call last):
    ...
    ValueError
    >>> hasattr(careful, "mean_")
    False
    """

    @wraps(learn)
    def attempt(self: Learner, /, *args: Given.args, **settings: Given.kwargs) -> Answer:
        with restore_on_error(self):
            return learn(self, *args, **settings)

    return attempt
