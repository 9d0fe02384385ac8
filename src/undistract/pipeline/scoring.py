"""Scoring: score new sources with a model, with and without the focus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import time
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undistract._arrays import Floats
from undistract._io import refuse_overwriting_inputs
from undistract._progress import track
from undistract._text import format_names
from undistract.detect import Alarm, Explanation, FocusDetector, NearestDetector, Scores, Threshold, find_alarms
from undistract.detect import explain as explain_rows
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.pipeline.model import Model
from undistract.sources.cache import absolute_source, source_paths
from undistract.sources.discover import discover_sources
from undistract.sources.options import ReadOptions
from undistract.sources.source import Source, as_source_list
from undistract.storage import load, save

N_EXPLAINED = 20


@dataclass(frozen=True, eq=False)
class SourceScores:
    """The scores of one source with and without focus, and the ignored share of each row."""

    after: Scores
    before: Scores | None
    ignored: Floats  # (n,) the share of each row's deviation along ignored directions
    source: str | None = None


@dataclass(frozen=True, eq=False)
class ScoreResult:
    """The scores of several sources, and the thresholds."""

    sources: tuple[SourceScores, ...]
    threshold: Threshold | None
    baseline_threshold: Threshold | None
    model: str | None = None  # the file of the model, for reports

    def __iter__(self) -> Iterator[SourceScores]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def read_from(self) -> list[Path]:
        """Return the paths of the scored files and of the model that still exist."""
        files = [*(result.source for result in self.sources), self.model]
        return [path for file in files for path in source_paths(file)]

    def alarms(self, *, gap: int = 0) -> list[Alarm]:
        """Return the alarms of all sources, the strongest first."""
        if self.threshold is None:
            return []
        alarms = [alarm for result in self.sources for alarm in find_alarms(result.after, self.threshold, gap=gap)]
        return sorted(alarms, key=lambda alarm: -alarm.score)

    def summary(self) -> list[dict[str, Any]]:
        """Return the figures of each source as plain values: rows, alarms before and after, its strongest row."""

        def count(scores: Scores | None, threshold: Threshold | None) -> int | None:
            if scores is None or threshold is None:
                return None
            return len(find_alarms(scores, threshold))

        return [
            {
                "set": str(result.after.name),
                "rows": len(result.after),
                "alarms_before": count(result.before, self.baseline_threshold),
                "alarms_after": count(result.after, self.threshold),
                "strongest": _strongest(result.after),
            }
            for result in self.sources
        ]

    def save(self, path: str | Path, *, provenance: Any = None) -> Path:
        """Save all scores as one file; raise if that would overwrite a scored file or the model."""
        refuse_overwriting_inputs(path, self.read_from())
        origins = [result.source for result in self.sources]
        parts: dict[str, Any] = {"kind": "scores", "sources": origins, "model": self.model}
        for number, result in enumerate(self.sources):
            parts |= {f"after {number}": result.after, f"ignored {number}": result.ignored}
            if result.before is not None:
                parts[f"before {number}"] = result.before
        parts |= {"threshold": self.threshold, "baseline_threshold": self.baseline_threshold}
        return save({name: part for name, part in parts.items() if part is not None}, path, provenance=provenance)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a file of `save`."""
        content = load(path)
        if not isinstance(content, Mapping) or content.get("kind") != "scores":
            raise InputError(f"{Path(path).name} has no scores. Create them with: undistract score … --save FILE.")
        results = tuple(
            SourceScores(
                content[f"after {number}"], content.get(f"before {number}"), content[f"ignored {number}"], source
            )
            for number, source in enumerate(content["sources"])
        )
        return cls(results, content.get("threshold"), content.get("baseline_threshold"), content.get("model"))


