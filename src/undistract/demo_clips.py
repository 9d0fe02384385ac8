"""The demo's second half, from files to a page: clips are drawn, learned from, scored, and reported.

calm/*.mp4 ─► learn ─► calm.focus        match.mp4 ─► score ─► match.scores ─► match-scored.mp4, clip.html
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from undistract.demo import Demo
from undistract.detect import FocusDetector
from undistract.errors import EvidenceWarning
from undistract.focus import Focus
from undistract.report.clip_writer import write_clip
from undistract.sets.drawn_clips import dots_under_light
from undistract.sets.feature_set import FeatureSet
from undistract.workflow import Model, Reading, ScoredSets, learn, read_sets, render, score, write_report

N_CLIPS = 20
FEATURES = "pixels(size=12x8)"


@dataclass(frozen=True, eq=False)
class ClipStory:
    """What the model learned from calm clips, and what it said about the one with a stranger."""

    model: Model
    scored: ScoredSets
    is_strange: np.ndarray[tuple[int], np.dtype[np.bool_]]  # (n,) frames that show the stranger
    rendered: Path

    def frames_that_alarm(self) -> dict[str, tuple[int, int]]:
        """Count frames that alarm before and after: with the stranger, and without."""
        one = self.scored.sets[0]
        judged = {"before": (self.scored.plain_threshold, one.before), "after": (self.scored.threshold, one.after)}
        called = {
            when: threshold.alarms(scores)
            for when, (threshold, scores) in judged.items()
            if threshold is not None and scores is not None
        }
        return {
            when: (int((alarms & self.is_strange).sum()), int((alarms & ~self.is_strange).sum()))
            for when, alarms in called.items()
        }


def run_clip_story(folder: Path, seed: int = 0) -> ClipStory:
    """Draw clips into a folder, learn from the calm ones, score the other, and draw its scores below it.

    Needs the extra ``video``.

    Examples
    --------
    >>> story = run_clip_story(Path("undistract-demo"))  # doctest: +SKIP
    """
    calm, match = folder / "calm", folder / "match.mp4"
    calm.mkdir(parents=True, exist_ok=True)
    for number in range(1, N_CLIPS + 1):
        write_clip(calm / f"clip{number}.mp4", dots_under_light(seed=1000 * seed + number))
    write_clip(match, dots_under_light(seed=1000 * seed, stranger=True))
    # The stranger is there where the clip without it looks different.
    differs = dots_under_light(seed=1000 * seed) != dots_under_light(seed=1000 * seed, stranger=True)
    reading = Reading(features=FEATURES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # describe() tells the same
        model = learn(read_sets(calm, reading), reading=reading)
    model.save(folder / "calm.focus")
    scored = score(read_sets(match, reading), model)
    scored.save(folder / "match.scores")
    return ClipStory(model, scored, differs.any(axis=(1, 2, 3)), render(scored, folder / "match-scored.mp4"))


def report_clip(story: ClipStory, path: Path) -> Path:
    """Write the page about the clip."""
    sets = read_sets([one.source for one in story.scored if one.source], story.model.reading)
    return write_report(path, story.model, story.scored, sets=sets, title="Dots under changing light, and a stranger")


def report_digits(demo: Demo, path: Path) -> Path:
    """Write the page about the digits; the test set itself says what is usual there."""
    rows = np.concatenate([one.rows for one in demo.digits.training])
    names = np.repeat([str(one.name) for one in demo.digits.training], [len(one) for one in demo.digits.training])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # the page says it in plain sight
        after, before = (
            FocusDetector(focus, adapt=True).fit(rows, sets=names) for focus in (Focus(), Focus(n_remove=0))
        )
    model = Model(after, before, before.threshold_, image_shape=(8, 8))
    test = [FeatureSet("fives", demo.digits.test, source="scikit-learn's digits, with light")]
    return write_report(path, model, score(test, model), sets=test, title="Fives, with fours hidden among them")
