"""Learning that fails leaves an estimator as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Learner = TypeVar("Learner")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


@contextmanager
def as_before_if_it_fails(estimator: Any) -> Iterator[None]:
    """Give an estimator its attributes back when what is done with it fails."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def all_or_nothing(
    learn: Callable[Concatenate[Learner, Given], Answer],
) -> Callable[Concatenate[Learner, Given], Answer]:
    """Make a method change the attributes of its estimator all together, or not at all.

    Examples
    --------
    >>> class Careful:
    ...     @all_or_nothing
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
        with as_before_if_it_fails(self):
            return learn(self, *args, **settings)

    return attempt
