"""From sketched moments to the spectrum, in the row space of the two sketches; nothing of size d × d.

    (BᵀB + α I) · w = λ · (BᵀB + GᵀG + (α + ε) I) · w          α = dropped / 2

`within` lies between BᵀB and BᵀB + dropped · I, and the middle of the two is wrong by half as much as either can be. On
data (benchmarks/sketch_error.py) giving back half or all came out alike, and none far behind. In odds λ/(1-λ):

    (odds - dropped/2ε) / (1 + dropped_apart/ε)  ≤  odds of all rows  ≤  max(odds, dropped/2ε) + dropped/2ε

where odds are those of the sketch; outside of it, where neither sketch has rows, they are dropped/2ε.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh, qr, svd

from undistract.algebra.cushion import CUSHION, check_cushion, epsilon_of
from undistract.algebra.cutoff import STANDING_APART, Cut, cut
from undistract.algebra.debiased import debiased_distraction
from undistract.algebra.directions import Known
from undistract.algebra.evidence import Evidence
from undistract.algebra.sketch import SketchedMoments
from undistract.algebra.solvers import Solution
from undistract.algebra.spectrum import AUTOMATIC_CUTOFF, Spectrum, check_learnable
from undistract.arrays import TINY, Floats
from undistract.errors import InputError

COMPENSATION = 0.5


def sketched_spectrum(
    moments: SketchedMoments, *, cushion: float = CUSHION, absolute: bool = False, compensation: float = COMPENSATION
) -> Spectrum:
    """Solve the eigenproblem of a sketch; `Spectrum.of` does it for all rows.

    Directions beyond the sketch get no vectors: at most `dropped` varies there inside sets.

    Parameters
    ----------
    moments : SketchedMoments
    cushion, absolute
        As in `Spectrum.of`, but above 0: without a cushion, directions count that barely vary, and a sketch has none.
    compensation : float, default=0.5
        Which share of what the sketch dropped is given back, alike in all directions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sets = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    >>> spectrum = sketched_spectrum(SketchedMoments.of(sets, size=64))
    >>> spectrum.patterns.shape[0], spectrum.distraction[:3].round(2)
    (500, array([0.97, 0.97, 0.96]))
    """
    check_learnable(moments)
    check_cushion(cushion)
    variances = moments.variances
    n_varying = int((variances > 0).sum())
    epsilon = epsilon_of(cushion, absolute, float(variances.sum()) / max(n_varying, 1))
    if n_varying == 0:
        return replace(Spectrum.unknown(moments), cushion=epsilon)
    if cushion == 0:
        raise InputError(
            "cushion is 0, but a sketch drops directions that barely vary, and without a cushion they count as much as "
            "any. Give a cushion above 0, such as 0.1, or sum up all rows with Moments.of."
        )
    solution = _solve(moments.rows_inside, moments.rows_apart, epsilon, compensation * moments.dropped)
    # All that varies speaks for itself, whether the sketch holds it or not.
    evidence = Evidence.of(moments, max(min(n_varying, moments.n_rows - 1), len(solution.distraction)))
    distraction, filters, patterns, n_moving = solution
    directions = Known(filters, patterns, moments.unevenness(patterns))
    noise = moments.wander(filters, inside=distraction)
    debiased = debiased_distraction(moments, distraction, epsilon * directions.filter_squares, noise)
    return Spectrum(distraction, debiased, directions, moments.mean, epsilon, n_moving, evidence)


def _solve(inside: Floats, apart: Floats, epsilon: float, alpha: float) -> Solution:
    """Solve where either sketch has rows."""
    # A triangle first: a Gram matrix would square the condition.
    basis, triangle = qr(np.vstack([inside, apart]).T, mode="economic", check_finite=False)
    axes, lengths, sources = svd(triangle, full_matrices=False, check_finite=False)
    rounding = 8 * len(lengths) * float(np.finfo(np.float64).eps)
    real = lengths > rounding * lengths[0]
    axes, lengths, sources = axes[:, real], lengths[real], sources[real]
    half = sources[:, : len(inside)] * lengths[:, None]  # (q, rows inside)
    within = half @ half.T  # in the coordinates basis · axes
    within[np.diag_indices_from(within)] += alpha
    roots = np.sqrt(lengths**2 + alpha + epsilon)
    values, vectors = eigh(within / np.outer(roots, roots), driver="evd", overwrite_a=True, check_finite=False)
    distraction, vectors = np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]
    filters = basis @ (axes @ (vectors / roots[:, None]))
    patterns = basis @ (axes @ (vectors * roots[:, None]))
    # What is given back varies everywhere, unless it is the rounding of squares.
    everywhere = alpha > rounding * lengths[0] ** 2
    held = np.linalg.svd(half, compute_uv=False)
    n_moving = len(lengths) if everywhere else int((held > rounding * lengths[0]).sum())
    distraction[n_moving:] = 0.0
    return Solution(distraction, filters, patterns, n_moving)


def between_which(moments: SketchedMoments, spectrum: Spectrum) -> tuple[Floats, Floats]:
    """Return the least and the largest distraction that all rows can have in place of each of the sketch, (q,) each."""
    if spectrum.cushion == 0:
        return spectrum.distraction, spectrum.distraction
    odds = spectrum.distraction / np.maximum(1.0 - spectrum.distraction, TINY)
    half = COMPENSATION * moments.dropped / spectrum.cushion
    least = np.maximum(odds - half, 0.0) / (1 + moments.dropped_apart / spectrum.cushion)
    # Beyond the sketch every direction reads `half`, and may stand before those of the sketch that read less.
    most = (odds if spectrum.patterns.shape[1] == spectrum.n_features else np.maximum(odds, half)) + half
    return least / (1 + least), most / (1 + most)


def sketched_cut(
    moments: SketchedMoments, spectrum: Spectrum, *, cutoff: float | str = "auto", n_remove: int | None = None
) -> Cut:
    """Decide which directions go, as `cut` does, but by a cut-off only those that surely pass it with all rows.

    What a small sketch gives back alone can lift every direction over the cut-off: when the evidence is thin, it keeps.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sets = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    >>> sketch = SketchedMoments.of(sets, size=64)
    >>> sketched_cut(sketch, sketched_spectrum(sketch), cutoff=0.9).cautions[-1]
    'The sketch of size 64 leaves open which directions read 0.9 or more: 18 surely do, 26 of those it holds may...'
    """
    bounds = between_which(moments, spectrum)

    def passing(value: float) -> tuple[float, int, int]:
        # A gap puts the cut-off at a direction's own value, which none can surely reach.
        needed = STANDING_APART if isinstance(cutoff, str) and value < AUTOMATIC_CUTOFF else value
        sure, possible = (int((bound >= needed).sum()) for bound in bounds)
        return needed, sure, possible

    decision = cut(spectrum, cutoff=cutoff, n_remove=n_remove, most=lambda value: passing(value)[1])
    needed, sure, possible = passing(decision.cutoff)
    if decision.rule == "number" or sure == possible:
        return decision
    open_question = (
        f"The sketch of size {moments.size} leaves open which directions read {needed:g} or more: {sure} surely do, "
        f"{possible} of those it holds may. {decision.n_removed} removed. Give it a larger size, or the spectrum a "
        "larger cushion."
    )
    return replace(decision, cautions=(*decision.cautions, open_question))


def sketch_in_words(moments: SketchedMoments, spectrum: Spectrum) -> str:
    """Say that it is a sketch, what it holds, and how far it can be wrong.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sets = [(rng.normal(size=(90, 500)) + 2 * rng.normal(size=500)) * 0.98 ** np.arange(500) for _ in range(20)]
    >>> sketch = SketchedMoments.of(sets, size=64)
    >>> print(sketch_in_words(sketch, sketched_spectrum(sketch)))
    Sketch: size 64, with 68% of the variation inside sets; shares are of what it holds. Any direction may vary inside
    sets by 4.3 cushions more than it holds (by theory at most 16). What is called constant may be beyond the sketch.
    The first direction reads 0.973, of all rows 0.971 to 0.974.
    """
    if moments.dropped == 0 and moments.dropped_apart == 0:
        return f"Sketch: size {moments.size}; it dropped nothing, so all of this is exact."
    low, high = between_which(moments, spectrum)
    first = (
        f" The first direction reads {spectrum.distraction[0]:.3f}, of all rows {low[0]:.3f} to {high[0]:.3f}."
        if len(low)
        else ""
    )
    epsilon = max(spectrum.cushion, TINY)
    return (
        f"Sketch: size {moments.size}, with {moments.held:.0%} of the variation inside sets; shares are of what it "
        f"holds. Any direction may vary inside sets by {moments.dropped / epsilon:.2g} cushions more than it holds "
        f"(by theory at most {moments.bound / epsilon:.2g}). What is called constant may be beyond the sketch.{first}"
    )
