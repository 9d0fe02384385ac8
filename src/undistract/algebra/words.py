"""What was learned, in words."""

from __future__ import annotations

import numpy as np

from undistract.algebra.cutoff import Cut
from undistract.algebra.projection import Projection, Soft
from undistract.algebra.spectrum import AUTOMATIC_CUTOFF, Spectrum


def describe(spectrum: Spectrum, cut: Cut, projection: Projection | None = None, *, n_moving: int | None = None) -> str:
    """Say what is removed, why, and how sure we are; without a projection, as for the kept span.

    Of the spectrum, the directions that go and the next are read, and with `n_moving`, how many vary inside sets, no
    others.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> from undistract.algebra.cutoff import cut
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([3 * m, 1, -1], [2, 2, 0], size=(100, 3)) for m in range(10)]
    >>> spectrum = Spectrum.of(Moments.of(sets), cushion=1e-3)
    >>> print(describe(spectrum, cut(spectrum)))
    Learned from 10 sets with 1000 rows of 3 features.
    Removed: 1 of 3 directions, with 49% of the variation inside sets and 5% of all variation (kept_span).
    Why: distraction 0.977 (de-biased 0.997) is at least 0.95, the automatic cut-off.
    That is: inside sets rows vary there at least 19 times as much as sets differ, with a cushion of 0.001 mean
    variances granted to the difference.
    Kept: 1 descriptive (the next reads 0.050), 1 constant, where any change is news.
    How sure: 9 directions can be told apart by 10 sets, 2 vary; a pure distractor would read about 0.991.
    """
    evidence = spectrum.evidence
    lines = [
        f"Learned from {_count(evidence.n_sets, 'set')} with {_count(evidence.n_rows, 'row')} "
        f"of {_count(spectrum.n_features, 'feature')}.",
        _what(spectrum, cut, projection),
        _why(spectrum, cut),
    ]
    if cut.rule in ("auto", "fixed") and cut.n_removed > spectrum.n_told:
        lines.append(_meaning(spectrum, cut))
    n_moving = spectrum.n_moving if n_moving is None else n_moving
    n_descriptive = n_moving - cut.n_removed
    n_constant = spectrum.n_features - n_moving
    following = f" (the next reads {spectrum.distraction[cut.n_removed]:.3f})" if n_descriptive else ""
    lines.append(f"Kept: {n_descriptive} descriptive{following}, {n_constant} constant, where any change is news.")
    lines.append(
        f"How sure: {evidence.n_sets - 1} directions can be told apart by {_count(evidence.n_sets, 'set')}, "
        f"{evidence.n_directions} vary; a pure distractor would read about {evidence.pure_distractor:.3f}."
    )
    return "\n".join(lines + [f"Caution: {caution}" for caution in cut.cautions])


def _what(spectrum: Spectrum, cut: Cut, projection: Projection | None) -> str:
    if cut.n_removed == 0:
        return "Removed: nothing."
    return (
        f"{'Shrunk' if isinstance(projection, Soft) else 'Removed'}: {cut.n_removed} of "
        f"{_count(spectrum.n_features, 'direction')}, with "
        f"{spectrum.variation_inside[: cut.n_removed].sum():.0%} of the variation inside sets and "
        f"{spectrum.variation[: cut.n_removed].sum():.0%} of all variation ({_how(projection)})."
    )


def _how(projection: Projection | None) -> str:
    """Name the removal; of a soft one, how long rows still are along what it shrinks."""
    if not isinstance(projection, Soft):
        return projection.removal if projection else "kept_span"
    least, most = 1 / projection.filter.stretch.max(), 1 / projection.filter.stretch.min()
    left = f"{most:.2g}" if f"{least:.2g}" == f"{most:.2g}" else f"{least:.2g} to {most:.2g}"
    asked = projection.strength if isinstance(projection.strength, str) else f"{projection.strength:g}"
    return f"soft, strength {asked}: {left} of their length is left"


def _why(spectrum: Spectrum, cut: Cut) -> str:
    n_told = spectrum.n_told
    if n_told:
        others = cut.n_removed - n_told
        rest = (
            f", and {_count(others, 'direction')} by what the sets showed (at least {cut.cutoff:g})" if others else ""
        )
        called = "it" if n_told == 1 else "them"
        return f"Why: {_count(n_told, 'direction')} because people called {called} familiar{rest}."
    if cut.rule == "waiting":
        return "Why: the cut asked for is not possible yet."
    if cut.rule == "number":
        return f"Why: n_remove asks for {_count(cut.n_removed, 'direction')}."
    kind = _kind(spectrum, cut)
    if cut.n_removed == 0:
        most = (
            f"the most distracting direction reads {spectrum.distraction[0]:.3f}"
            if spectrum.n_moving
            else "nothing varies"
        )
        return f"Why: {most}; {kind} is {cut.cutoff:g}."
    first, last = spectrum.distraction[0], spectrum.distraction[cut.n_removed - 1]
    clean = spectrum.debiased[: cut.n_removed].min()
    if cut.n_removed == 1:
        return f"Why: distraction {first:.3f} (de-biased {clean:.3f}) is at least {cut.cutoff:g}, {kind}."
    reads = f"distraction {last:.3f} to {first:.3f} (de-biased {clean:.3f} or more)"
    return f"Why: {reads} is at least {cut.cutoff:g}, {kind}."


def _kind(spectrum: Spectrum, cut: Cut) -> str:
    """Say what the cut-off asks of a direction."""
    if cut.rule == "fixed":
        return "the cut-off asked for"
    if cut.cutoff < AUTOMATIC_CUTOFF:
        what = "it stands" if cut.n_removed == 1 else "they stand"
        return f"where a gap shows that {what} apart from the next, {spectrum.distraction[cut.n_removed]:.3f}"
    return "the automatic cut-off"


def _meaning(spectrum: Spectrum, cut: Cut) -> str:
    """Say what a value of the cut-off means."""
    odds = cut.cutoff / max(1 - cut.cutoff, float(np.finfo(np.float64).eps))
    return (
        f"That is: inside sets rows vary there at least {odds:.3g} times as much as sets differ, with a cushion of "
        f"{spectrum.relative_cushion:.2g} mean variances granted to the difference."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
