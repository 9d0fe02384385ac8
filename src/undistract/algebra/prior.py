"""The prior P_m: how much each set counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from undistract.arrays import Floats, Ints, listed
from undistract.errors import InputError

Weights = str | Mapping[Any, float] | Sequence[float]


@dataclass(frozen=True)
class Prior:
    """A rule that gives each set its weight; shares P_m are weights divided by their sum.

    Examples
    --------
    >>> import numpy as np
    >>> Prior.of("by_size").weights(("mon", "tue"), np.array([10, 30]))
    array([10., 30.])
    >>> Prior.of({"mon": 2.0, "tue": 1.0}).weights(("tue",), np.array([30]))
    array([1.])
    """

    kind: str  # "uniform", "by_size" or "given"
    given: Mapping[Any, float] | Sequence[float] = ()

    @classmethod
    def of(cls, prior: Weights) -> Prior:
        """Read what a user gives: ``"uniform"``, ``"by_size"``, weights by set name, or weights in order."""
        if isinstance(prior, str):
            if prior not in ("uniform", "by_size"):
                raise InputError(f"prior is {prior!r}; expected 'uniform', 'by_size', or weights by name or in order.")
            return cls(prior)
        if hasattr(prior, "keys"):  # a mapping, or a column indexed by set name
            prior = {name: prior[name] for name in prior.keys()}  # noqa: SIM118  iterating a column gives values
        elif isinstance(prior, Iterable) and not isinstance(prior, Set):
            prior = tuple(prior)
        try:
            numbers = np.array([*prior.values()] if isinstance(prior, dict) else prior, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"prior is {prior!r}; expected a positive weight for every set.") from error
        # Weights are squared: between these bounds that is safe, and only their ratio counts.
        if numbers.ndim != 1 or not ((numbers >= 1e-100) & (numbers <= 1e100)).all():
            raise InputError("Every weight in prior must be a positive number (1e-100 to 1e100), one per set.")
        return cls("given", prior)

    def weights(self, names: Sequence[Hashable], counts: Ints, place: int = 0) -> Floats:
        """Return the weight of each set, (M,); `place` is the number of sets that came before these."""
        if self.kind == "uniform":
            return np.ones(len(names))
        if self.kind == "by_size":
            return counts.astype(np.float64)
        if isinstance(self.given, Mapping):
            if absent := [name for name in names if name not in self.given]:
                raise InputError(f"prior has no weight for set {listed(absent)}; give every set a weight.")
            return np.array([self.given[name] for name in names], dtype=np.float64)
        if place + len(names) > len(self.given):
            raise InputError(f"prior has {len(self.given)} weights, but there are more sets. Give one weight per set.")
        return np.array(self.given[place : place + len(names)], dtype=np.float64)

    def check_length(self, n_sets: int) -> None:
        """Refuse weights in order that are more than the sets."""
        if self.kind == "given" and not isinstance(self.given, Mapping) and len(self.given) != n_sets:
            raise InputError(f"prior has {len(self.given)} weights for {n_sets} sets. Give one weight per set.")
