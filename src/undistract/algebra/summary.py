"""FocusSummary: what was removed, why, and how strong the evidence is, as fields and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from undistract._text import pluralize
from undistract.algebra.evidence import AUTOMATIC_CUTOFF, Evidence
from undistract.algebra.projection import Projection, Soft
from undistract.algebra.selection import Selection
from undistract.algebra.spectrum import Spectrum

MAX_NAMES = 3
# A feature is named if its movement is at least this share of that of the strongest feature.
MIN_MOVEMENT = 0.5


@dataclass(frozen=True)
class FocusSummary:
    """Facts about a fitted `Focus`. ``print(summary)`` shows them as text, and notebooks show a table."""

    n_features: int
    n_removed: int
    n_descriptive: int  # kept directions that vary within groups
    n_constant: int  # kept directions that are constant within groups
    within_share: float  # share of the within-group variance along the removed directions
    total_share: float  # their share of the total variance
    removal: str
    length_kept: tuple[float, float] | None  # soft removal: the share of the length that is kept, lowest and highest
    strength: float | str | None  # soft removal: the parameter
    rule: str  # "auto", "fixed", "number", or "insufficient"
    cutoff: float
    distraction: tuple[float, float] | None  # of the removed directions, lowest and highest
    debiased: float | None  # the lowest de-biased distraction of the removed directions
    next_distraction: float | None  # the highest distraction of a kept direction
    n_from_feedback: int  # removed directions that are due to feedback
    ridge: float  # as a multiple of the mean variance
    evidence: Evidence
    strongest: tuple[str, ...]  # features that carry the removed direction with the largest within-group variance
    rise_together: bool  # True if these features move in the same direction
    cautions: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        spectrum: Spectrum,
        selection: Selection,
        projection: Projection,
        *,
        n_varying: int | None = None,
        feature_names: Sequence[str] | None = None,
        notes: tuple[str, ...] = (),
    ) -> FocusSummary:
        """Collect the facts.

        Only the removed directions of the spectrum and the next one are used. If it does not contain all directions,
        pass `n_varying`, the number of those that vary within groups.

        Examples
        --------
        >>> import numpy as np
        >>> from undistract.algebra import Moments
        >>> from undistract.algebra.selection import select_directions
        >>> rng = np.random.default_rng(0)
        >>> groups = [rng.normal([3 * m, 1, -1], [2, 2, 0], size=(100, 3)) for m in range(10)]
        >>> spectrum = Spectrum.of(Moments.of(groups), ridge=1e-3)
        >>> selection = select_directions(spectrum)
        >>> summary = FocusSummary.of(spectrum, selection, Projection.of(spectrum, 1))
        >>> summary.n_removed, summary.strongest
        (1, ('feature 1',))
        """
        n_removed = selection.n_removed
        if n_varying is None:
            n_varying = spectrum.n_varying
        distraction = debiased = next_distraction = None
        if n_removed:
            removed = spectrum.distraction[:n_removed]
            distraction = (float(removed[-1]), float(removed[0]))
            debiased = float(spectrum.debiased[:n_removed].min())
        if n_varying > n_removed:
            next_distraction = float(spectrum.distraction[n_removed])
        length_kept = strength = None
        if isinstance(projection, Soft) and n_removed:
            gain = projection.filter.gain
            length_kept = (float(1 / gain.max()), float(1 / gain.min()))
            strength = projection.strength
        strongest, rise_together = _strongest_features(spectrum, n_removed, feature_names)
        return cls(
            n_features=spectrum.n_features,
            n_removed=n_removed,
            n_descriptive=n_varying - n_removed,
            n_constant=spectrum.n_features - n_varying,
            within_share=float(spectrum.within_share[:n_removed].sum()),
            total_share=float(spectrum.total_share[:n_removed].sum()),
            removal=projection.removal,
            length_kept=length_kept,
            strength=strength,
            rule=selection.rule,
            cutoff=selection.cutoff,
            distraction=distraction,
            debiased=debiased,
            next_distraction=next_distraction,
            n_from_feedback=spectrum.n_from_feedback,
            ridge=spectrum.relative_ridge,
            evidence=spectrum.evidence,
            strongest=strongest,
            rise_together=rise_together,
            cautions=selection.warnings,
            notes=notes,
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return label and text of each line, without cautions."""
        evidence = self.evidence
        fitted = (
            f"{pluralize(evidence.n_groups, 'group')}, {pluralize(evidence.n_rows, 'row')}, "
            f"{pluralize(self.n_features, 'feature')}"
        )
        lines = [("Fitted on", fitted)]
        if self.rule == "insufficient" and evidence.n_directions == 0:
            lines.append(("Removed", "nothing yet; two groups with several rows are needed"))
            return lines
        lines.append(self._removed())
        if self.strongest:
            together = ""
            if len(self.strongest) > 1:
                together = " (all rise together)" if self.rise_together else " (some rise while others fall)"
            lines.append(("Strongest", " · ".join(self.strongest) + together))
        lines.append(("Reason", self._reason()))
        highest = ""
        if self.next_distraction is not None:
            highest = f" (highest distraction {self.next_distraction:.3f})"
        descriptive = pluralize(self.n_descriptive, "descriptive direction")
        lines.append(("Kept", f"{descriptive}{highest}, {self.n_constant} constant within groups"))
        lines.append(("Evidence", self._evidence()))
        lines.extend(("Note", note) for note in self.notes)
        return lines

    def text(self, *, cautions: bool = True) -> str:
        """Return all lines as text."""
        (label, fitted), *others = self.lines()
        lines = [f"{label} {fitted}.", *(f"{label}: {text}." for label, text in others)]
        if cautions:
            lines += [f"Caution: {caution}" for caution in self.cautions]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = [*self.lines(), *(("Caution", caution) for caution in self.cautions)]
        cells = "".join(f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in rows)
        return f'<table class="focus-summary">{cells}</table>'

    def _removed(self) -> tuple[str, str]:
        if self.n_removed == 0:
            return "Removed", "nothing"
        label = "Removed"
        method = self.removal
        if self.length_kept is not None:
            label = "Shrunk"
            lowest, highest = (f"{share:.2g}" for share in self.length_kept)
            length = lowest if lowest == highest else f"{lowest} to {highest}"
            strength = self.strength if isinstance(self.strength, str) else f"{self.strength:g}"
            method = f"soft, strength {strength}: {length} of the length is kept"
        return label, (
            f"{self.n_removed} of {pluralize(self.n_features, 'direction')}, with {self.within_share:.0%} of the "
            f"within-group variance and {self.total_share:.0%} of the total variance ({method})"
        )

    def _reason(self) -> str:
        if self.n_from_feedback:
            others = self.n_removed - self.n_from_feedback
            by_groups = ""
            if others:
                by_groups = f", {pluralize(others, 'direction')} by the groups (distraction at least {self.cutoff:g})"
            return f"{pluralize(self.n_from_feedback, 'direction')} by feedback{by_groups}"
        if self.rule == "insufficient":
            return "the requested selection is not possible yet"
        if self.rule == "number":
            return f"n_remove={self.n_removed}"
        rule = "the automatic cut-off"
        if self.rule == "fixed":
            rule = "the requested cut-off"
        elif self.cutoff < AUTOMATIC_CUTOFF:
            rule = f"before a gap to the next, {self.next_distraction or 0.0:.3f}"
        if self.distraction is None:
            highest = "no direction varies within groups"
            if self.next_distraction is not None:
                highest = f"the highest distraction is {self.next_distraction:.3f}"
            return f"{highest}; {rule} is {self.cutoff:g}"
        lowest, highest_value = self.distraction
        values = f"{lowest:.3f}" if self.n_removed == 1 else f"{lowest:.3f} to {highest_value:.3f}"
        odds = self.cutoff / max(1 - self.cutoff, float(np.finfo(np.float64).eps))
        return (
            f"distraction {values} (de-biased at least {self.debiased:.3f}) is at least {self.cutoff:g}, {rule}: rows "
            f"vary there at least {odds:.3g} times as much within groups as groups differ (with a ridge of "
            f"{self.ridge:.2g} mean variances)"
        )

    def _evidence(self) -> str:
        evidence = self.evidence
        expected = f"Expected distraction of a pure distractor: {evidence.pure_distractor:.3f}"
        resolved = f"{pluralize(evidence.n_groups, 'group')} can show differences in {evidence.n_groups - 1}"
        if not evidence.n_unresolved:
            return f"{resolved} directions, {evidence.n_directions} vary. {expected}"
        others = "one" if evidence.n_unresolved == 1 else str(evidence.n_unresolved)
        return (
            f"{resolved} of {evidence.n_directions} directions; for the other {others} there is no "
            "evidence either way. More groups, or fewer features (for example by PCA), make the result more reliable. "
            f"{expected}"
        )


def _strongest_features(
    spectrum: Spectrum, n_removed: int, names: Sequence[str] | None
) -> tuple[tuple[str, ...], bool]:
    """Return the features that move most along the strongest removed direction, and whether they rise together."""
    if n_removed == 0:
        return (), True
    strongest = int(np.argmax(spectrum.within_share[:n_removed]))
    pattern = spectrum.directions.first(n_removed).patterns[:, strongest]
    movement = np.abs(pattern)
    order = np.argsort(-movement, kind="stable")[:MAX_NAMES]
    chosen = order[movement[order] >= MIN_MOVEMENT * movement[order[0]]]
    signs = np.sign(pattern[chosen])
    labels = tuple(f"feature {index}" if names is None else str(names[index]) for index in chosen)
    return labels, bool((signs == signs[0]).all())
