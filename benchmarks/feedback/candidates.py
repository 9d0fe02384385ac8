"""The candidates: ways to turn verdicts into directions that go. The library has the one that was chosen.

    within' = shrink · within + Σ s ΔΔᵀ · weight,   between' = shrink · between

    mean, η fixed       F = mean ΔΔᵀ with half the trace of within; shrink 1 - η, weight η: its first form
    mean, η = S/(S+4)   the same, with a share that grows with the sum S of strengths
    rows                a verdict is one row next to 20: weight 1/20
    typical             weight 19 / (n · Σλ): n typical rows along a direction make it go      (chosen: n = 2)
    typical, unit       the same with every Δ at one length, that of a typical row

A direction goes if λ' ≥ .95 and, unless said otherwise, half of its variation comes from verdicts. A confirmed anomaly
gets back what is nearest to it: never, where a share of it went, or where less of it is left than half of what a
normal row has left (chosen).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from undistract import algebra
from undistract._arrays import Floats
from undistract.algebra import Moments, Spectrum, select_directions
from undistract.algebra.feedback import apply_feedback
from undistract.algebra.moments import RowStore
from undistract.algebra.solvers import solve_dense

CUTOFF = 0.95
ODDS = CUTOFF / (1 - CUTOFF)
HALF = 0.5


@dataclass(frozen=True, eq=False)
class Training:
    """What the groups showed, in coordinates that hold all rows there are: few where rows are few."""

    axes: Floats | None  # (d, q) orthonormal, or None for the features themselves
    within: Floats  # (q, q)
    between: Floats  # (q, q)
    ridge: float
    typical: float  # Σλ, the mean of ΔᵀB⁻¹Δ over training rows
    removed: Floats  # (q, r) orthonormal: what goes by what the groups showed
    spectrum: Spectrum

    @classmethod
    def of(cls, moments: Moments, deviations: Floats) -> Training:
        """Learn from moments; `deviations` (n, d) are all those that verdicts may be about."""
        spectrum = Spectrum.of(moments)
        within, between, axes = moments.within, moments.between, None
        patterns = spectrum.patterns[:, : select_directions(spectrum).n_removed]
        if isinstance(moments.store, RowStore) and moments.n_rows + len(deviations) < moments.n_features:
            means = moments.store.means() - moments.offset
            everything = np.concatenate([moments.store.deviations, means, deviations])
            axes = _span(everything.T)
            within, between, patterns = axes.T @ within @ axes, axes.T @ between @ axes, axes.T @ patterns
        return cls(axes, within, between, spectrum.ridge, float(spectrum.distraction.sum()), _span(patterns), spectrum)


class Feedback(NamedTuple):
    """The moments after some verdicts; within' is the sum of the first two."""

    within: Floats
    said: Floats  # what verdicts add to within
    between: Floats
    ridge: float


Formula = Callable[[Training, Floats], Feedback]  # from the deviations of false alarms (n, q)
Protection = Callable[[Floats, Floats, Training], "np.ndarray"]  # anomalies (p, q), basis (q, r) → (p,) hidden or not


def mean_of(share: Callable[[int], float]) -> Formula:
    """Mix the mean of ΔΔᵀ, brought to half the trace of within, with the training moments."""

    def formula(training: Training, false_alarms: Floats) -> Feedback:
        eta = share(len(false_alarms))
        said = false_alarms.T @ false_alarms
        said *= eta * np.trace(training.within) / (2 * np.trace(said))
        within, between = (1 - eta) * training.within, (1 - eta) * training.between
        # Its ridge followed the taught total.
        before = np.trace(training.within) + np.trace(training.between)
        after = np.trace(within) + np.trace(between) + np.trace(said)
        return Feedback(within, said, between, training.ridge * after / before)

    return formula


def sum_of(weight: Callable[[Training], float], *, unit: bool = False) -> Formula:
    """Add ΔΔᵀ to within with one weight for all."""

    def formula(training: Training, false_alarms: Floats) -> Feedback:
        if unit:
            lengths = np.linalg.norm(false_alarms, axis=1, keepdims=True)
            false_alarms = false_alarms / lengths * np.sqrt(np.trace(training.within))
        said = weight(training) * false_alarms.T @ false_alarms
        return Feedback(training.within, said, training.between, training.ridge)

    return formula


def typical(enough: float, *, unit: bool = False) -> Formula:
    """Remove a direction after this number of typical rows along it."""
    return sum_of(lambda training: ODDS / (enough * training.typical), unit=unit)


