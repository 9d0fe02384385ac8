"""Declare which classes can be saved: their fields, and a check for each.

    @saveable({"mean_": array("d"), "floor_": number(0)})
    class MyDetector(BaseDetector): ...

A model file contains class names and these fields, never code. Every value that is read from a file is checked before
an object is created from it. Dimensions with the same letter must be equal within one object.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from math import inf, isfinite, isnan
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError

Sizes = dict[str, int]
Check = Callable[[Any, str, Sizes], None]
T = TypeVar("T")

# Bound for the entries of orthonormal columns, with room for rounding.
UNIT = 1 + 1e-6


@dataclass(frozen=True)
class Schema:
    """How objects of a class are saved; see `saveable`."""

    type: type
    declared: Mapping[str, Check]
    validate: Callable[[Any], None] | None
    encode: Callable[[Any], dict[str, Any]] | None
    decode: Callable[[dict[str, Any]], Any] | None
    public: bool
    is_estimator: bool  # with settings and fitted attributes

    @cached_property
    def checks(self) -> Mapping[str, Check]:
        """A check for every field, by attribute; those of a dataclass follow from its annotations if not declared."""
        if self.is_estimator or self.decode is not None or not is_dataclass(self.type):
            return self.declared
        hints = get_type_hints(self.type)
        names = [field.name for field in fields(self.type) if field.init]
        return {name: self.declared.get(name) or check_of(hints[name]) for name in names}


# Every class that can be saved, by name. A class is known once its module is imported.
REGISTRY: dict[str, Schema] = {}


def saveable(
    checks: Mapping[str, Check] | None = None,
    *,
    validate: Callable[[Any], None] | None = None,
    encode: Callable[[Any], dict[str, Any]] | None = None,
    decode: Callable[[dict[str, Any]], Any] | None = None,
    public: bool = True,
    is_estimator: bool | None = None,
) -> Callable[[type[T]], type[T]]:
    """Register a class, so that `undistract.save` and `undistract.load` accept its objects.

    Parameters
    ----------
    checks : mapping, optional
        A check for each field. For a dataclass the fields are those of its constructor, and missing checks follow from
        the annotations. For an estimator they are fitted attributes; its settings are saved in any case.
    validate : callable, optional
        Called with the object that was read; raises `InputError` if its parts are inconsistent.
    encode : callable, optional
        Returns the fields of an object that are not its attributes (for an estimator, in addition to `checks`).
    decode : callable, optional
        The inverse of `encode`: takes the checked fields, and returns the object. For an estimator it returns a
        dictionary of attributes, and ``fields["settings"]`` has the settings.
    public : bool
        Whether messages list the class among those that can be saved.
    is_estimator : bool, optional
        Whether it has settings and fitted attributes; by default, if it is a scikit-learn estimator.

    Examples
    --------
    >>> @saveable({"shape": array("d")}, public=False)
    ... @dataclass(frozen=True)
    ... class Curve:
    ...     name: str
    ...     shape: npt.NDArray[np.float64]
    >>> sorted(REGISTRY.pop("Curve").checks)
    ['name', 'shape']
    """

    def register(cls: type[T]) -> type[T]:
        fitted = hasattr(cls, "_get_param_names") if is_estimator is None else is_estimator
        REGISTRY[cls.__name__] = Schema(cls, checks or {}, validate, encode, decode, public, fitted)
        return cls

    return register


def array(
    *shape: str, dtype: npt.DTypeLike = np.float64, low: float = -inf, high: float = inf, nan: bool = False
) -> Check:
    """Require an array with these dimensions, finite (unless `nan`) and within the bounds."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        expected = f"an array of {np.dtype(dtype)} with shape ({', '.join(shape)})"
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != len(shape):
            raise _wrong_type(value, where, expected)
        for letter, size in zip(shape, value.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise InputError(f"{where} has shape {value.shape}, expected ({', '.join(shape)}) with {sizes}")
        check_values(value, where, low, high, nan)

    return check


def any_array(dtype: type[np.generic] = np.float64) -> Check:
    """Require a finite array of this dtype, of any shape."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or not np.issubdtype(value.dtype, dtype):
            raise _wrong_type(value, where, f"an array of {dtype.__name__}")
        check_values(value, where, -inf, inf)

    return check


def check_values(value: npt.NDArray[Any], where: str, low: float, high: float, nan: bool = False) -> None:
    """Raise `InputError` unless all values are finite (or NaN, if allowed) and within the bounds."""
    if value.size == 0:
        return
    lowest = float(value.min())  # NaN if any value is NaN
    highest = float(value.max())
    if nan and isnan(lowest):
        numbers = value[~np.isnan(value)]
        lowest = float(numbers.min(initial=0.0))
        highest = float(numbers.max(initial=0.0))
    if not (isfinite(lowest) and isfinite(highest) and low <= lowest and highest <= high):
        raise InputError(f"{where} holds values from {lowest:g} to {highest:g}, expected {_range(low, high)}")


def number(low: float = -inf, high: float = inf, *, infinite: bool = False) -> Check:
    """Require a number."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _wrong_type(value, where, "a number")
        if isinstance(value, int) and abs(value) >= 2**63:  # does not fit into an array
            raise _wrong_type(value, where, "a number that fits into 64 bits")
        if not low <= value <= high or (isinstance(value, float) and not infinite and not isfinite(value)):
            raise InputError(f"{where} is {value!r:.40}, expected {_range(low, high)}")

    return check


def integer(low: int = -(2**53), high: int = 2**53) -> Check:
    """Require an integer."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _wrong_type(value, where, f"an integer, {_range(low, high)}")

    return check


def string(*choices: str) -> Check:
    """Require one of these strings, or any string if there are no choices."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, str):
            raise _wrong_type(value, where, "a string")
        if choices and value not in choices:
            raise _wrong_type(value, where, f"one of {', '.join(map(repr, choices))}")

    return check


def instance_of(*types: type) -> Check:
    """Require an instance of one of these types or of a subclass (already checked by its own schema)."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, types):
            raise _wrong_type(value, where, " or ".join(kind.__name__ for kind in types))

    return check


def optional(check: Check) -> Check:
    """Allow None, or require what `check` requires."""

    def check_unless_none(value: Any, where: str, sizes: Sizes) -> None:
        if value is not None:
            check(value, where, sizes)

    return check_unless_none


def tuple_of(check: Check, *, min_length: int = 0) -> Check:
    """Require a tuple whose items all pass `check`."""

    def check_items(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, tuple) or len(value) < min_length:
            raise _wrong_type(value, where, f"a tuple of {min_length} or more")
        for item in value:
            check(item, where, sizes)

    return check_items


def group_names(value: Any, where: str, sizes: Sizes) -> None:
    """Require a tuple of group names without duplicates; their number is the dimension M."""
    if not isinstance(value, tuple) or not value or not all(isinstance(name, Hashable) for name in value):
        raise _wrong_type(value, where, "a tuple of names")
    try:
        distinct = len(set(value))
    except TypeError as error:  # a tuple that contains a list
        raise InputError(f"{where} contains a name that is not hashable") from error
    if distinct != sizes.setdefault("M", len(value)) or distinct != len(value):
        raise InputError(f"{where} has {distinct} distinct names of {len(value)}, expected {sizes['M']}")


def anything(value: Any, where: str, sizes: Sizes) -> None:
    """Accept any value that a file can hold."""


def require(condition: Any, message: str) -> None:
    """Raise `InputError` with the message unless the condition holds."""
    if not bool(condition):
        raise InputError(message)


SIMPLE: Mapping[Any, Check] = {
    bool: instance_of(bool),
    int: integer(),
    float: number(),
    str: string(),
    Any: anything,
    Hashable: anything,
}


def check_of(annotation: Any) -> Check:
    """Return the check that follows from an annotation.

    Examples
    --------
    >>> check_of(float | None)("x", "rate", {})
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: rate is 'x', expected a number
    """
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin in (Union, UnionType):
        checks = [check_of(item) for item in arguments if item is not NoneType]
        check = checks[0]
        if len(checks) > 1:
            check = instance_of(*(get_origin(item) or item for item in arguments if item is not NoneType))
        return optional(check) if NoneType in arguments else check
    if origin is Literal:
        return string(*arguments)
    if origin is np.ndarray:
        (dtype,) = get_args(arguments[1])
        return any_array(np.number if dtype is Any else dtype)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple_of(check_of(arguments[0]))
    return instance_of(origin or annotation)


def _range(low: float, high: float) -> str:
    bounds = [f"{text} {bound:g}" for text, bound in (("at least", low), ("at most", high)) if isfinite(bound)]
    return " and ".join(bounds) or "finite"


def _wrong_type(value: Any, where: str, expected: str) -> InputError:
    if isinstance(value, np.ndarray):
        actual = f"an array of {value.dtype} with shape {value.shape}"
    elif isinstance(value, str | int | float | None):
        actual = f"{value!r:.40}"
    else:
        actual = f"a {type(value).__name__}"
    return InputError(f"{where} is {actual}, expected {expected}")
