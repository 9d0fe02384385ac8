"""How a value or an estimator comes apart into fields, and is put together again once they are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from undistract.errors import InputError
from undistract.storage.checks import Check, Sizes, every, expect, optional, whole, word

Fields = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """A frozen value: its fields go into the file under their own names.

    Parameters
    ----------
    made : type
        What is saved and made anew.
    checks : mapping
        For every field, what it must be.
    agree : callable, optional
        Refuses a value whose parts do not fit together.
    take, give : callables, optional
        From the value to its fields, and back, where they are not simply its attributes.
    public : bool
        Whether `save` names it among what it can keep.
    later : mapping
        Fields that came with a later version of ours, and what they are in files that were written before.
    """

    made: type
    checks: Mapping[str, Check]
    agree: Callable[[Any], None] | None = None
    take: Callable[[Any], Fields] | None = None
    give: Callable[[Fields], Any] | None = None
    public: bool = False
    later: Mapping[str, Any] = field(default_factory=dict)

    def apart(self, thing: Any) -> Fields | None:
        """Return the fields of a thing."""
        return self.take(thing) if self.take else {name: getattr(thing, name) for name in self.checks}

    def together(self, settings: Fields | None, fields: Fields | None, where: str) -> Any:
        """Make the thing anew out of checked fields."""
        if fields is None:
            raise InputError(f"{where} ({self.made.__name__}) has no fields")
        fields = {**self.later, **fields}
        self.check(self.checks, fields, where)
        thing = self.give(fields) if self.give else self.made(**fields)
        return self.agreed(thing, where)

    def check(self, checks: Mapping[str, Check], fields: Fields, where: str) -> None:
        """Refuse fields that are missing, unknown, or not what they must be."""
        if set(fields) != set(checks):
            lost, new = sorted(set(checks) - set(fields)), sorted(set(fields) - set(checks))
            raise InputError(f"{where} ({self.made.__name__}) lacks {lost} and has the unknown fields {new}")
        sizes: Sizes = {}
        for name, ask in checks.items():
            ask(fields[name], f"{where}.{name}", sizes)

    def agreed(self, thing: Any, where: str) -> Any:
        """Return a thing whose parts fit together."""
        if self.agree:
            try:
                self.agree(thing)
            except InputError as error:
                raise InputError(f"{where} ({self.made.__name__}) does not fit together: {error}") from error
        return thing


@dataclass(frozen=True)
class Estimator(Record):
    """A scikit-learn estimator of ours: its settings, and what it learned if it is fitted.

    Parameters
    ----------
    attributes : mapping
        For every field that is an attribute, which one. `take` and `give` have the others; `give` returns attributes,
        and finds the settings among the fields.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)

    def apart(self, thing: Any) -> Fields | None:
        """Return what a fitted estimator learned, None for one that is not."""
        try:
            check_is_fitted(thing)
        except ValueError:  # scikit-learn's NotFittedError
            return None
        seen = getattr(thing, "feature_names_in_", None)
        common = {"n_features": thing.n_features_in_, "feature_names": None if seen is None else tuple(map(str, seen))}
        own = self.take(thing) if self.take else {}
        return common | {name: getattr(thing, attribute) for name, attribute in self.attributes.items()} | own

    def together(self, settings: Fields | None, fields: Fields | None, where: str) -> Any:
        """Make the estimator anew; settings that came with a later version of ours keep their defaults."""
        known = self.made._get_param_names()  # type: ignore[attr-defined]
        if settings is None or not set(settings) <= set(known):
            raise InputError(f"{where} has the settings {sorted(settings or [])}, expected some of {sorted(known)}")
        # Threads or processes are started for it: a file must not ask for a million.
        optional(whole(-256, 256))(settings.get("n_jobs"), f"{where}.n_jobs", {})
        expect(settings.get("n_jobs") != 0, f"{where}.n_jobs is 0, expected None or another number")
        thing = self.made(**settings)
        if fields is None:
            return thing
        fields = {**self.later, **fields}
        self.check({**COMMON, **self.checks}, fields, where)
        names, thing.n_features_in_ = fields["feature_names"], fields["n_features"]
        expect(names is None or len(names) == thing.n_features_in_, f"{where} has not one name for each feature")
        if names is not None:
            thing.feature_names_in_ = np.array(names, dtype=object)
        for name, attribute in self.attributes.items():
            setattr(thing, attribute, fields[name])
        for attribute, value in (self.give(fields | {"settings": settings}) if self.give else {}).items():
            setattr(thing, attribute, value)
        return self.agreed(thing, where)


COMMON: Mapping[str, Check] = {"n_features": whole(1), "feature_names": optional(every(word()))}
