"""The demo: learn what to ignore from digits under changing light, then from video clips, and find the anomalies.

    training groups ─► Focus ─► test rows without light ─► any detector ─► alarms
    calm/*.mp4 ─► learn ─► calm.focus        match.mp4 ─► score ─► match.scores ─► match-scored.mp4, clip.html

Three detectors score three versions of the test digits: the original, the rows after FOCUS, and the rows without light
(the oracle, which is not available in practice).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from undistract._arrays import Floats
from undistract.datasets import IlluminationExperiment, make_illuminated_digits
from undistract.datasets.synthetic import make_illuminated_clip
from undistract.detect import FocusDetector, NearestDetector, as_detector, quality
from undistract.focus import Focus
from undistract.pipeline import Model, ReadOptions, ScoreResult, learn, read_sources, render, score, write_report
from undistract.report.video import write_clip
from undistract.sources.source import Source

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


NEIGHBOURS = "10 nearest neighbours"
NAMES = ("zeros", "ones", "twos", "threes", "fours", "fives", "sixes", "sevens", "eights", "nines")


# Each detector is fitted on the rows that it scores: most of them are normal.
DETECTORS: Mapping[str, Any] = {
    NEIGHBOURS: NearestDetector(n_neighbors=10),
    "Local outlier factor": LocalOutlierFactor(n_neighbors=20),
    "Isolation forest": IsolationForest(random_state=0),
}
# Of the clips:
N_CLIPS = 20
FEATURES = "pixels(size=12x8)"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one detector on one version of the test rows."""

    scores: Floats  # (n,) higher is more anomalous
    average_precision: float
    false_alarms: int  # normal rows among the k highest scores, for k hidden anomalies


@dataclass(frozen=True, eq=False)
class Comparison:
    """One detector on the original rows, after FOCUS, and without light."""

    detector: str
    raw: Outcome
    focus: Outcome
    clean: Outcome


@dataclass(frozen=True, eq=False)
class Demo:
    """The data, the fitted Focus, and the results of all detectors."""

    seed: int
    digits: IlluminationExperiment[int]
    focus: Focus
    comparisons: tuple[Comparison, ...]  # one per detector

    def comparison(self, detector: str) -> Comparison:
        """Return the results of one detector."""
        return next(comparison for comparison in self.comparisons if comparison.detector == detector)


def run_demo(seed: int = 0) -> Demo:
    """Fit Focus on the training groups, and score the test rows before and after.

    Examples
    --------
    >>> demo = run_demo(seed=1)
    >>> demo.focus.n_removed_  # light has two degrees of freedom
    2
    >>> neighbours = demo.comparison("10 nearest neighbours")
    >>> neighbours.focus.average_precision > neighbours.raw.average_precision
    True
    """
    digits = make_illuminated_digits(seed=seed)
    focus = Focus()
    focus.fit_groups(digits.training)
    comparisons = tuple(compare(name, digits, focus) for name in DETECTORS)
    return Demo(seed, digits, focus, comparisons)


def compare(name: str, digits: IlluminationExperiment[int], focus: Focus) -> Comparison:
    """Score the original test rows, those after FOCUS, and those without light with one detector."""
    versions = (digits.test, focus.transform(digits.test), digits.clean)
    return Comparison(name, *(_outcome(name, rows, digits.is_anomaly) for rows in versions))


def _outcome(name: str, rows: Floats, is_anomaly: npt.NDArray[np.bool_]) -> Outcome:
    scores = clone(as_detector(DETECTORS[name])).fit(rows).scores_
    n_hidden = int(is_anomaly.sum())
    measured = quality(scores, is_anomaly, k=n_hidden)
    return Outcome(scores, measured.average_precision, round(n_hidden * (1 - measured.precision_at_k)))


def print_demo(demo: Demo, console: Console) -> None:
    """Print the data, what Focus learned, and the results of the detectors."""
    digits = demo.digits
    n_hidden = int(digits.is_anomaly.sum())
    training = ", ".join(str(digit) for digit in range(10) if digit not in (digits.normal, digits.odd))
    console.print(
        f"Training: {len(digits.training)} groups of scanned digits ({training}; rotated and mirrored), with light on "
        "half of the images. There are no labels.\n"
        f"Test: {len(digits.test) - n_hidden} {NAMES[digits.normal]} with {n_hidden} {NAMES[digits.odd]} hidden among "
        f"them, light on {digits.is_lit.sum()} images. Neither digit occurs in the training data.\n",
        highlight=False,
    )
    console.print(str(demo.focus.summary()), markup=False, highlight=False)
    console.print()
    console.print(table(demo))


