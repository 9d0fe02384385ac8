"""The simulated person: looks at the strongest row that is not answered yet, and answers correctly most of the time.

Rows are listed by their distance to neighbours. Other detectors are tried with what was learned from these answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from benchmarks.feedback.candidates import Candidate, Library, Training
from benchmarks.feedback.rivals import ENSEMBLES, RIDGE, weights
from benchmarks.feedback.tasks import Task
from benchmarks.quality.run import scored
from benchmarks.quality.trials import Test
from undistract._arrays import Floats
from undistract.algebra.projection import Complement

STEPS = (0, 1, 2, 4, 8, 16)
LISTED_BY = "kNN"
MOST = 40


@dataclass
class Answers:
    """What was said so far: (review set, row) of each."""

    false_alarms: list[tuple[int, int]] = field(default_factory=list)
    anomalies: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.false_alarms) + len(self.anomalies)


def deviations(task: Task) -> list[Floats]:
    """Give every row of the review, minus the median of its group."""
    return [test.rows - np.median(test.rows, axis=0) for test in task.review]


class Learner(Protocol):
    """Scores groups of rows, given the answers about the review."""

    n_removed: int

    def learn(self, answers: Answers) -> None:
        """Take the answers in."""

    def scores(self, test: Test, detector: str = LISTED_BY) -> Floats:
        """Score a group; high is strange."""


class Without:
    """Verdicts become removed directions; a detector scores the remaining features."""

    def __init__(self, task: Task, candidate: Candidate | Library, training: Training) -> None:
        self.task, self.candidate, self.training = task, candidate, training
        self.deviations = deviations(task)

    def learn(self, answers: Answers) -> None:
        self.basis = self.candidate.removed(
            self.training, self._deviations(answers.false_alarms), self._deviations(answers.anomalies)
        )
        self.n_removed = self.basis.shape[1]
        self.complement = Complement.of(self.basis)

    def scores(self, test: Test, detector: str = LISTED_BY) -> Floats:
        return _fitted(detector, self.complement.coordinates(test.rows), self.task.n_neighbors)

    def _deviations(self, places: list[tuple[int, int]]) -> Floats:
        rows = [self.deviations[which][row] for which, row in places]
        return np.array(rows).reshape(-1, self.task.moments.n_features)


class KnownRows:
    """Familiar rows join those that the detector is fitted on; what the groups showed goes first."""

    def __init__(self, task: Task, training: Training) -> None:
        self.task = task
        basis = training.removed if training.axes is None else training.axes @ training.removed
        self.complement, self.n_removed = Complement.of(basis), basis.shape[1]

    def learn(self, answers: Answers) -> None:
        self.known = [self.task.review[which].rows[row] for which, row in answers.false_alarms]

    def scores(self, test: Test, detector: str = LISTED_BY) -> Floats:
        together = np.concatenate([test.rows, np.array(self.known).reshape(-1, test.rows.shape[1])])
        scores = _fitted(detector, self.complement.coordinates(together), self.task.n_neighbors)
        return scores[: len(test.rows)]


class Weighted:
    """An ensemble whose members are weighted by the answers."""

    n_removed = 0

    def __init__(self, task: Task, ensemble: str, ridge: float = RIDGE) -> None:
        self.members, self.seed, self.ridge = ENSEMBLES[ensemble], task.seed, ridge
        self.review = [test.rows for test in task.review]
        self.starts = np.cumsum([0, *(len(rows) for rows in self.review)])
        self.readings: dict[int, list[Floats]] = {}  # answers change the weights alone

    def learn(self, answers: Answers) -> None:
        self.places = [
            [int(self.starts[which]) + row for which, row in some] for some in (answers.false_alarms, answers.anomalies)
        ]

    def scores(self, test: Test, detector: str = LISTED_BY) -> Floats:
        reviewed = next((place for place, rows in enumerate(self.review) if rows is test.rows), None)
        groups = self.review if reviewed is not None else [*self.review, test.rows]
        key = id(test.rows) if reviewed is None else 0
        if key not in self.readings:
            self.readings[key] = self.members(groups, self.seed)
        readings = self.readings[key]
        learned = weights(np.concatenate(readings[: len(self.review)]), *self.places, self.ridge)
        found: Floats = readings[-1 if reviewed is None else reviewed] @ learned
        return found


def review(
    task: Task, learner: Learner, *, wrong: float = 0.0, steps: tuple[int, ...] = STEPS, go_on: bool = False
) -> Iterator[tuple[int, Answers]]:
    """Answer one row after the other; stop after a number of answers, or of false alarms.

    Parameters
    ----------
    wrong : float
        With this probability the answer is the opposite of the truth.
    go_on : bool
        Answer until that many were false alarms, at most `MOST` in all.
    """
    rng = np.random.default_rng([task.seed, 1])
    answers = Answers()
    n_taught = -1
    while True:
        learner.learn(answers)
        n_answers, n_before, n_taught = len(answers), n_taught, len(answers.false_alarms)
        if n_answers in steps or (n_taught in steps and n_taught > n_before):
            yield n_answers, answers
        if n_answers >= max(steps) and (not go_on or n_taught >= max(steps) or n_answers >= MOST):
            return
        which, row = _strongest(task, learner, {*answers.false_alarms, *answers.anomalies})
        anomaly = bool(task.review[which].truth[row]) != (rng.random() < wrong)
        (answers.anomalies if anomaly else answers.false_alarms).append((which, row))


def _strongest(task: Task, learner: Learner, answered: set[tuple[int, int]]) -> tuple[int, int]:
    scores = [learner.scores(test) for test in task.review]
    for which, row in answered:
        scores[which][row] = -np.inf
    which = int(np.argmax([found.max() for found in scores]))
    return which, int(scores[which].argmax())


def _fitted(detector: str, rows: Floats, n_neighbors: int) -> Floats:
    found = scored(detector, Test(rows, np.zeros(len(rows), dtype=bool)), n_neighbors)
    assert found is not None
    return np.array(found)