def score(
    sources: Iterable[Source],
    model: Model,
    *,
    adapt: bool = False,
    progress: bool | None = False,
    now: float | None = None,
    cluster: Any = None,
) -> ScoreResult:
    """Score all rows of new sources.

    Parameters
    ----------
    sources : iterable of Source
        Read with the options of the training data.
    model : Model
    adapt : bool
        Score each source by its own rows, as the paper does, instead of by the reference rows: what most of its rows do
        is normal. A model without reference rows always does so; then there is no threshold.
    progress : bool or None
        True shows a progress bar on a terminal, None only if it takes long.
    now : float, optional
        Unix seconds, by default the present; feedback that has expired by then does not count.
    cluster : distributed.Client or str, optional
        Read and score on the workers of a Dask cluster, as in `learn`.

    Examples
    --------
    >>> from undistract.pipeline import learn
    >>> rng = np.random.default_rng(0)
    >>> light = np.linspace(-30, 30, 8)
    >>> days = [
    ...     Source(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
    ...     for day in range(20)
    ... ]
    >>> rows = days[3].rows.copy()
    >>> rows[31, 2] += 12
    >>> scored = score([Source("today", rows)], learn(days))
    >>> [(alarm.name, alarm.peak) for alarm in scored.alarms()]
    [('today', 31)]
    """
    by_own_rows = adapt or isinstance(model.detector, Focus)
    source_list = as_source_list(sources)
    model = model.without_expired(time() if now is None else now)
    task = partial(_score_by_own_rows if by_own_rows else _score_by_reference_rows, model)
    results: Iterable[SourceScores] = map(task, source_list)
    if cluster is not None:
        results = _map_on_cluster(cluster, task, source_list)
    tracked = track(results, total=len(source_list), what="Scoring groups", progress=progress)
    # Absolute paths: a report from another folder must not take a file of the same name there for this one.
    scored = tuple(replace(result, source=absolute_source(result.source)) for result in tracked)
    if by_own_rows:
        return ScoreResult(scored, None, None)
    return ScoreResult(scored, model.threshold, model.baseline_threshold)


def _map_on_cluster(cluster: Any, task: Callable[[Source], Any], sources: Sequence[Source]) -> Iterator[Any]:
    """Apply a function to every source on a cluster; yield results in the order of the sources."""
    from undistract.parallel import map_groups, open_cluster, runner

    with open_cluster(cluster) as client:
        yield from map_groups(task, sources, runner(client))


def _strongest(scores: Scores) -> dict[str, Any] | None:
    if np.isnan(scores.values).all():
        return None
    row = int(np.nanargmax(scores.values))
    time: Any = None
    if scores.times is not None:
        time = scores.times[row]
        if scores.times.dtype.kind != "f":
            time = str(time)
    return {"row": row, "time": time, "score": float(scores.values[row])}


def check_features(source: Source, model: Model) -> Source:
    """Raise if a source has other features than the model."""
    names = source.feature_names or ()
    expected = model.feature_names or ()
    if source.n_features != model.focus.n_features_in_:
        unknown = [name for name in names if name not in expected]
        missing = [name for name in expected if name not in names]
        detail = ""
        if expected and unknown:
            detail += f" Unknown: {format_names(unknown)}."
        if names and missing:
            detail += f" Missing: {format_names(missing)}."
        raise InputError(
            f"{source.name!r} has {source.n_features} features, the model has {model.focus.n_features_in_}."
            f"{detail} Read it with the same options (features, columns, window)."
        )
    if names and expected and names != expected:
        name, expected_name = next(pair for pair in zip(names, expected, strict=True) if pair[0] != pair[1])
        advice = "Use the same names, if they are the same features."
        if set(names) == set(expected):
            advice = "Use the same order; a model that was trained with columns= (--columns) finds them by name."
        raise InputError(f"{source.name!r} has the feature {name!r}, the model has {expected_name!r}. {advice}")
    return source


def own_detector(n_rows: int) -> NearestDetector:
    """Return the detector that scores a source of `n_rows` by its own rows.

    Examples
    --------
    >>> own_detector(4).n_neighbors, own_detector(500).n_neighbors
    (3, 10)
    """
    return NearestDetector(n_neighbors=max(1, min(10, n_rows - 1)))


