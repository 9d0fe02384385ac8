"""The report: one self-contained HTML file that people look at, and can send to others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from undistract.report.contents import Finding, Report, Run, as_image
from undistract.report.explanation import explanation_figure
from undistract.report.html import Html, document, element, joined, pairs, section, table, write_document
from undistract.report.learned_section import examples_section, learned_section, patterns_section, shown_picture
from undistract.report.pictures import picture, plot
from undistract.report.scores_section import N_LISTED, alarms_section, tracks_section
from undistract.report.words import count, readable

N_FINDINGS, N_NAMED = 20, 8


def report_page(report: Report) -> str:
    """Write a report as one HTML page: what was removed, what it looks like, what alarms, and why.

    Parameters
    ----------
    report : Report
        What is missing is left out.

    Examples
    --------
    >>> from undistract.detect import Scores
    >>> page = report_page(Report("Camera 3", after=Run.of([Scores("monday", [1, 9, 1])], 5.0)))
    >>> "<h1>Camera 3</h1>" in page, "<script" in page
    (True, False)
    """
    learned = report.learned
    return document(
        report.title,
        element("h1", report.title),
        *(element("p", line) for line in _headlines(report)),
        learned_section(learned) if learned else "",
        patterns_section(learned) if learned else "",
        examples_section(report.examples),
        alarms_section(report.runs),
        tracks_section(report.runs),
        _findings(report),
        _made(report),
    )


def write_page(report: Report, path: str | Path) -> None:
    """Write a report into a file, whole or not at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_page(Report("Nothing yet"), Path(folder) / "report.html")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['report.html']
    """
    write_document(report_page(report), path)


def _headlines(report: Report) -> list[str]:
    """Say the whole in a sentence or two."""
    lines = []
    if report.learned is not None:
        cut, spectrum = report.learned.cut, report.learned.spectrum
        removed = f"{cut.n_removed} of {count(spectrum.n_features, 'direction')}" if cut.n_removed else "Nothing"
        lines.append(
            f"{removed} {'is' if cut.n_removed < 2 else 'are'} ignored, learned from "
            f"{count(spectrum.evidence.n_sets, 'set')} with {count(spectrum.evidence.n_rows, 'row')}."
        )
    runs = {name: run for name, run in report.runs.items() if run.threshold is not None}
    if len(runs) == 2:
        lines.append(f"{_alarms(runs['before'])} before, {_alarms(runs['after'])} after.")
    elif runs:
        lines.append(f"{_alarms(next(iter(runs.values())))}.")
    return lines


def _alarms(run: Run) -> str:
    return f"{count(len(run.alarms), 'alarm')} in {count(run.n_scored, 'row')}"


def _findings(report: Report) -> Html:
    """Show the strongest alarms one by one."""
    if not report.findings:
        return Html("")
    shown = report.findings[:N_FINDINGS]
    n_more = len(report.findings) - len(shown)
    return section(
        "The strongest alarms",
        *(_finding(rank, one, report.shape) for rank, one in enumerate(shown, start=1)),
        element("p", f"{count(n_more, 'more alarm')} not shown.", class_="faint") if n_more else "",
    )


def _finding(rank: int, finding: Finding, shape: tuple[int, ...] | None) -> Html:
    alarm, why = finding.alarm, finding.explanation
    rows = f"row {alarm.start}" if alarm.n_rows == 1 else f"rows {alarm.start} to {alarm.stop - 1}"
    times = ""
    if alarm.start_time is not None:
        times = f", at {alarm.start_time}" if alarm.n_rows == 1 else f", {alarm.start_time} to {alarm.stop_time}"
    pictures = [shown_picture(one) for one in finding.pictures]
    is_image = shape is not None and why is not None
    if shape is not None and why is not None:
        pictures.append(picture(as_image(why.contributions, shape), "what carried the score", signed=True))
    told = []
    if why is not None:
        told = [
            plot(explanation_figure(why, n_features=0 if is_image else 8), "" if is_image else str(why), says=str(why))
        ]
    return element(
        "div",
        element("h3", f"{rank}. {readable(alarm.name)}, {rows}"),
        element("p", f"Score {alarm.score:.4g} at row {alarm.peak}{times}.", class_="faint"),
        element("div", *pictures, class_="pictures") if pictures else "",
        *told,
        class_="whole",
    )


def _made(report: Report) -> Html:
    """Tell how the report was made: settings, sources, versions."""
    parts = []
    if report.settings:
        parts += [element("h3", "Settings"), pairs(report.settings)]
    if report.sources:
        parts += [element("h3", "Sources"), _sources(report.sources)]
    if report.versions:
        parts += [element("h3", "Versions"), pairs(report.versions)]
    return section("How this was made", *parts) if parts else Html("")


def _sources(sources: Mapping[Any, Any]) -> Html:
    """List where sets came from; those from one place together."""
    together: dict[str, list[str]] = {}
    for name, source in sources.items():
        together.setdefault(str(source), []).append(str(name))
    rows = [
        [source, len(names), f"{', '.join(names[:N_NAMED])}{', …' if len(names) > N_NAMED else ''}"]
        for source, names in list(together.items())[:N_LISTED]
    ]
    n_more = len(together) - len(rows)
    more = [element("p", f"{count(n_more, 'more source')}.", class_="faint")] if n_more else []
    return joined([table(["from", "sets", "called"], rows), *more])