def share_above(most: float) -> Protection:
    """Call an anomaly hidden where more than a share of its deviation went."""
    return lambda anomalies, basis, training: _left(anomalies, basis) < (1 - most) * (anomalies**2).sum(axis=1)


def less_than_normal(part: float) -> Protection:
    """Call an anomaly hidden where most of it went, and less is left than a part of what a normal row has left."""

    def hidden(anomalies: Floats, basis: Floats, training: Training) -> np.ndarray:
        normal = np.trace(training.within) - np.trace(basis.T @ training.within @ basis)
        return _left(anomalies, basis) < np.minimum(part * normal, HALF * (anomalies**2).sum(axis=1))

    return hidden


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to learn from verdicts."""

    formula: Formula
    least_said: float = HALF  # of the variation along a direction, what must come from verdicts
    protection: Protection | None = None

    def removed(self, training: Training, false_alarms: Floats, anomalies: Floats) -> Floats:
        """Return an orthonormal basis (d, r) of what goes, from deviations (n, d)."""
        axes = training.axes
        if axes is not None:
            false_alarms, anomalies = false_alarms @ axes, anomalies @ axes
        basis = training.removed
        if len(false_alarms):
            within, said, between, ridge = self.formula(training, false_alarms)
            found = solve_dense(within + said, within + said + between, ridge)
            by_people = (found.filters * (said @ found.filters)).sum(axis=0)  # of λ' = wᵀwithin'w
            goes = (found.distraction >= CUTOFF) & (by_people >= self.least_said * found.distraction)
            basis = _span(np.hstack([training.removed, found.patterns[:, goes]]))
        if self.protection is not None and len(anomalies) and basis.shape[1]:
            seen = anomalies - (anomalies @ training.removed) @ training.removed.T
            hidden = seen[self.protection(seen, basis, training)]
            if len(hidden):
                basis = basis @ _without(basis.T @ hidden.T)
        return basis if axes is None else axes @ basis


class Library:
    """The chosen way, as the library does it."""

    def removed(self, training: Training, false_alarms: Floats, anomalies: Floats) -> Floats:
        """Return an orthonormal basis (d, r) of what goes, from deviations (n, d)."""
        spectrum, n_removed = training.spectrum, training.removed.shape[1]
        if len(false_alarms) or len(anomalies):
            spectrum, n_removed = apply_feedback(
                spectrum, n_removed, algebra.Feedback(false_alarms, confirmed=anomalies)
            )
        return _span(spectrum.patterns[:, :n_removed])


CHOSEN = Candidate(typical(2), protection=less_than_normal(HALF))
FORMULAS: Mapping[str, Candidate] = {
    "mean, η = .2": Candidate(mean_of(lambda n: 0.2)),
    "mean, η = .5": Candidate(mean_of(lambda n: 0.5)),
    "mean, η = S/(S+4)": Candidate(mean_of(lambda n: n / (n + 4))),
    "20 rows": Candidate(sum_of(lambda training: 1 / 20)),
    "typical, 1": Candidate(typical(1)),
    "typical, 2": Candidate(typical(2)),
    "typical, 4": Candidate(typical(4)),
    "typical, 2, unit": Candidate(typical(2, unit=True)),
    "typical, 2, any origin": Candidate(typical(2), least_said=0.0),
}
PROTECTIONS: Mapping[str, Candidate] = {
    "never": Candidate(typical(2)),
    **{f"share > {share:g}": Candidate(typical(2), protection=share_above(share)) for share in (0.25, 0.5, 0.75, 0.9)},
    "less than a normal row": Candidate(typical(2), protection=less_than_normal(1.0)),
    "less than half of it": CHOSEN,
}


def _left(anomalies: Floats, basis: Floats) -> Floats:
    left: Floats = ((anomalies - (anomalies @ basis) @ basis.T) ** 2).sum(axis=1)
    return left


def _span(columns: Floats) -> Floats:
    """Return an orthonormal basis of columns that may depend on each other."""
    lengths = np.linalg.norm(columns, axis=0)
    axes, sizes, _ = np.linalg.svd(columns[:, lengths > 0] / lengths[lengths > 0], full_matrices=False)
    spanned: Floats = axes[:, sizes > 1e-8]
    return spanned


def _without(columns: Floats) -> Floats:
    """Return an orthonormal basis of what is orthogonal to the columns."""
    axes, sizes, _ = np.linalg.svd(columns, full_matrices=True)
    complement: Floats = axes[:, int((sizes > 1e-9 * sizes[0]).sum()) :]
    return complement
