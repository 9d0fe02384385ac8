"""Write a report as one self-contained HTML file: facts → templates/report.html → page.

Everything that a template prints is escaped (autoescape), and invisible characters are replaced. A page contains no
scripts, and its Content-Security-Policy forbids the browser to load anything.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from undistract._io import atomic_write
from undistract._optional import import_optional
from undistract.detect.base import Scores
from undistract.detect.thresholds import Threshold
from undistract.report.data import AlarmDetail, CaptionedImage, ModelSummary, Report, ScoreRun, as_image
from undistract.report.figures import bars_figure, draw_spectrum, explanation_figure, figure_svg, new_figure, readable
from undistract.report.images import png_uri
from undistract.report.tracks import score_limits, track_figure

TEMPLATES = Path(__file__).parent / "templates"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
NOTHING = "–"
N_IMAGES = 12  # removed directions as images, and images before and after
N_BAR_CHARTS = 6  # removed directions as bars
N_FEATURES = 12  # bars per direction
N_TRACKS = 12
N_LISTED = 100  # rows of a table
N_DETAILS = 20  # alarms with an explanation
N_NAMES = 8  # group names per source


def write_page(report: Report, path: str | Path) -> None:
    """Write a report to a file, atomically.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_page(Report("Nothing yet"), Path(folder) / "report.html")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['report.html']
    """
    atomic_write(path, report_page(report).encode("utf-8"))


def report_page(report: Report) -> str:
    """Return a report as one HTML page: removed directions, alarms, and explanations.

    Parameters
    ----------
    report : Report
        Missing parts are left out.

    Examples
    --------
    >>> page = report_page(Report("Camera 3", after=ScoreRun.of([Scores("monday", [1, 9, 1])], 5.0)))
    >>> "<h1>Camera 3</h1>" in page, "<script" in page
    (True, False)
    """
    sources = _source_facts(report.sources)
    return render_template(
        "report.html",
        title=report.title,
        headlines=_headlines(report),
        model=None if report.model is None else _model_facts(report.model),
        examples=report.examples[:N_IMAGES],
        alarms=_alarm_facts(report.runs),
        tracks=_track_facts(report.runs),
        details=[_detail_facts(detail, report.shape) for detail in report.details[:N_DETAILS]],
        n_more_details=max(len(report.details) - N_DETAILS, 0),
        settings=list(report.settings.items()),
        sources=sources[:N_LISTED],
        n_more_sources=max(len(sources) - N_LISTED, 0),
        versions=list(report.versions.items()),
    )


def render_template(name: str, *, folder: Path | None = None, **context: Any) -> str:
    """Render a template of this package, or of another folder, whose templates may extend ours."""
    return str(_environment(folder).get_template(name).render(policy=POLICY, **context))


@lru_cache
def _environment(folder: Path | None = None) -> Any:
    jinja2 = import_optional("jinja2", extra="plot", to="Writing reports")
    markup = import_optional("markupsafe", extra="plot", to="Writing reports").Markup

    def clean(value: object) -> object:
        return value if hasattr(value, "__html__") else readable(value)

    folders = [TEMPLATES] if folder is None else [folder, TEMPLATES]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "display": display,
        "count": count,
        "percent": percent,
        "svg": lambda figure, label: markup(figure_svg(figure, label)),
        "png_uri": png_uri,
    }
    return environment


def display(value: object) -> object:
    """Format a value for a page: numbers with four digits, a dash for None and NaN; text is unchanged.

    Examples
    --------
    >>> display(0.123456), display(None), display(True), display("auto")
    ('0.1235', '–', 'yes', 'auto')
    """
    if value is None or (isinstance(value, Real) and value != value):
        return NOTHING
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return grouped(int(value))
    if isinstance(value, Real):
        return f"{float(value):.4g}"
    return value


def grouped(number: int) -> str:
    r"""Format an integer with a narrow space between thousands, from 10 000 on.

    Examples
    --------
    >>> grouped(2024), grouped(12000).replace("\N{NARROW NO-BREAK SPACE}", "_")
    ('2024', '12_000')
    """
    if abs(number) < 10_000:
        return str(number)
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def count(number: int, noun: str) -> str:
    """Format a number with its noun."""
    return f"1 {noun}" if number == 1 else f"{grouped(number)} {noun}s"


def percent(share: float | None, digits: int) -> str:
    """Format a share as a percentage, or None as a dash."""
    return NOTHING if share is None else f"{share:.{digits}%}"


def _headlines(report: Report) -> list[str]:
    """Summarize the report in one or two sentences."""
    lines = []
    if report.model is not None:
        n_removed = report.model.selection.n_removed
        spectrum = report.model.spectrum
        subject = "No direction is"
        if n_removed:
            verb = "is" if n_removed == 1 else "are"
            subject = f"{n_removed} of {count(spectrum.n_features, 'direction')} {verb}"
        groups = count(spectrum.evidence.n_groups, "group")
        lines.append(f"{subject} ignored, learned from {groups} with {count(spectrum.evidence.n_rows, 'row')}.")
    totals = {
        name: f"{count(len(run.alarms), 'alarm')} in {count(run.n_scored, 'row')}"
        for name, run in report.runs.items()
        if run.threshold is not None
    }
    if len(totals) == 2:
        lines.append(f"{totals['before']} before, {totals['after']} after.")
    elif totals:
        lines += [f"{total}." for total in totals.values()]
    return lines


def _model_facts(model: ModelSummary) -> dict[str, Any]:
    """Return the facts about removed directions and their evidence."""
    spectrum = model.spectrum
    n_removed = model.selection.n_removed
    facts: dict[str, Any] = {
        "cautions": model.summary.cautions,
        "lines": model.summary.lines(),
        "n_removed": n_removed,
        "n_more": max(n_removed - N_IMAGES, 0),
        "directions": [],
        "is_image": model.image_shape is not None,
        "patterns": _pattern_facts(model),
        "n_features_shown": 0,
    }
    if model.image_shape is None and spectrum.n_features > N_FEATURES:
        facts["n_features_shown"] = N_FEATURES
    if not len(spectrum.distraction):
        return facts
    facts["spectrum"] = _spectrum_figure(model)
    facts["noise"] = _noise_text(model)
    indices = list(range(min(n_removed, N_IMAGES)))
    if n_removed < spectrum.n_varying:
        indices.append(n_removed)  # the first direction that is kept
    for index in indices:
        facts["directions"].append(
            {
                "number": index + 1,
                "is_removed": index < n_removed,
                "distraction": spectrum.distraction[index],
                "debiased": spectrum.debiased[index],
                "within_share": spectrum.within_share[index],
                "total_share": spectrum.total_share[index],
            }
        )
    return facts


def _spectrum_figure(model: ModelSummary) -> Any:
    spectrum = model.spectrum
    n_removed = model.selection.n_removed
    distraction = np.pad(spectrum.distraction, (0, spectrum.n_features - len(spectrum.distraction)))
    figure = new_figure(9, 3.4)
    draw_spectrum(
        figure.add_axes((0.08, 0.12, 0.9, 0.86)),
        distraction,
        n_removed=n_removed,
        cutoff=model.selection.cutoff,
        n_shown=min(len(distraction), n_removed + max(40, n_removed // 2)),
        noise_edges=_noise_range(model),
        pure_distractor=spectrum.evidence.pure_distractor,
    )
    return figure


def _noise_range(model: ModelSummary) -> tuple[float, float] | None:
    """Return the range of distraction under pure noise, or None if there are too few rows to compute it."""
    edges = model.spectrum.evidence.noise_edges
    return None if edges == (0.0, 1.0) else edges


def _noise_text(model: ModelSummary) -> str:
    edges = _noise_range(model)
    text = "There are too few rows to compute the range of distraction under pure noise."
    if edges is not None:
        text = (
            "Blue band: the range of distraction under pure noise with as many groups, rows and directions, "
            f"{edges[0]:.3f} to {edges[1]:.3f}."
        )
    return (
        f"{text} Blue mark: the expected distraction of a pure distractor, "
        f"{model.spectrum.evidence.pure_distractor:.3f}. Both are computed without the ridge, which lowers the "
        "distraction, most of all of directions with little variance."
    )


def _pattern_facts(model: ModelSummary) -> list[Any]:
    """Return the removed directions: as images, or as bar charts of features."""
    n_drawn = N_BAR_CHARTS if model.image_shape is None else N_IMAGES
    facts: list[Any] = []
    for index in range(min(model.selection.n_removed, n_drawn)):
        caption = f"direction {index + 1}, distraction {model.spectrum.distraction[index]:.3f}"
        pattern = model.pattern(index)
        if model.image_shape is not None:
            facts.append(CaptionedImage(caption, as_image(pattern, model.image_shape), signed=True))
        else:
            facts.append({"caption": caption, "figure": bars_figure(pattern, model.feature_names, n_shown=N_FEATURES)})
    return facts


def _alarm_facts(runs: Mapping[str, ScoreRun]) -> dict[str, Any] | None:
    """Return the numbers of alarms of each run and each group, or None if there is no threshold."""
    runs = {name: run for name, run in runs.items() if run.threshold is not None}
    if not runs:
        return None
    rates = {run.threshold.rate for run in runs.values() if isinstance(run.threshold, Threshold)}
    columns = [f"alarms {name}" for name in runs] if len(runs) > 1 else ["alarms"]
    groups = []
    names = _by_excess(runs)
    if max(len(run.scores) for run in runs.values()) > 1:
        n_rows = {scores.name: len(scores) for run in runs.values() for scores in run.scores}
        for name in names[:N_LISTED]:
            n_alarms = [len(run.alarms_of(name)) for run in runs.values()]
            groups.append({"name": str(name), "n_rows": n_rows[name], "n_alarms": n_alarms})
    return {
        "rates_differ": len(rates) > 1,
        "runs": [_run_facts(name, run) for name, run in runs.items()],
        "columns": columns,
        "groups": groups,
        "n_more": max(len(names) - N_LISTED, 0),
    }


def _run_facts(name: str, run: ScoreRun) -> dict[str, Any]:
    n_over = run.n_over
    facts: dict[str, Any] = {
        "name": name,
        "n_alarms": len(run.alarms),
        "n_over": n_over,
        "share": None,
        "rate": None,
        "guarantee": None,
        "threshold": run.value,
        "evidence": "given",
    }
    if run.n_scored:
        facts["share"] = n_over / run.n_scored
    threshold = run.threshold
    if isinstance(threshold, Threshold):
        facts["rate"] = threshold.rate
        facts["guarantee"] = threshold.guarantee
        held_out = count(threshold.n_groups, "held-out group")
        facts["evidence"] = f"{threshold.rule}: {count(threshold.n_rows, 'row')} of {held_out}"
        if not np.isfinite(threshold.value):
            facts["threshold"] = "none for a single row"
    return facts


def _track_facts(runs: Mapping[str, ScoreRun]) -> dict[str, Any] | None:
    """Return figures of the score tracks with the strongest alarms, in the order of the groups."""
    names = list(dict.fromkeys(scores.name for run in runs.values() for scores in run.scores))
    if not names:
        return None
    strongest = set(_by_excess(runs)[:N_TRACKS])
    limits = {name: score_limits(run.scores, run.value) for name, run in runs.items()}
    tracks = []
    for group in names:
        for run_name, run in runs.items():
            for scores in run.scores:
                if scores.name == group and group in strongest:
                    label = readable(group)
                    if len(runs) > 1:
                        label += f", {run_name}"
                    alarms = run.alarms_of(group)
                    figure = track_figure(scores, threshold=run.value, alarms=alarms, limits=limits[run_name])
                    caption = f"{label}: {_track_caption(run, scores)}"
                    tracks.append({"figure": figure, "caption": caption})
    return {"n_drawn": len(strongest), "n_groups": len(names), "n_runs": len(runs), "tracks": tracks}


def _track_caption(run: ScoreRun, scores: Scores) -> str:
    parts = [count(len(scores), "row")]
    n_unscored = int(np.isnan(scores.values).sum())
    if n_unscored:
        parts.append(f"{n_unscored} not scored")
    if run.threshold is not None:
        parts.append(count(len(run.alarms_of(scores.name)), "alarm"))
    caption = ", ".join(parts)
    if run.value is not None and np.isfinite(run.value):
        caption += f" over {run.value:.4g}"
    return caption


def _by_excess(runs: Mapping[str, ScoreRun]) -> list[Hashable]:
    """Return the names of groups by the excess of their highest score over the threshold, in their last run."""
    excess: dict[Hashable, float] = {}
    for run in runs.values():
        threshold = 0.0
        if run.value is not None and np.isfinite(run.value):
            threshold = run.value
        for scores in run.scores:
            excess[scores.name] = float(np.fmax.reduce(scores.values, initial=-np.inf)) - threshold
    return sorted(excess, key=lambda name: -excess[name])


def _detail_facts(detail: AlarmDetail, shape: tuple[int, ...] | None) -> dict[str, Any]:
    """Return the facts about one alarm: rows, times, images, and the explanation."""
    alarm = detail.alarm
    explanation = detail.explanation
    rows = f"rows {alarm.start} to {alarm.stop - 1}"
    times = f", {alarm.start_time} to {alarm.stop_time}"
    if alarm.n_rows == 1:
        rows = f"row {alarm.start}"
        times = f", at {alarm.start_time}"
    if alarm.start_time is None:
        times = ""
    facts: dict[str, Any] = {
        "alarm": alarm,
        "title": f"{readable(alarm.name)}, {rows}",
        "times": times,
        "pictures": list(detail.pictures),
        "figure": None,
        "caption": "",
        "text": "",
    }
    if explanation is not None:
        facts["text"] = str(explanation)
        if shape is not None:  # the contributions are drawn as an image instead of bars
            contributions = as_image(explanation.contributions, shape)
            facts["pictures"].append(CaptionedImage("contributions to the score", contributions, signed=True))
            facts["figure"] = explanation_figure(explanation, n_features=0)
        else:
            facts["caption"] = str(explanation)
            facts["figure"] = explanation_figure(explanation)
    return facts


def _source_facts(sources: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Return the sources with the names of their groups."""
    names_of: dict[str, list[str]] = {}
    for name, source in sources.items():
        names_of.setdefault(str(source), []).append(str(name))
    facts = []
    for path, names in names_of.items():
        listed = ", ".join(names[:N_NAMES])
        if len(names) > N_NAMES:
            listed += ", …"
        facts.append({"path": path, "n_groups": len(names), "names": listed})
    return facts
