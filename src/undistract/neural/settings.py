"""Which settings make a `NeuralFocus`, and those of its training: plain values that need no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

from undistract.errors import InputError

BESIDE = ("news", "rows", "nothing")
MOST = 10**6  # directions, rounds, sets, rows: beyond it, a slip of the pen


@dataclass(frozen=True)
class Training:
    """How long a network learns, and from what at a time."""

    epochs: int
    patience: int
    n_sets: int
    n_rows: int
    learning_rate: float
    cushion: float
    rebuilding: float
    seed: int
    progress: bool | None

    @classmethod
    def of(cls, focus: Any, seed: int) -> Self:
        """Read them off a `NeuralFocus`, whose numbers may be numpy's."""
        return cls(
            int(focus.epochs),
            int(focus.patience),
            int(focus.n_sets),
            int(focus.n_rows),
            float(focus.learning_rate),
            float(focus.cushion),
            float(focus.rebuilding),
            seed,
            focus.progress,
        )


def check_settings(focus: Any) -> None:
    """Refuse settings that make no sense for any rows."""
    for name, least in (
        ("n_components", 1),
        ("n_hidden", 1),
        ("epochs", 1),
        ("patience", 1),
        ("n_sets", 2),
        ("n_rows", 2),
    ):
        value = getattr(focus, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= MOST:
            raise InputError(f"{name} is {value!r}; expected a whole number from {least} to {MOST}.")
    for name, low, high in (
        ("weight", 0.0, 1e6),
        ("cushion", 1e-6, 1e6),
        ("rebuilding", 0.0, 1e6),
        ("held_out", 0.0, 0.9),
        ("learning_rate", 1e-9, 10.0),
    ):
        value = getattr(focus, name)
        if not isinstance(value, Real) or isinstance(value, bool) or not low <= float(value) <= high:
            raise InputError(f"{name} is {value!r}; expected a number from {low:g} to {high:g}.")
    if not isinstance(focus.finish, bool):
        raise InputError(f"finish is {focus.finish!r}; expected True or False.")
    if focus.beside not in BESIDE:
        raise InputError(f"beside is {focus.beside!r}; expected one of {', '.join(map(repr, BESIDE))}.")
