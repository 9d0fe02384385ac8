"""Selection: choose the directions to remove.

The rule is a fixed value of λ, a number of directions, or ``"auto"``: λ ≥ 0.95, and

    groups resolve at least half of the directions    also λ ≥ 0.9 before a gap: 1 - λ grows by half to the next
    too few groups for that                           only if all groups vary alike there, and at most half of all

With few groups nearly every direction has a high λ for lack of evidence. A direction that varies in some groups and is
constant in others is then not removed, because a new group need not vary along it. The constants are in `evidence`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from undistract._arrays import TINY, Floats
from undistract.algebra.evidence import (
    AUTOMATIC_CUTOFF,
    GAP_MIN_DISTRACTION,
    GAP_RATIO,
    MAX_HETEROGENEITY,
    MOST_REMOVED,
)
from undistract.algebra.solvers import EigenRequest
from undistract.algebra.spectrum import Spectrum
from undistract.errors import InputError


@dataclass(frozen=True)
class Selection:
    """The number of directions to remove, the rule that decided, and warnings about the decision."""

    n_removed: int
    cutoff: float  # the smallest distraction that the rule removes
    rule: str  # "auto", "fixed", "number", or "insufficient" if there are too few groups or rows so far
    warnings: tuple[str, ...] = ()


def select_directions(
    spectrum: Spectrum,
    *,
    cutoff: float | str = "auto",
    n_remove: int | None = None,
    max_count: Callable[[float], int] | None = None,
) -> Selection:
    """Select the directions to remove.

    Parameters
    ----------
    spectrum : Spectrum
    cutoff : float in (0, 1] or "auto"
        Remove directions with at least this distraction.
    n_remove : int, optional
        Remove this number of directions, the most distracting first; overrides `cutoff`.
    max_count : callable, optional
        Maps a cut-off to the largest number of directions that it may remove.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> rng = np.random.default_rng(0)
    >>> groups = [rng.normal([3 * m, 1, -1], [2, 2, 0], size=(100, 3)) for m in range(10)]
    >>> spectrum = Spectrum.of(Moments.of(groups), ridge=1e-3)
    >>> select_directions(spectrum).n_removed
    1
    >>> select_directions(spectrum, cutoff=0.999).warnings
    ('With about 100 rows per group even a pure distractor has a distraction of about 0.991, below the cut-off...',)
    """
    check_cutoff(cutoff, n_remove)
    varying = spectrum.distraction[: spectrum.n_varying]
    if n_remove is not None:
        if n_remove > spectrum.n_varying:
            raise InputError(
                f"n_remove is {n_remove}, but only {spectrum.n_varying} of {spectrum.n_features} directions vary "
                "within groups. Constant directions are always kept, because any change along them is informative."
            )
        value = float(varying[n_remove - 1]) if n_remove else 1.0
        return Selection(int(n_remove), value, "number", _warnings(spectrum, int(n_remove)))
    rule = "fixed"
    resolvable = spectrum.evidence.is_resolvable
    if isinstance(cutoff, str):
        rule = "auto"
        cutoff = _automatic_cutoff(spectrum, varying) if resolvable else AUTOMATIC_CUTOFF
    n_above = int((varying >= cutoff).sum())
    n_removed = n_above
    if rule == "auto" and not resolvable:
        n_removed = 0
        if spectrum.directions.are_homogeneous(n_above, MAX_HETEROGENEITY):
            n_removed = min(n_above, spectrum.n_directions // 2)
    n_kept_back = n_above - n_removed
    if max_count is not None:
        n_removed = min(n_removed, max_count(cutoff))
    return Selection(n_removed, float(cutoff), rule, _warnings(spectrum, n_removed, cutoff, n_above, n_kept_back))


def eigen_request(cutoff: float | str, n_remove: int | None) -> EigenRequest:
    """Return which directions must be solved for before `select_directions` can decide.

    Examples
    --------
    >>> eigen_request(0.999, None), eigen_request("auto", 2).number
    (EigenRequest(min_value=0.999, number=0, min_value_if_unresolved=None), 2)
    """
    if n_remove is not None:
        return EigenRequest(np.inf, int(n_remove))
    if not isinstance(cutoff, str):
        return EigenRequest(float(cutoff))
    # Any direction below this value leaves a gap after λ = 0.9, so its exact value does not matter. With few groups
    # the rule does not look at gaps, and the automatic cut-off is enough.
    return EigenRequest(1 - GAP_RATIO * (1 - GAP_MIN_DISTRACTION), min_value_if_unresolved=AUTOMATIC_CUTOFF)


def check_cutoff(cutoff: Any, n_remove: Any) -> None:
    """Raise InputError for settings that are invalid for any spectrum."""
    is_number = isinstance(cutoff, Real) and 0 < float(cutoff) <= 1
    if not is_number and not (isinstance(cutoff, str) and cutoff == "auto"):
        raise InputError(f"cutoff must be 'auto' or a number in (0, 1], got {cutoff!r}. The paper uses 0.999.")
    is_integer = isinstance(n_remove, Integral) and not isinstance(n_remove, bool)
    if n_remove is not None and not (is_integer and n_remove >= 0):
        raise InputError(f"n_remove must be a non-negative integer, got {n_remove!r}. Use None to apply the cut-off.")


def _automatic_cutoff(spectrum: Spectrum, varying: Floats) -> float:
    """Return the smallest distraction that the automatic rule removes, if groups resolve half of the directions."""
    if not spectrum.is_complete:
        # The directions that were not solved for are below the requested value: a gap (see `eigen_request`).
        varying = np.append(varying, 0.0)
    between_share = np.maximum(1.0 - varying, TINY)
    is_gap = (between_share[1:] >= GAP_RATIO * between_share[:-1]) & (varying[:-1] >= GAP_MIN_DISTRACTION)
    last_gap = np.flatnonzero(is_gap)[-1:]
    return float(min([AUTOMATIC_CUTOFF, *varying[last_gap]]))


def _warnings(
    spectrum: Spectrum, n_removed: int, cutoff: float | None = None, n_above: int = 0, n_kept_back: int = 0
) -> tuple[str, ...]:
    """Return what is probably wrong, with numbers and a next step."""
    evidence = spectrum.evidence
    n_directions = evidence.n_directions
    if n_directions == 0:
        return ("Nothing varies in these groups, so there is nothing to remove.",)
    if n_removed == len(spectrum.origin):
        raise InputError(
            f"All {n_removed} directions would be removed and nothing would be left. "
            "Raise the cut-off, set n_remove, or pass groups that differ from one another."
        )
    warnings = []
    if n_kept_back:
        reason = ""
        if n_kept_back == n_above:
            heterogeneity = spectrum.heterogeneity[:n_above].mean()
            reason = (
                f", because they vary in some groups and not in others (heterogeneity {heterogeneity:.2f}, "
                f"at most {MAX_HETEROGENEITY:g} is removed)"
            )
        warnings.append(
            f"The automatic rule would have removed {n_above} directions with "
            f"{spectrum.total_share[:n_above].sum():.0%} of the total variance; with so few groups it keeps "
            f"{n_kept_back} of them{reason}. Set n_remove or a numeric cutoff to remove them."
        )
    if cutoff is not None and cutoff > evidence.pure_distractor:
        advice = "Lower"
        if cutoff < 1:
            advice = f"Pass more than {1 / (1 - cutoff):.0f} rows per group, or lower"
        warnings.append(
            f"With about {evidence.n_rows / evidence.n_groups:.0f} rows per group even a pure distractor has a "
            f"distraction of about {evidence.pure_distractor:.3f}, below the cut-off {cutoff:g}; pure noise would put "
            f"{evidence.noise_above(cutoff):.0f} of {n_directions} directions above it. {advice} the cut-off."
        )
    if n_removed >= max(MOST_REMOVED * n_directions, 2):
        warnings.append(
            f"{n_removed} of {n_directions} directions that vary are removed, with "
            f"{spectrum.total_share[:n_removed].sum():.0%} of the total variance: little remains for a detector. "
            "Pass groups that differ more, raise the ridge or the cut-off, or set n_remove."
        )
    return tuple(warnings)