def table(demo: Demo) -> Table:
    """Return a table with the average precision and the false alarms of each detector."""
    from rich.table import Table

    n_rows = len(demo.digits.test)
    n_hidden = int(demo.digits.is_anomaly.sum())
    grid = Table(
        title=f"Average precision, and false alarms among the {n_hidden} highest scores",
        caption=f"1.00 is perfect, chance is {n_hidden / n_rows:.2f}. Each detector is fitted on the test rows.",
        title_justify="left",
        caption_justify="left",
    )
    grid.add_column("detector")
    for heading in ("original", "with FOCUS", "without light (oracle)"):
        grid.add_column(heading, justify="right")
    for comparison in demo.comparisons:
        outcomes = (comparison.raw, comparison.focus, comparison.clean)
        grid.add_row(comparison.detector, *(_cell(outcome) for outcome in outcomes))
    return grid


def _cell(outcome: Outcome) -> str:
    return f"{outcome.average_precision:.2f}, {outcome.false_alarms} false"


def save_demo_figure(demo: Demo, path: Path) -> None:
    """Draw the demo as one figure: what was learned, and its effect on images and alarms."""
    from undistract.report.demo_figure import demo_figure
    from undistract.report.figures import save_figure

    comparison = demo.comparison(NEIGHBOURS)
    digits = demo.digits
    figure = demo_figure(
        demo.focus, digits, comparison.raw.scores, comparison.focus.scores, NAMES[digits.normal], NAMES[digits.odd]
    )
    save_figure(figure, path)


def report_digits(demo: Demo, path: Path) -> Path:
    """Write the report on the digits. The detector is fitted on the test rows."""
    training = demo.digits.training
    rows = np.concatenate([group.rows for group in training])
    names = np.repeat([str(group.name) for group in training], [len(group) for group in training])
    after, before = (FocusDetector(focus, adapt=True).fit(rows, groups=names) for focus in (Focus(), Focus(n_remove=0)))
    model = Model(after, before, before.threshold_, image_shape=(8, 8))
    test = [Source("fives", demo.digits.test, origin="scikit-learn's digits, with light")]
    return write_report(path, model, score(test, model), sources=test, title="Fives, with fours hidden among them")


@dataclass(frozen=True, eq=False)
class ClipDemo:
    """The model of the normal clips, and the scores of the clip with a stranger."""

    model: Model
    scored: ScoreResult
    is_strange: np.ndarray[tuple[int], np.dtype[np.bool_]]  # (n,) frames that show the stranger
    rendered: Path

    def frames_that_alarm(self) -> dict[str, tuple[int, int]]:
        """Count the frames that alarm, before and after: those with the stranger, and the others."""
        clip = self.scored.sources[0]
        runs = {"before": (self.scored.baseline_threshold, clip.before), "after": (self.scored.threshold, clip.after)}
        counts = {}
        for name, (threshold, scores) in runs.items():
            if threshold is not None and scores is not None:
                alarms = threshold.alarms(scores)
                counts[name] = int((alarms & self.is_strange).sum()), int((alarms & ~self.is_strange).sum())
        return counts


def run_clip_demo(folder: Path, seed: int = 0) -> ClipDemo:
    """Generate clips in a folder, learn from the normal ones, score the other, and render its scores.

    Needs the extra ``video``.

    Examples
    --------
    >>> demo = run_clip_demo(Path("undistract-demo"))  # doctest: +SKIP
    """
    calm, match = folder / "calm", folder / "match.mp4"
    calm.mkdir(parents=True, exist_ok=True)
    for number in range(1, N_CLIPS + 1):
        write_clip(calm / f"clip{number}.mp4", make_illuminated_clip(seed=1000 * seed + number))
    write_clip(match, make_illuminated_clip(seed=1000 * seed, stranger=True))
    # The same seed without the stranger: the stranger is visible in the frames that differ.
    differs = make_illuminated_clip(seed=1000 * seed) != make_illuminated_clip(seed=1000 * seed, stranger=True)
    reading = ReadOptions(features=FEATURES)
    model = learn(read_sources(calm, reading), reading=reading)
    model.save(folder / "calm.focus")
    scored = score(read_sources(match, reading), model)
    scored.save(folder / "match.scores")
    return ClipDemo(model, scored, differs.any(axis=(1, 2, 3)), render(scored, folder / "match-scored.mp4"))


def report_clip(demo: ClipDemo, path: Path) -> Path:
    """Write the report on the clip."""
    sources = read_sources([scores.source for scores in demo.scored if scores.source], demo.model.reading)
    title = "Dots under changing light, and a stranger"
    return write_report(path, demo.model, demo.scored, sources=sources, title=title)
