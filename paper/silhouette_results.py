"""What the silhouettes experiment found: the file of results, means over seeds, tables, the claims' numbers."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
from scipy.stats import t as student

from paper.common import HERE, number, publish
from undistract._arrays import Floats
from undistract.algebra import Evidence

RESULTS = HERE / "results" / "silhouettes.csv"
COLUMNS = ("seed", "training", "light", "setting", "detector", "measure", "value")
Result = dict[str, Any]

# Whether training may see Faces 3, nearly the same outlines as the Faces 2 of the test.
TRAINING = {"with Faces 3": (), "without Faces 3": ("Faces 3",)}
LIGHT = {"common": 0.5, "rare": 0.1, "very rare": 0.03}  # share of lit test images
CUSHIONS = (1e-8, 1e-3, 1e-1, 1.0)
# What is compared, and its name in tables.
COMPARED = {
    "raw": "as they are",
    "paper, orthogonal complement": "paper's setting",
    "ours, orthogonal complement": "ours",
    "clean": "without light",
}
# The first two are the paper's own.
DETECTORS = (
    "discriminative",
    "discriminative, ρ = 10",
    "nearest",
    "lof",
    "isolation forest",
    "one-class svm",
)
SLOW = DETECTORS[:2]


def read() -> list[Result]:
    """Read what was measured so far."""
    if not RESULTS.is_file():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return [one | {"seed": int(one["seed"]), "value": float(one["value"])} for one in csv.DictReader(file)]


def write(results: list[Result]) -> None:
    """Write all results, one per line."""
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(one | {"value": f"{one['value']:.6g}"} for one in results)


class Summary:
    """Means over seeds of results that agree on everything asked for."""

    def __init__(self, results: list[Result]) -> None:
        self.results = results

    def values(self, **asked: str) -> Floats:
        """Return one value per seed."""
        return np.array([one["value"] for one in self.results if all(one[key] == asked[key] for key in asked)])

    def mean(self, **asked: str) -> float:
        """Return the mean over seeds."""
        return float(self.values(**asked).mean())

    def cell(self, digits: int = 2, **asked: str) -> str:
        """Write the mean and the half-width of its 95 % interval over seeds (Student's t)."""
        values = self.values(**asked)
        if not len(values) or np.isnan(values).any():
            return "–"
        half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0
        return f"{number(values.mean(), digits)} ± {number(half, digits)}"


def measures() -> dict[str, float | list[float]]:
    """Read the claims' numbers off the stored results."""
    of = Summary(read())

    def precisions(detector: str, light: str = "common", training: str = "with Faces 3") -> list[float]:
        asked = {"detector": detector, "light": light, "training": training}
        return [of.mean(setting=one, measure="average precision", **asked) for one in COMPARED]

    paper = {"training": "with Faces 3", "setting": "paper"}
    complement = {"training": "with Faces 3", "setting": "paper, complement of filters"}
    return {
        "groups": of.mean(training="with Faces 3", measure="groups"),
        "full_outlines": of.mean(training="with Faces 3", measure="full groups") / 6 - 62,
        "ridge_degrees": [of.mean(setting=f"ridge {c:g}", measure="degrees to top two") for c in (1e-8, 0.1)],
        "light_degrees": [
            of.mean(measure="degrees to removed", **paper),
            of.mean(measure="degrees to top two", **paper),
            of.mean(measure="degrees to top two", training="with Faces 3", setting="ours"),
        ],
        "before": [precisions(one)[0] for one in ("discriminative", "nearest", "isolation forest")],
        "after": [precisions(one)[1] for one in ("discriminative", "nearest", "isolation forest")],
        "directions": of.mean(**paper, measure="directions removed"),
        "noise_above_cutoff": [
            Evidence(954, 95400, 784, 0.99).noise_above(0.999),
            of.mean(**paper, measure="noise above .999"),
        ],
        "span_degrees": of.mean(**paper, measure="degrees to removed"),
        "top_two_degrees": of.mean(**paper, measure="degrees to top two"),
        "our_directions": of.mean(training="with Faces 3", setting="ours", measure="directions removed"),
        "our_degrees": of.mean(training="with Faces 3", setting="ours", measure="degrees to top two"),
        "clean_variance_kept": [
            of.mean(training="with Faces 3", setting=one, measure="clean variance kept") for one in ("paper", "ours")
        ],
        "discriminative_common": precisions(SLOW[0]),
        "discriminative_rare": precisions(SLOW[0], "rare"),
        "discriminative_ridge_10_very_rare": precisions(SLOW[1], "very rare"),
        "nearest_common": precisions("nearest"),
        "nearest_without_faces_3": precisions("nearest", training="without Faces 3")[1:3],
        "isolation_forest_common": precisions("isolation forest"),
        "lof_common": precisions("lof"),
        "one_class_svm_common": precisions("one-class svm"),
        "complement_of_filters": [
            of.mean(detector="nearest", light="common", measure="average precision", **complement),
            of.mean(measure="light left", **complement),
        ],
        "light_left": of.mean(training="with Faces 3", setting="paper, orthogonal complement", measure="light left"),
        "seconds": [of.mean(measure="seconds for moments"), of.mean(measure="seconds per fit")],
    }


def tables() -> None:
    """Write every table of the README that rests on the results."""
    of = Summary(read())
    for training in TRAINING:
        rows = []
        for light in LIGHT:
            for name in DETECTORS:
                asked = {"training": training, "light": light, "detector": name, "measure": "average precision"}
                rows.append([light, name, *(of.cell(setting=setting, **asked) for setting in COMPARED)])
        publish(f"average precision {training}", ["light", "detector", *COMPARED.values()], rows)
    rows = []
    for setting, words in {"paper": "paper's", "ours": "ours"}.items():
        for reading in ("orthogonal complement", "eigen", "oblique", "complement of filters"):
            asked = {"training": "with Faces 3", "setting": f"{setting}, {reading}"}
            left = of.cell(measure="light left", **asked)
            rows.append([words, reading, left, *(of.cell(light=light, detector="nearest", **asked) for light in LIGHT)])
    publish(
        "readings on silhouettes", ["setting", "reading", "light left", *(f"nearest, {light}" for light in LIGHT)], rows
    )
    rows = []
    for training in TRAINING:
        for setting, words in {"paper": "paper's", "ours": "ours"}.items():
            asked = {"training": training, "setting": setting}
            rows.append([
                training, words, of.cell(1, measure="directions removed", **asked),
                of.cell(1, measure="degrees to removed", **asked), of.cell(1, measure="degrees to top two", **asked),
                of.cell(measure="clean variance kept", **asked),
            ])  # fmt: skip
    header = [
        "training",
        "setting",
        "directions removed",
        "angle to removed",
        "angle to top two",
        "clean variance kept",
    ]
    publish("what is removed", header, rows)
    rows = []
    for ridge in CUSHIONS:
        asked = {"setting": f"ridge {ridge:g}"}
        rows.append([
            f"{ridge:g}", " ".join(number(of.mean(measure=f"λ{place}", **asked), 5) for place in (1, 2, 3, 4)),
            of.cell(1, measure="directions from 0.999", **asked), of.cell(1, measure="degrees from 0.999", **asked),
            of.cell(1, measure="directions from 0.95", **asked), of.cell(1, measure="degrees from 0.95", **asked),
            of.cell(1, measure="degrees to top two", **asked),
        ])  # fmt: skip
    header = ["ridge", "λ₁ λ₂ λ₃ λ₄", "λ ≥ .999", "their angle", "λ ≥ .95", "their angle", "top two's angle"]
    publish("ridges", header, rows)


def differences(found: list[Result], stored: list[Result]) -> dict[str, float]:
    """Compare results with the stored ones of the same name: how far each lies off, the worst first."""
    named = {tuple(str(one[column]) for column in COLUMNS[:-1]): one["value"] for one in stored}
    off = {}
    for one in found:
        name = tuple(str(one[column]) for column in COLUMNS[:-1])
        if not one["measure"].startswith("seconds"):
            same = np.isnan(one["value"]) and np.isnan(named[name])
            off[" ".join(name)] = 0.0 if same else abs(one["value"] - named[name])
    return dict(sorted(off.items(), key=lambda item: -item[1]))
