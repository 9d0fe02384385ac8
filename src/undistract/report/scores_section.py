"""The part of a report about scores: how many alarms before and after, and the track of each set."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from undistract.detect.scores import Scores
from undistract.detect.thresholds import Threshold
from undistract.report.contents import Run
from undistract.report.html import NOTHING, Html, element, joined, number, section, table
from undistract.report.pictures import plot
from undistract.report.tracks import score_limits, track_figure
from undistract.report.words import count, readable

N_TRACKS, N_LISTED = 12, 100


def alarms_section(runs: Mapping[str, Run]) -> Html:
    """Compare how many alarms there are, before and after, at what was promised."""
    told = {name: run for name, run in runs.items() if run.threshold is not None}
    if not told:
        return Html("")
    rates = {run.threshold.rate for run in told.values() if isinstance(run.threshold, Threshold)}
    header = ["", "alarms", "rows that alarm", "of all scored", "promised", "at worst", "threshold", "evidence"]
    differ = "Not the same rate was promised: the numbers of alarms cannot be compared."
    return section(
        "How many alarms",
        *([element("p", differ, class_="caution")] if len(rates) > 1 else []),
        table(header, [_counts(name, run) for name, run in told.items()]),
        element(
            "p",
            "Promised is the share of the rows of a new normal set that may alarm, at worst what holds for sets of any "
            "kind. Neighbouring rows are joined into one alarm.",
            class_="faint",
        ),
        _by_set(told) if max(len(run.scores) for run in told.values()) > 1 else "",
    )


def tracks_section(runs: Mapping[str, Run]) -> Html:
    """Draw the score track of each set, before beside after; of many sets those with the strongest alarms."""
    names = list(dict.fromkeys(one.name for run in runs.values() for one in run.scores))
    if not names:
        return Html("")
    strongest = set(_names(runs)[:N_TRACKS])
    drawn = [name for name in names if name in strongest]
    words = [
        "Each row's score in order, on one scale for all sets. Dashed: the threshold. Blue: what alarms, marked below."
    ]
    if len(drawn) < len(names):
        words.append(f"Of {len(names)} sets those {len(drawn)} are drawn that reach furthest over the threshold.")
    if len(runs) > 1:
        words.append("Before and after have scales of their own: compare each with its threshold.")
    limits = {when: score_limits(run.scores, run.value) for when, run in runs.items()}
    tracks = [
        _track(run, one, f"{readable(name)}, {when}" if len(runs) > 1 else readable(name), limits[when])
        for name in drawn
        for when, run in runs.items()
        for one in run.scores
        if one.name == name
    ]
    return section("Score tracks", element("p", " ".join(words)), element("div", *tracks, class_="beside"))


def _track(run: Run, scores: Scores, name: str, limits: tuple[float, float]) -> Html:
    alarms = run.alarms_of(scores.name)
    n_unscored = int(np.isnan(scores.values).sum())
    told = f"{name}: {count(len(scores), 'row')}"
    told += f", {n_unscored} never scored" if n_unscored else ""
    told += f", {count(len(alarms), 'alarm')}" if run.threshold is not None else ""
    told += f" over {run.value:.4g}" if run.value is not None and np.isfinite(run.value) else ""
    return plot(track_figure(scores, threshold=run.value, alarms=alarms, limits=limits), told)


def _counts(name: str, run: Run) -> list[object]:
    threshold, n_over = run.threshold, run.n_over
    share = number(f"{n_over / run.n_scored:.2%}" if run.n_scored else NOTHING)
    start: list[object] = [name, len(run.alarms), n_over, share]
    if not isinstance(threshold, Threshold):
        return [*start, None, None, threshold, "given"]
    value = threshold.value if np.isfinite(threshold.value) else number("none for a lone row")
    evidence = f"{threshold.rule}: {count(threshold.n_rows, 'row')} of {count(threshold.n_sets, 'held-out set')}"
    return [
        *start,
        number(f"{threshold.rate:.3%}"),
        number(f"{threshold.guarantee:.1%}"),
        value,
        element("td", evidence, class_="words"),
    ]


def _by_set(runs: Mapping[str, Run]) -> Html:
    """List the alarms of each set, those that reach furthest first."""
    names = _names(runs)
    lengths = {one.name: len(one) for run in runs.values() for one in run.scores}
    found = {when: _numbers_of_alarms(run) for when, run in runs.items()}
    header = ["set", "rows", *(f"alarms {when}" if len(runs) > 1 else "alarms" for when in runs)]
    rows = [[str(name), lengths[name], *(mine.get(name, 0) for mine in found.values())] for name in names[:N_LISTED]]
    n_more = len(names) - len(rows)
    more = [element("p", f"{count(n_more, 'more set')} with weaker scores.", class_="faint")] if n_more else []
    return joined([table(header, rows), *more])


def _numbers_of_alarms(run: Run) -> dict[Hashable, int]:
    numbers: dict[Hashable, int] = {}
    for alarm in run.alarms:
        numbers[alarm.name] = numbers.get(alarm.name, 0) + 1
    return numbers


def _excesses(runs: Mapping[str, Run]) -> dict[Hashable, float]:
    """Say of each set how far its highest score lies over the threshold, in the last run that has it."""
    excesses: dict[Hashable, float] = {}
    for run in runs.values():
        value = run.value if run.value is not None and np.isfinite(run.value) else 0.0
        for one in run.scores:
            excesses[one.name] = float(np.fmax.reduce(one.values, initial=-np.inf)) - value
    return excesses


def _names(runs: Mapping[str, Run]) -> list[Hashable]:
    """Name the sets, those that reach furthest over the threshold first."""
    excesses = _excesses(runs)
    return sorted(excesses, key=lambda name: -excesses[name])
