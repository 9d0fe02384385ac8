"""Compute the numbers of the contract, reduce them to a few values, and compare them with the recorded ones.

A recorded array has its shape, its norm, a checksum over all entries and a few entries at fixed positions. Projectors
and distances are recorded, never eigenvectors: their signs, and their basis within a space, are arbitrary.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.linear_model import LogisticRegression, Ridge

from tests.contract import calls, data

RECORDED = Path(__file__).with_name("numbers.json")
N_ENTRIES = 5

Numbers = Iterator[tuple[str, Any]]

# Differences are measured against the norm of the array: an entry close to zero inherits the rounding of its large
# neighbours. With the same libraries the numbers are equal to the bit. The tolerances are about ten times the largest
# difference between one and two BLAS threads and between five OpenBLAS kernels (OPENBLAS_CORETYPE=Sandybridge,
# Nehalem, SkylakeX, Prescott and Haswell), all with one version of the code.
TOLERANCE = 1e-12
TOLERANCES = {
    # The noise of the group means is subtracted: up to 2e-12 with 420 features.
    "debiased_distraction": 2e-11,
    # Ratios of sums over groups: up to 9e-13 with features that are linear combinations.
    "heterogeneity": 1e-11,
    # The removed space moves by rounding over the gap of eigenvalues: up to 8e-12 with faces and an absolute ridge.
    "projected": 1e-10,
    # Undoing a soft removal multiplies the rounding of the shrunk coordinates: up to 3e-12.
    "restored": 5e-11,
    # The same, between rows of which most of the length may be removed: up to 7e-13 with 420 features.
    "distances": 5e-12,
    "distances_within_group": 5e-12,
}
# Exceptions by section: all quantities whose key contains the second text.
EXCEPTIONS = {
    # With a mean of 1e6 standard deviations, rows have ten digits left.
    ("focus/far_from_origin", "distances"): 1e-9,
    # The result has the precision of the rows; undoing a soft removal divides by weights down to 1e-4.
    ("focus/single_precision", "restored"): 3e-3,
    ("focus/single_precision", "distances"): 1e-6,
    ("focus/single_precision", "denoised"): 2e-6,
    # The kernel matrix has eigenvalues over eight orders of magnitude, and the ridge is 1e-4.
    ("kernel", ""): 1e-10,
    # Stopping tolerance of the search for the shape of the tail: up to 2.4e-9 for the value.
    ("detector/nearest", "tail/"): 3e-8,
    # Training in single precision, with sums in an order that depends on the machine.
    ("neural", ""): 1e-3,
}


def reduce_array(values: Any) -> Any:
    """Reduce an array to what is recorded; numbers, integers and short arrays stay as they are."""
    array = np.asarray(values)
    if array.dtype.kind in "biuOU":
        return array.tolist()
    if array.size <= N_ENTRIES:
        return float(array) if array.ndim == 0 else array.astype(np.float64).ravel().tolist()
    entries = array.astype(np.float64).ravel()
    finite = np.where(np.isfinite(entries), entries, 0.0)
    chosen = np.linspace(0, array.size - 1, N_ENTRIES).astype(int)
    return {
        "shape": list(array.shape),
        "norm": float(np.linalg.norm(finite)),
        # The weights differ from entry to entry, so that a permutation of the entries changes the sum.
        "checksum": float(finite @ np.cos(np.arange(array.size))),
        "entries": entries[chosen].tolist(),
    }


def rounded(value: Any) -> Any:
    """Round floats to 15 significant digits, a hundredth of the finest tolerance, to keep the file small."""
    if isinstance(value, float):
        return float(f"{value:.15g}")
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return value


def spectrum_numbers(focus: Any) -> Numbers:
    """Yield the spectrum and what was decided on it."""
    yield "distraction", focus.distraction_
    yield "debiased_distraction", focus.debiased_distraction_
    yield "n_removed", int(focus.n_removed_)
    yield "cutoff", float(focus.cutoff_)
    kinds, counts = np.unique(focus.kinds_, return_counts=True)
    yield "kinds", dict(zip(kinds.tolist(), counts.tolist(), strict=True))


def map_numbers(focus: Any, probe: Any, rows: Any) -> Numbers:
    """Yield what the fitted map does to rows: the projector on them, and their distances after the map.

    With removal "eigen", the directions with distraction 0 have an arbitrary basis and a scale that depends on it, so
    that only distances between training rows of one group are defined.
    """
    basis = focus.components_
    # Rows far from the origin: the projector acts on deviations, as in the estimator.
    centred = probe.astype(np.float64) - probe.astype(np.float64).mean(axis=0)
    yield "projected", centred @ basis.T @ basis
    transformed = focus.transform(probe)
    if focus.removal == "eigen":
        yield "distances_within_group", pdist(focus.transform(rows).astype(np.float64))
    else:
        yield "distances", pdist(transformed.astype(np.float64))
    yield "restored", focus.inverse_transform(transformed)
    yield "n_outputs", int(transformed.shape[1])


def focus_numbers(name: str) -> Numbers:
    """Fit one data set with all settings, and in all ways in which rows can arrive."""
    sample = data.MADE[name]()
    probe = sample.probe()
    training = max(sample.by_group.values(), key=len)[:5]
    for setting in calls.SETTINGS:
        focus = calls.fit_focus(sample.rows, sample.groups, setting)
        for key, value in (*spectrum_numbers(focus), *map_numbers(focus, probe, training)):
            yield f"{setting}/{key}", value
    focus = calls.fit_focus(sample.rows, sample.groups)
    # Heterogeneity is a ratio per direction: recorded for directions that vary within groups.
    yield "default/heterogeneity", calls.heterogeneity(focus)[: min(4, np.count_nonzero(focus.distraction_ > 1e-6))]
    focus = calls.fit_focus(sample.rows, sample.groups, "remove_two")
    for way, removal in calls.WAYS_TO_DENOISE.items():
        yield f"denoised/{way}", focus.denoise(probe, removal=removal)
    weights = {int(group): 1.0 + int(group) % 3 for group in np.unique(sample.groups)}
    focus = calls.fit_focus(sample.rows, sample.groups, weights=weights)
    yield "given_weights/distraction", focus.distraction_
    yield "given_weights/distances", pdist(focus.transform(probe).astype(np.float64))
    for arrival, focus in arrivals(sample):
        yield f"{arrival}/distraction", focus.distraction_
        yield f"{arrival}/debiased_distraction", focus.debiased_distraction_
        yield f"{arrival}/n_removed", int(focus.n_removed_)
        yield f"{arrival}/distances", pdist(focus.transform(probe).astype(np.float64))


def arrivals(sample: data.Data) -> Iterator[tuple[str, Any]]:
    """Yield the same fit made in several ways: all agree, see `test_all_ways_to_fit_agree`."""
    by_group = sample.by_group
    yield "by_group", calls.fit_focus_by_group(by_group)
    # Chunks of one group may follow one another.
    chunks = ((name, part) for name, rows in by_group.items() for part in np.array_split(rows, min(3, len(rows))))
    yield "by_group_in_chunks", calls.fit_focus_by_group(chunks)
    batches = [(rows, [name] * len(rows)) for name, rows in by_group.items()]
    half = len(sample.rows) // 2
    halves = [(sample.rows[:half], sample.groups[:half]), (sample.rows[half:], sample.groups[half:])]
    yield "in_batches", calls.fit_focus_in_batches(halves)
    yield "in_closed_batches", calls.fit_focus_in_batches(batches, close=True)
    yield "from_moments", calls.fit_focus_from_moments(by_group)
    names = list(by_group)
    first = {name: by_group[name] for name in names[::2]}
    second = {name: by_group[name] for name in names[1::2]}
    yield "from_added_moments", calls.fit_focus_from_added_moments(first, second)


def feedback_numbers(name: str) -> Numbers:
    """Apply false alarms and confirmed anomalies to a fitted focus, alone and together."""
    sample = data.MADE[name]()
    rng = np.random.default_rng(17)
    probe = sample.probe()
    scale = sample.rows.std(axis=0, dtype=np.float64)
    false_alarms = 6 * scale * rng.normal(size=(3, len(scale)))
    confirmed = 6 * scale * rng.normal(size=(2, len(scale)))
    focus = calls.fit_focus(sample.rows, sample.groups)
    cases = {
        "one_false_alarm": (false_alarms[:1], None, None),
        "weak_false_alarm": (0.2 * false_alarms[:1], None, [0.5]),
        "three_false_alarms": (false_alarms, None, [1.0, 2.0, 0.5]),
        "confirmed": ([], confirmed, None),
        "both": (false_alarms, confirmed, None),
        # The anomaly is along the false alarm, so one has to give way.
        "conflict": (false_alarms[:2], false_alarms[:1], None),
    }
    for case, (ignored, anomalies, weights) in cases.items():
        updated = calls.with_feedback(focus, ignored, anomalies, weights)
        yield f"{case}/n_removed", int(updated.n_removed_)
        yield f"{case}/distraction", updated.distraction_
        basis = updated.components_
        centred = probe - probe.mean(axis=0)
        yield f"{case}/projected", centred @ basis.T @ basis
        yield f"{case}/distances", pdist(updated.transform(probe).astype(np.float64))
    twice = calls.with_feedback(calls.with_feedback(focus, false_alarms, None), false_alarms[:1], confirmed)
    yield "replaced/n_removed", int(twice.n_removed_)
    yield "replaced/distances", pdist(twice.transform(probe).astype(np.float64))


def detector_sample() -> tuple[data.Data, Any]:
    """Return training data and a new group of rows with two events."""
    sample = data.draw(21, [40] * 15, 6)
    test = data.draw(22, [60], 6)
    rows = test.rows.copy()
    rows[20:23] += 9 * np.sin(np.arange(6))
    rows[45] -= 12 * np.cos(np.arange(6))
    return sample, rows


def judged_numbers(detector: Any, rows: Any) -> Numbers:
    """Yield scores of training and of new rows, the threshold, and the alarms."""
    yield "held_out_scores", detector.scores_
    yield "scores", detector.anomaly_score(rows)
    yield "threshold", float(detector.threshold_.value)
    yield "guarantee", float(detector.threshold_.guarantee)
    yield "p_values", detector.p_values(rows)
    yield "predicted", np.flatnonzero(detector.predict(rows) < 0)
    alarms = detector.find_alarms(rows, gap=1)
    yield "alarm_rows", [[alarm.start, alarm.stop, alarm.peak] for alarm in alarms]
    yield "alarm_scores", [alarm.score for alarm in alarms]


def detector_numbers(name: str) -> Numbers:
    """Fit one detector behind a focus; the first one with all thresholds."""
    sample, rows = detector_sample()
    thresholds = list(calls.THRESHOLDS) if name == "nearest" else ["quantile"]
    for threshold in thresholds:
        detector = calls.fit_detector(sample.rows, sample.groups, name, threshold)
        for key, value in judged_numbers(detector, rows):
            yield f"{threshold}/{key}", value
    if name in ("nearest", "mahalanobis"):
        yield "contributions", calls.explain_row(detector, rows, 21)
        adapted = calls.fit_detector(sample.rows, sample.groups, name, adapt=True)
        for key, value in judged_numbers(adapted, rows):
            yield f"adapted/{key}", value
    if name == "nearest":
        sampled = calls.fit_detector_by_group(sample.by_group, 200)
        for key, value in judged_numbers(sampled, rows):
            yield f"by_group/{key}", value


def pipeline_numbers() -> Numbers:
    """Learn from files, score a file, save and load, and relearn with answers of people."""
    sample, rows = detector_sample()
    rng = np.random.default_rng(23)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "normal").mkdir()
        for name, part in sample.by_group.items():
            np.save(folder / "normal" / f"group{name:02}.npy", part)
        np.save(folder / "today.npy", rows)
        model = calls.learn_files(folder / "normal", n_known=300)
        answers = [
            ("false_alarm", 9 * np.sin(np.arange(6))),
            ("anomaly", -12 * np.cos(np.arange(6))),
            ("normal", sample.rows[:30] + rng.normal(size=6)),
        ]
        models = {
            "learned": model,
            "loaded": calls.save_and_load(model, folder / "model.focus"),
            "relearned": calls.relearn_with(model, answers),
            "relearned_twice": calls.relearn_with(calls.relearn_with(model, answers[:1]), answers),
        }
        for key, current in models.items():
            focus = calls.model_focus(current)
            yield f"{key}/n_removed", int(focus.n_removed_)
            yield f"{key}/distraction", focus.distraction_
            yield f"{key}/distances", pdist(focus.transform(rows[::8]))
            yield f"{key}/thresholds", calls.model_thresholds(current)
            scored = calls.score_files(folder / "today.npy", current)
            for parts in calls.score_parts(scored):
                for part, values in parts.items():
                    yield f"{key}/{part}", values
            alarms = scored.alarms()
            yield f"{key}/alarm_rows", [[alarm.start, alarm.stop, alarm.peak] for alarm in alarms]
            yield f"{key}/alarm_scores", [alarm.score for alarm in alarms]


def kernel_numbers() -> Numbers:
    """Fit the kernel variant exactly and with both approximations."""
    sample = data.draw(31, [12] * 8, 4)
    probe = sample.probe()
    for approximation in (None, "nystroem", "fourier"):
        focus = calls.fit_kernel_focus(sample.rows, sample.groups, approximation)
        yield f"{approximation}/n_removed", int(focus.n_removed_)
        yield f"{approximation}/distraction", focus.distraction_
        yield f"{approximation}/distances", pdist(focus.transform(probe))


def neural_numbers() -> Numbers:
    """Train a very small network; needs PyTorch."""
    sample = data.draw(32, [15] * 6, 5)
    focus = calls.fit_neural_focus(sample.rows, sample.groups)
    yield "distances", pdist(focus.transform(sample.probe()).astype(np.float64))


def sketch_numbers() -> Numbers:
    """Fit from a sketch that is smaller than the rank of the data."""
    sample = data.draw(33, [30] * 10, 60, n_nuisance=3)
    focus = calls.fit_focus_from_sketch(sample.by_group, 20)
    yield "distraction", focus.distraction_
    yield "n_removed", int(focus.n_removed_)
    yield "distances", pdist(focus.transform(sample.probe()))


def few_shot_numbers() -> Numbers:
    """Classify rows by three examples of each of two new classes."""
    sample = data.draw(34, [30] * 12, 5)
    examples = data.draw(35, [3, 3], 5)
    classifier = calls.fit_few_shot(sample.by_group, examples.rows, examples.groups)
    rows = data.draw(35, [8, 8], 5).probe(12)
    yield "probabilities", classifier.predict_proba(rows)
    yield "predicted", classifier.predict(rows)


def penalty_numbers() -> Numbers:
    """Penalise linear models along what a focus removes."""
    sample = data.draw(36, [30] * 12, 5)
    focus = calls.fit_focus(sample.rows, sample.groups, "remove_two")
    labels = (sample.rows[:, 0] > sample.rows[:, 0].mean()).astype(int)
    penalised = calls.fit_penalty(LogisticRegression(tol=1e-12, max_iter=5000), focus, sample.rows, labels)
    yield "logistic_coefficients", penalised.coef_
    yield "logistic_probabilities", penalised.predict_proba(sample.probe())
    penalised = calls.fit_penalty(Ridge(), focus, sample.rows, sample.rows @ np.arange(1.0, 6.0))
    yield "ridge_coefficients", penalised.coef_
    yield "ridge_predictions", penalised.predict(sample.probe())


def tolerance(section: str, key: str) -> float:
    """Return the tolerance of one recorded value, relative to its norm."""
    for (name, part), exceptional in EXCEPTIONS.items():
        if section == name and part in key:
            return exceptional
    return TOLERANCES.get(key.rsplit("/", 1)[-1], TOLERANCE)


def difference(expected: Any, actual: Any) -> float:
    """Return the largest difference relative to the norm; infinity if kinds, shapes or integers differ."""
    if type(expected) is not type(actual):
        return np.inf
    if isinstance(expected, dict):
        if expected.keys() != actual.keys():
            return np.inf
        if "norm" not in expected:
            return 0.0 if expected == actual else np.inf
        if expected["shape"] != actual["shape"]:
            return np.inf
        norm = expected["norm"]
        entries = [expected["norm"], expected["checksum"], *expected["entries"]]
        others = [actual["norm"], actual["checksum"], *actual["entries"]]
        return _relative(entries, others, norm)
    if isinstance(expected, float):
        return _relative([expected], [actual], abs(expected))
    if isinstance(expected, list) and any(isinstance(entry, float) for entry in expected):
        if len(expected) != len(actual):
            return np.inf
        return _relative(expected, actual, float(np.linalg.norm([entry for entry in expected if np.isfinite(entry)])))
    return 0.0 if expected == actual else np.inf


def _relative(expected: list[float], actual: list[float], norm: float) -> float:
    largest = 0.0
    for value, other in zip(expected, actual, strict=True):
        if value == other or (np.isnan(value) and np.isnan(other)):
            continue
        # An array of zeros has no scale: then any difference counts in full.
        largest = max(largest, abs(value - other) / (norm or 1.0))
    return largest if np.isfinite(largest) else np.inf


def compare(section: str, expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """Return one line for each value that differs from the recorded one."""
    lines = [f"{section}/{key} is recorded but was not computed" for key in expected if key not in actual]
    lines += [f"{section}/{key} was computed but is not recorded" for key in actual if key not in expected]
    for key in expected.keys() & actual.keys():
        size = difference(expected[key], actual[key])
        if not size <= tolerance(section, key):
            lines.append(
                f"{section}/{key} differs by {size:.1e} of its norm, allowed {tolerance(section, key):.0e}:\n"
                f"    recorded {expected[key]}\n    computed {actual[key]}"
            )
    return sorted(lines)


SECTIONS: dict[str, Callable[[], Numbers]] = {
    **{f"focus/{name}": partial(focus_numbers, name) for name in data.MADE},
    **{f"feedback/{name}": partial(feedback_numbers, name) for name in ("tall", "wide", "unequal_groups")},
    **{f"detector/{name}": partial(detector_numbers, name) for name in calls.DETECTORS},
    "pipeline": pipeline_numbers,
    "kernel": kernel_numbers,
    "neural": neural_numbers,
    "sketch": sketch_numbers,
    "few_shot": few_shot_numbers,
    "penalty": penalty_numbers,
}


def missing(section: str) -> str | None:
    """Return what a section needs and is not here, or None."""
    if not data.is_available(section.rsplit("/", 1)[-1]):
        return f"real data in {data.REAL_DATA}"
    if section == "neural" and find_spec("torch") is None:
        return "torch"
    return None


def compute(section: str) -> dict[str, Any]:
    """Compute and reduce the numbers of one section."""
    return {key: reduce_array(value) if key.split("/")[-1] != "kinds" else value for key, value in SECTIONS[section]()}


def recorded() -> dict[str, dict[str, Any]]:
    """Read the recorded numbers of all sections."""
    numbers: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return numbers


def write() -> None:
    """Record the numbers of all sections; those whose needs are missing keep their old record."""
    sections = recorded() if RECORDED.exists() else {}
    for section in SECTIONS:
        if missing(section) is None:
            sections[section] = compute(section)
    lines = []
    for section, numbers in sections.items():
        values = ",\n".join(f"  {json.dumps(key)}: {json.dumps(rounded(value))}" for key, value in numbers.items())
        lines.append(f"{json.dumps(section)}: {{\n{values}\n}}")
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
