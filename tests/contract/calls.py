"""Every call of the contract into the package.

The recorded numbers have neutral keys. If a public name is renamed, only this file changes. `sources_of` and
`make_detector` are thin on purpose: no arithmetic belongs here, or the contract would test itself.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from click.testing import CliRunner

import undistract as package
from undistract import (
    AlarmBudget,
    Conformal,
    DiscriminativeDetector,
    FewShotClassifier,
    Focus,
    FocusDetector,
    FocusPenalty,
    GroupQuantile,
    KernelFocus,
    Moments,
    NeuralFocus,
    Quantile,
    SketchedMoments,
    Source,
    SparseCombinationDetector,
    Tail,
    explain,
    learn,
    read_sources,
    relearn,
    score,
)
from undistract.algebra import Feedback
from undistract.cli import main
from undistract.cli.main import COMMANDS
from undistract.datasets.digits import make_illuminated_digits
from undistract.errors import EvidenceWarning, NoGroupsWarning
from undistract.pipeline import Model
from undistract.pipeline.verdicts import FeedbackItem
from undistract.review import Verdict
from undistract.review.session import ReviewSession
from undistract.web.app import make_app

# The settings of `Focus`, by neutral names.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"cutoff": 0.999, "ridge": 1e-8},
    "remove_two": {"n_remove": 2},
    "absolute_ridge": {"ridge": 0.5, "absolute_ridge": True},
    "eigen": {"n_remove": 2, "removal": "eigen"},
    "oblique": {"n_remove": 2, "removal": "oblique"},
    "soft": {"n_remove": 2, "removal": "soft"},
    "soft_given_strength": {"n_remove": 2, "removal": "soft", "strength": 5.0},
    "weights_by_size": {"prior": "by_size"},
}
WAYS_TO_DENOISE = {"oblique": "oblique", "orthogonal": "orthogonal", "soft": "soft"}
THRESHOLDS: dict[str, Any] = {
    "quantile": Quantile(0.02),
    "conformal": Conformal(0.05),
    "group_quantile": GroupQuantile(rate=0.05, share=0.7),
    "tail": Tail(rate=1e-3, share=0.1),
    "alarm_budget": AlarmBudget(alarms=5, rows_per_day=200, gap=2),
}
# By name if the result is not random, else with a seed.
DETECTORS: dict[str, Any] = {
    "nearest": "nearest",
    "mahalanobis": "mahalanobis",
    "discriminative": DiscriminativeDetector(random_state=0),
    "sparse_combination": SparseCombinationDetector(random_state=0),
    "density_ratio": "density_ratio",
    "lof": "lof",
    "isolation_forest": "isolation_forest",
    "one_class_svm": "one_class_svm",
}


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore warnings about thin evidence: the recorded data sets are small on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        warnings.simplefilter("ignore", NoGroupsWarning)
        yield


def public_package() -> ModuleType:
    return package


# Focus


def fit_focus(rows: Any, groups: Any, setting: str = "default", weights: Mapping[Any, float] | None = None) -> Any:
    settings = SETTINGS[setting] if weights is None else {"prior": dict(weights)}
    with without_warnings():
        return Focus(**settings).fit(rows, groups=groups)


def unfitted_focus() -> Any:
    return Focus()


def fit(focus: Any, rows: Any, groups: Any) -> Any:
    return focus.fit(rows, groups=groups)


def fit_focus_by_group(by_group: Any) -> Any:
    with without_warnings():
        return Focus().fit_groups(by_group)


def fit_focus_in_batches(batches: Iterable[tuple[Any, Any]], *, close: bool = False) -> Any:
    """Fit in batches of rows and groups; each batch is sent twice under one identifier and must count once."""
    focus = Focus()
    with without_warnings():
        for number, (rows, groups) in enumerate(batches):
            for _ in range(2):
                focus.partial_fit(rows, groups=groups, batch_id=number)
        if close:
            focus.close_groups()
    return focus


def fit_focus_from_moments(by_group: Any) -> Any:
    with without_warnings():
        return Focus().fit_moments(Moments.of(by_group))


def fit_focus_from_added_moments(first: Any, second: Any) -> Any:
    with without_warnings():
        return Focus().fit_moments(Moments.of(first) + Moments.of(second))


def fit_focus_from_sketch(by_group: Any, size: int) -> Any:
    with without_warnings():
        return Focus(n_remove=2).fit_moments(SketchedMoments.of(by_group, size=size))


def heterogeneity(focus: Any) -> Any:
    return focus.full_spectrum().heterogeneity


def with_feedback(focus: Any, false_alarms: Any, confirmed: Any, weights: Any = None) -> Any:
    return focus.with_feedback(Feedback(false_alarms, weights, confirmed))


def fit_kernel_focus(rows: Any, groups: Any, approximation: str | None) -> Any:
    with without_warnings():
        return KernelFocus(n_remove=2, approx=approximation, n_components=20, random_state=0).fit(rows, groups=groups)


def fit_neural_focus(rows: Any, groups: Any) -> Any:
    network = NeuralFocus(n_components=3, n_hidden=8, epochs=3, random_state=0, progress=False)
    with without_warnings():
        return network.fit(rows, groups=groups)


def fit_penalty(estimator: Any, focus: Any, rows: Any, labels: Any) -> Any:
    return FocusPenalty(estimator, focus).fit(rows, labels)


def fit_few_shot(by_group: Any, rows: Any, labels: Any) -> Any:
    return FewShotClassifier(Moments.of(by_group)).fit(rows, labels)


# Detectors


def fit_detector(
    rows: Any, groups: Any, detector: str = "nearest", threshold: str = "quantile", *, adapt: bool = False
) -> Any:
    # An isolation forest depends on the basis of the rows, which is arbitrary unless the original features come out.
    removal = "oblique" if detector in ("isolation_forest", "sparse_combination") else "orthogonal"
    focus = Focus(n_remove=2, removal=removal)
    watch = FocusDetector(focus, DETECTORS[detector], THRESHOLDS[threshold], adapt=adapt)
    with without_warnings():
        return watch.fit(rows, groups=groups)


def fit_detector_by_group(by_group: Mapping[Any, Any], n_rows: int) -> Any:
    with without_warnings():
        return FocusDetector(Focus(n_remove=2)).fit_groups(sources_of(by_group), n_known=n_rows)


def sources_of(by_group: Mapping[Any, Any]) -> list[Any]:
    return [Source(name, rows) for name, rows in by_group.items()]


def explain_row(detector: Any, rows: Any, row: int) -> Any:
    return explain(detector, rows, [row])[0].contributions


# The commands without a terminal


def learn_files(folder: Path, **settings: Any) -> Any:
    with without_warnings():
        return learn(read_sources(folder), **settings)


def score_files(path: Path, model: Any) -> Any:
    return score(read_sources(path), model)


def score_parts(scored: Any) -> list[dict[str, Any]]:
    """Scores with and without focus, and the ignored share of each row, by source."""
    return [{"after": one.after.values, "before": one.before.values, "ignored": one.ignored} for one in scored]


def model_focus(model: Any) -> Any:
    return model.focus


def model_thresholds(model: Any) -> list[float]:
    return [model.threshold.value, model.baseline_threshold.value]


def save_and_load(model: Any, path: Path) -> Any:
    return Model.load(model.save(path))


def relearn_with(model: Any, answers: Iterable[tuple[str, Any]]) -> Any:
    """Relearn with answers: "false_alarm", "anomaly" or "normal", each with its deviation or rows."""
    names = {"false_alarm": "false_alarm", "anomaly": "anomaly", "normal": "calm"}
    feedback = []
    for number, (answer, evidence) in enumerate(answers):
        key = f"6f1c1f4e-0d5a-4b53-9d0c-{number:012}"
        n_rows = max(1, len(np.atleast_2d(evidence)))
        verdict = Verdict(key, "today", 10 * number, 10 * number + n_rows, 10 * number, names[answer])
        feedback.append(FeedbackItem(verdict, evidence))
    with without_warnings():
        return relearn(model, feedback, now=1e9)


# Data sets, command line, web


def illuminated_digits() -> list[Any]:
    return [source.rows for source in make_illuminated_digits().training]


def command_names() -> list[str]:
    return list(COMMANDS)


def run_command(*arguments: Any) -> Any:
    """Run a command in this process, at a fixed terminal width."""
    words = [str(argument) for argument in arguments]
    environment = {"NO_COLOR": "1", "COLUMNS": "100"}
    return CliRunner().invoke(main, words, env=environment, terminal_width=100, prog_name="undistract")


def command_json(*arguments: Any) -> Any:
    """Run a command that must succeed, and return the JSON object it prints."""
    outcome = run_command(*arguments, "--json")
    assert outcome.exit_code == 0, f"{arguments}: {outcome.output}"
    return json.loads(outcome.stdout)


@contextmanager
def servers_that_stop_at_once() -> Iterator[None]:
    """Let commands that serve over HTTP report that they are ready, and end."""

    def serve(app: Any, *, host: str, port: int, ready: Any) -> None:
        ready(f"http://{host}:{port}/")

    with patch("undistract.web.server.serve", serve):
        yield


def scoring_app(model: Any) -> Any:
    return make_app(token="t" * 16, model=model)


@contextmanager
def review_app(scores: Path, store: Path) -> Iterator[Any]:
    with ReviewSession.open(scores, store=store) as desk:
        yield make_app(token="t" * 16, session=desk)


def load_model(path: Path) -> Any:
    return Model.load(path)


def record_answer(scores: Path, store: Path) -> None:
    """Answer the strongest alarm of a file of scores as a false alarm."""
    with ReviewSession.open(scores, store=store) as desk:
        item = desk.queue()["items"][0]["id"]
        answer = desk.record({"key": "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "item": item, "answer": "false_alarm"})
        desk.wait_for(answer["event"])
