"""The cut-off: which directions go.

A fixed value of λ, a number of directions, or ``"auto"``: λ ≥ 0.95, and

    where sets can tell half of the directions apart    also λ ≥ 0.9 before a gap: 1 - λ grows by half to the next
    where they are too few for that                     only what varies alike in every set, and at most half of all

With few sets nearly every direction reads high for lack of evidence. Then what varies in some sets and rests in others
is no distraction that a new set must be expected to show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from undistract.algebra.leading import Wanted
from undistract.algebra.spectrum import AUTOMATIC_CUTOFF, Spectrum
from undistract.arrays import TINY
from undistract.errors import InputError

# Chosen on other trials than the reported ones: benchmarks/cutoff_study.py, docs/evidence.md.
STANDING_APART = 0.9
GAP = 1.5
MOST_UNEVEN = 0.25
_UNEVEN = ", because they vary in some sets and rest in others (unevenness {:.2f}, at most {:g} goes by itself)"
# From this share of the directions on, we say that almost everything goes.
ALMOST_ALL = 0.9


@dataclass(frozen=True)
class Cut:
    """How many of the most distracting directions go, by which rule, and what speaks against it."""

    n_removed: int
    cutoff: float  # the least distraction that is removed under the rule
    rule: str  # "auto", "fixed" or "number"
    cautions: tuple[str, ...]


def cut(
    spectrum: Spectrum,
    *,
    cutoff: float | str = "auto",
    n_remove: int | None = None,
    most: Callable[[float], int] | None = None,
) -> Cut:
    """Decide which directions go.

    Parameters
    ----------
    spectrum : Spectrum
    cutoff : float in (0, 1] or "auto"
        Remove directions with at least this distraction.
    n_remove : int, optional
        Remove so many, the most distracting first; overrides `cutoff`.
    most : callable, optional
        Says of a cut-off how many may go by it at most.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([3 * m, 1, -1], [2, 2, 0], size=(100, 3)) for m in range(10)]
    >>> spectrum = Spectrum.of(Moments.of(sets), cushion=1e-3)
    >>> cut(spectrum).n_removed
    1
    >>> cut(spectrum, cutoff=0.999).cautions
    ('With about 100 rows per set even a pure distractor reads about 0.991, below the cut-off 0.999...',)
    """
    check_cut(cutoff, n_remove)
    moving = spectrum.distraction[: spectrum.n_moving]
    if n_remove is not None:
        if n_remove > spectrum.n_moving:
            raise InputError(
                f"n_remove is {n_remove}, but only {spectrum.n_moving} of {spectrum.n_features} directions vary inside "
                "sets. Constant ones are always kept, because a change there is news."
            )
        value = float(moving[n_remove - 1]) if n_remove else 1.0
        return Cut(int(n_remove), value, "number", _cautions(spectrum, int(n_remove), None))
    rule, value = ("auto", _automatic(spectrum)) if isinstance(cutoff, str) else ("fixed", float(cutoff))
    n_removed = n_wanted = int((moving >= value).sum())
    if rule == "auto" and not spectrum.evidence.speaks:
        n_removed = (
            min(n_wanted, spectrum.n_directions // 2) if spectrum.directions.are_even(n_wanted, MOST_UNEVEN) else 0
        )
    spared = (n_wanted, n_wanted - n_removed)
    n_removed = n_removed if most is None else min(n_removed, most(value))
    return Cut(n_removed, value, rule, _cautions(spectrum, n_removed, value, *spared))


def needed(cutoff: float | str, n_remove: int | None) -> Wanted:
    """Say which directions must be known to decide.

    Examples
    --------
    >>> needed(0.999, None), needed("auto", 2).number
    (Wanted(least=0.999, number=0, silent=None), 2)
    """
    if n_remove is not None:
        return Wanted(np.inf, int(n_remove))
    if not isinstance(cutoff, str):
        return Wanted(float(cutoff))
    # Whatever reads less leaves a gap to a direction that stands apart. With few sets, gaps do not count.
    return Wanted(1 - GAP * (1 - STANDING_APART), silent=AUTOMATIC_CUTOFF)


def check_cut(cutoff: Any, n_remove: Any) -> None:
    """Refuse settings that make no sense for any spectrum."""
    number = isinstance(cutoff, Real) and 0 < float(cutoff) <= 1
    if not number and not (isinstance(cutoff, str) and cutoff == "auto"):
        raise InputError(f"cutoff is {cutoff!r}; expected 'auto' or a number above 0, at most 1, such as 0.999.")
    whole = isinstance(n_remove, Integral) and not isinstance(n_remove, bool)
    if n_remove is not None and not (whole and n_remove >= 0):
        raise InputError(f"n_remove is {n_remove!r}; expected how many directions to remove, such as 2.")


def _automatic(spectrum: Spectrum) -> float:
    """Find the least distraction that goes by itself."""
    moving = spectrum.distraction[: spectrum.n_moving]
    if not spectrum.is_whole:  # the next is below what was asked for, and that leaves a gap
        moving = np.append(moving, 0.0)
    rest = np.maximum(1.0 - moving, TINY)  # what speaks for keeping each direction
    apart = np.flatnonzero((rest[1:] >= GAP * rest[:-1]) & (moving[:-1] >= STANDING_APART))
    standing = moving[apart[-1:]] if spectrum.evidence.speaks else ()
    return float(min([AUTOMATIC_CUTOFF, *standing]))


def _cautions(
    spectrum: Spectrum, n_removed: int, cutoff: float | None, n_wanted: int = 0, n_spared: int = 0
) -> tuple[str, ...]:
    """Say in numbers what makes the cut doubtful."""
    evidence = spectrum.evidence
    n_directions = spectrum.n_directions
    if n_directions == 0:
        return ("Nothing varies in these sets, so there is nothing to ignore.",)
    if n_removed == spectrum.n_features:
        raise InputError(
            f"All {n_removed} directions would be removed and nothing would be left. "
            "Raise the cut-off, set n_remove, or give sets that differ from one another."
        )
    cautions = []
    if evidence.n_silent:
        cautions.append(
            f"{evidence.n_sets} sets can describe at most {evidence.n_sets - 1} directions; at least "
            f"{evidence.n_silent} of the {n_directions} that vary would read high for lack of evidence. {n_removed} "
            f"removed, with {spectrum.variation[:n_removed].sum():.0%} of all variation. Give more sets, or reduce the "
            "features first (for example with PCA)."
        )
    if n_spared:
        cautions.append(
            f"The automatic rule would have removed {n_wanted} directions with "
            f"{spectrum.variation[:n_wanted].sum():.0%} of all variation; with so few sets it keeps {n_spared} of them"
            + ("" if n_spared < n_wanted else _UNEVEN.format(spectrum.unevenness[:n_wanted].mean(), MOST_UNEVEN))
            + ". Set n_remove or a numeric cutoff if they should go."
        )
    if cutoff is not None and cutoff > evidence.pure_distractor:
        by_chance = evidence.noise_above(cutoff)
        cautions.append(
            f"With about {evidence.n_rows / evidence.n_sets:.0f} rows per set even a pure distractor reads about "
            f"{evidence.pure_distractor:.3f}, below the cut-off {cutoff:g}; pure noise would put {by_chance:.0f} of "
            f"{n_directions} directions above it. "
            + (f"Give more than {1 / (1 - cutoff):.0f} rows per set, or lower" if cutoff < 1 else "Lower")
            + " the cut-off."
        )
    if n_removed >= max(ALMOST_ALL * n_directions, 2):
        cautions.append(
            f"{n_removed} of {n_directions} directions that vary are removed, with "
            f"{spectrum.variation[:n_removed].sum():.0%} of all variation: little is left for a detector to see. "
            "Give sets that differ more, raise the cushion or the cut-off, or set n_remove."
        )
    return tuple(cautions)
