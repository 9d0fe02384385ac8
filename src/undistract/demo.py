"""The demo: learn from digits under light what to ignore, then find the digits that do not belong.

    training sets ─► Focus ─► test rows without light ─► any detector ─► alarms

Three detectors look at the test set three times: as it is, through FOCUS, and as it would be had no light ever fallen
on it (the oracle, which nobody has in practice).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from undistract.arrays import Floats
from undistract.detect import NearestDetector, detector, quality
from undistract.errors import EvidenceWarning
from undistract.focus import Focus
from undistract.sets import UnderLight, digits_under_light

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table


NEIGHBOURS = "10 nearest neighbours"
NAMES = ("zeros", "ones", "twos", "threes", "fours", "fives", "sixes", "sevens", "eights", "nines")


# Each is fitted on the very rows it scores: the test set itself says what is usual there.
DETECTORS: Mapping[str, Any] = {
    NEIGHBOURS: NearestDetector(n_neighbors=10),
    "Local outlier factor": LocalOutlierFactor(n_neighbors=20),
    "Isolation forest": IsolationForest(random_state=0),
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one detector said about one version of the test rows."""

    scores: Floats  # (n,) high is strange
    average_precision: float
    false_alarms: int  # normal rows among the k highest scores, where k anomalies are hidden


@dataclass(frozen=True, eq=False)
class Comparison:
    """One detector on the rows as they are, through FOCUS, and without light."""

    detector: str
    raw: Outcome
    focus: Outcome
    clean: Outcome


@dataclass(frozen=True, eq=False)
class Demo:
    """Everything that the demo saw and found."""

    seed: int
    digits: UnderLight[int]
    focus: Focus
    comparisons: tuple[Comparison, ...]  # one per detector

    def comparison(self, detector: str) -> Comparison:
        """Return what one detector found."""
        return next(one for one in self.comparisons if one.detector == detector)


def run_demo(seed: int = 0) -> Demo:
    """Learn from the training sets, and score the test set before and after.

    Examples
    --------
    >>> demo = run_demo(seed=1)
    >>> demo.focus.n_removed_  # light has two degrees of freedom
    2
    >>> neighbours = demo.comparison("10 nearest neighbours")
    >>> neighbours.focus.average_precision > neighbours.raw.average_precision
    True
    """
    digits = digits_under_light(seed=seed)
    focus = Focus()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # describe() tells the same
        focus.fit_sets(digits.training)
    comparisons = tuple(compare(name, digits, focus) for name in DETECTORS)
    return Demo(seed, digits, focus, comparisons)


def compare(name: str, digits: UnderLight[int], focus: Focus) -> Comparison:
    """Let one detector look at the test set as it is, through FOCUS, and without light."""
    versions = (digits.test, focus.transform(digits.test), digits.clean)
    return Comparison(name, *(_outcome(name, rows, digits.is_anomaly) for rows in versions))


def _outcome(name: str, rows: Floats, is_anomaly: npt.NDArray[np.bool_]) -> Outcome:
    scores = clone(detector(DETECTORS[name])).fit(rows).scores_
    n_hidden = int(is_anomaly.sum())
    found = quality(scores, is_anomaly, k=n_hidden)
    return Outcome(scores, found.average_precision, round(n_hidden * (1 - found.precision_at_k)))


def tell(demo: Demo, console: Console) -> None:
    """Print the story: what was learned, what was hidden, who found it."""
    digits = demo.digits
    n_hidden = int(digits.is_anomaly.sum())
    normal, odd = NAMES[digits.normal], NAMES[digits.odd]
    seen = ", ".join(str(digit) for digit in range(10) if digit not in (digits.normal, digits.odd))
    console.print(
        f"Training: {len(digits.training)} sets of scanned digits ({seen}; turned and mirrored), light on half of the "
        "images. Nothing is labelled.\n"
        f"Test: {len(digits.test) - n_hidden} {normal} with {n_hidden} {odd} hidden among them, light on "
        f"{digits.is_lit.sum()} images. No set ever showed either digit.\n",
        highlight=False,
    )
    console.print(demo.focus.describe(), markup=False, highlight=False)
    console.print()
    console.print(table(demo))


def table(demo: Demo) -> Table:
    """Lay out who found what: average precision, and false alarms among the strongest."""
    from rich.table import Table

    n_rows, n_hidden = len(demo.digits.test), int(demo.digits.is_anomaly.sum())
    grid = Table(
        title=f"Average precision, and false alarms among the {n_hidden} strongest",
        caption=f"1.00 is perfect, chance {n_hidden / n_rows:.2f}. Each detector is fitted on the test set.",
        title_justify="left",
        caption_justify="left",
    )
    grid.add_column("detector")
    for heading in ("as it is", "with FOCUS", "had no light fallen"):
        grid.add_column(heading, justify="right")
    for one in demo.comparisons:
        grid.add_row(one.detector, *(_cell(outcome) for outcome in (one.raw, one.focus, one.clean)))
    return grid


def _cell(outcome: Outcome) -> str:
    return f"{outcome.average_precision:.2f}, {outcome.false_alarms} false"


def save_picture(demo: Demo, path: Path) -> None:
    """Draw the demo in one picture: what was learned, what it does to images, and to alarms."""
    from undistract.report.demo_picture import demo_picture
    from undistract.report.plots import save_figure

    found = demo.comparison(NEIGHBOURS)
    digits = demo.digits
    picture = demo_picture(
        demo.focus, digits, found.raw.scores, found.focus.scores, NAMES[digits.normal], NAMES[digits.odd]
    )
    save_figure(picture, path)