def _score_by_own_rows(model: Model, source: Source) -> SourceScores:
    check_features(source, model)
    focus = model.for_source(source.name).focus
    rows, times = source.load()
    if len(rows) < 2:
        raise InputError(
            f"{source.name!r} has 1 row, but scoring by its own rows needs at least 2. Leave it out (--ignore), or use "
            "a model with reference rows (no --without-rows, no --adapt)."
        )
    detector = own_detector(len(rows))
    after = Scores(source.name, detector.fit(focus.transform(rows)).scores_, times)
    before = Scores(source.name, detector.fit(rows).scores_, times)
    # Halved, because the median of an even number of rows adds two of them, which can overflow.
    ignored = focus.projection_.ignored_share(rows - 2 * np.median(rows / 2, axis=0))
    return SourceScores(after, before, ignored, source.origin)


def _score_by_reference_rows(model: Model, source: Source) -> SourceScores:
    check_features(source, model)
    after: list[Floats] = []
    before: list[Floats] = []
    ignored: list[Floats] = []
    times: list[Any] = []
    focus = model.for_source(source.name).focus
    for rows, chunk_times in source.timed_chunks():
        after.append(model.anomaly_score(rows, context=source.name))
        if model.baseline is not None:
            before.append(model.baseline.anomaly_score(rows))
        ignored.append(focus.projection_.ignored_share(rows - focus.moments_.mean))
        times.append(chunk_times)
    all_times = None
    if all(chunk_times is not None for chunk_times in times):
        all_times = np.concatenate(times)
    baseline: Scores | None = None
    if model.baseline is not None:
        baseline = Scores(source.name, np.concatenate(before), all_times)
    focused = Scores(source.name, np.concatenate(after), all_times)
    return SourceScores(focused, baseline, np.concatenate(ignored), source.origin)


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of rows and everything derived from them.

    Parameters
    ----------
    judged_by : "known" or "own"
        Whether rows were compared with the reference rows of the model, or with each other.
    scores, ignored : (n,) arrays
        Anomaly scores (high is strange), and the share of each row's deviation along ignored directions.
    threshold : Threshold, optional
        The threshold of the model; None if it has no reference rows.
    p_values : (n,) array, optional
        How rare each score is in normal groups; None without a threshold.
    alarms : (n,) array of bool, optional
        None without a threshold and without `alarm_above`.
    explanations : tuple of Explanation
        The strongest first.
    """

    judged_by: Literal["known", "own"]
    scores: Floats
    ignored: Floats
    threshold: Threshold | None
    p_values: Floats | None
    alarms: NDArray[np.bool_] | None
    explanations: tuple[Explanation, ...] = ()


def judged_by(model: Model) -> Literal["known", "own"]:
    """Return "known" if a model compares rows with its reference rows, "own" if with each other.

    Examples
    --------
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> judged_by(learn(days)), judged_by(learn(days, keep_rows=False))
    ('known', 'own')
    """
    return "own" if isinstance(model.detector, Focus) or model.detector.adapt else "known"


def score_rows(
    rows: ArrayLike, model: Model, *, name: str = "rows", alarm_above: float | None = None, explain: bool = False
) -> RowScores:
    """Score rows of one context.

    Parameters
    ----------
    rows : (n, d) array
        With the features of the model.
    model : Model
    name : str
        The name of the context.
    alarm_above : float, optional
        Alarm above this score; by default above the threshold of the model.
    explain : bool
        Explain the rows that alarm, at most twenty; without a threshold, the rows with the highest scores.

    Examples
    --------
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> light = np.linspace(-30, 30, 8)
    >>> days = [
    ...     Source(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
    ...     for day in range(20)
    ... ]
    >>> today = days[3].rows + 0.0
    >>> today[31, 2] += 12
    >>> result = score_rows(today, learn(days), explain=True)
    >>> np.flatnonzero(result.alarms), result.explanations[0].strongest(1)[0][0]
    (array([31]), 'x2')
    """
    source = Source(name, rows)
    start_time = time()
    result = score([source], model, now=start_time)
    scored = result.sources[0]
    threshold = result.threshold
    scores = scored.after.values
    p_values: Floats | None = None
    alarms: NDArray[np.bool_] | None = None
    if threshold is not None:
        p_values = threshold.p_values(scores)
        alarms = threshold.alarms(scores)
    if alarm_above is not None:
        alarms = scores > alarm_above
    row_scores = RowScores(judged_by(model), scores, scored.ignored, threshold, p_values, alarms)
    if not explain:
        return row_scores
    local = model.without_expired(start_time).for_source(name)
    return replace(row_scores, explanations=_explanations(source, local, row_scores))


def _explanations(source: Source, model: Model, row_scores: RowScores) -> tuple[Explanation, ...]:
    strongest = np.argsort(-row_scores.scores, kind="stable")
    chosen = strongest
    if row_scores.alarms is not None:
        chosen = strongest[row_scores.alarms[strongest]]
    detector = model.detector
    if isinstance(detector, Focus):
        detector = FocusDetector(model.focus, own_detector(len(source)), adapt=True)
        detector.focus_ = model.focus
        detector.detector_ = detector.detector
    explanations = []
    for reason in explain_rows(detector, source.rows, chosen[:N_EXPLAINED].tolist(), feature_names=model.feature_names):
        rescaled = rescale_explanation(float(row_scores.scores[reason.row]), reason)
        # A single row does not deviate from its own median, so take the ignored share from the scores.
        explanations.append(replace(rescaled, ignored=float(row_scores.ignored[reason.row])))
    return tuple(explanations)


def rescale_explanation(score: float, explanation: Explanation) -> Explanation:
    """Rescale an explanation to a score that feedback for one context has rescaled.

    Examples
    --------
    >>> reason = Explanation(7, 2.0, np.array([0.5, 1.5]), True, np.ones(2), 0.0, ("heat", "load"))
    >>> rescale_explanation(4.0, reason).strongest(1)
    [('load', 3.0)]
    """
    # Within rounding the scales agree; dividing would only add noise.
    scale = 1.0 if np.isclose(score, explanation.score, rtol=1e-9) else score / explanation.score
    return replace(explanation, score=score, contributions=explanation.contributions * scale)


def reopen_sources(origins: Iterable[str | None], options: ReadOptions, *, cache: Any = None) -> list[Source]:
    """Reopen the sources that were scored; return an empty list if a file is missing.

    Examples
    --------
    >>> from undistract import ReadOptions
    >>> reopen_sources(["no-such.npy", None], ReadOptions())
    []
    """
    paths = [source_paths(origin) for origin in dict.fromkeys(origins)]
    if not paths or not all(paths):
        return []
    return discover_sources([path for group in paths for path in group], options, cache=cache)


def load_scored_sources(sources: Sequence[Source], scored: ScoreResult) -> list[Source]:
    """Return the sources that were scored, with their rows in memory for random access.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.detect import Scores
    >>> from undistract.pipeline.scoring import SourceScores
    >>> scored = ScoreResult((SourceScores(Scores("tue", [1.0, 9.0]), None, np.zeros(2)),), None, None)
    >>> [source.name for source in load_scored_sources([Source("mon", np.eye(3)), Source("tue", np.eye(2))], scored)]
    ['tue']
    """
    by_name = {str(source.name): source for source in sources}
    missing = [str(result.after.name) for result in scored if str(result.after.name) not in by_name]
    if not sources:  # `reopen_sources` finds nothing if a single file has moved: name only that one
        missing = [str(result.after.name) for result in scored if not source_paths(result.source)] or missing
    if missing:
        raise InputError(
            f"The data of {len(missing)} of {len(scored)} sources is missing, for example {missing[0]!r}. "
            "Pass its path: --data PATH."
        )
    loaded = []
    for result in scored:
        scores = result.after
        source = by_name[str(scores.name)]
        rows = source.rows
        if len(rows) != len(scores):
            raise InputError(
                f"{str(source.name)!r} has {len(rows)} rows, but {len(scores)} were scored. Score it again."
            )
        loaded.append(
            Source(
                source.name,
                rows,
                scores.times,
                source.origin,
                feature_names=source.feature_names,
                row_names=source.row_names,
            )
        )
    return loaded
