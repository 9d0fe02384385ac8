"""Section 3.2: sunflowers among faces, under light; the paper's setting and ours, over several seeds.

    python -m paper.illuminated_silhouettes --seeds 5 --data DIR

Every number goes to results/silhouettes.csv, one per line. Seeds that it holds are not computed again, but with
``--anew``. ``--quick`` computes the first seed again without the slow detectors and compares. The tables in the README
follow the file.
"""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles

from paper.common import complement_of_filters
from paper.silhouette_results import (
    COLUMNS,
    COMPARED,
    CUSHIONS,
    LIGHT,
    RESULTS,
    SLOW,
    TRAINING,
    Result,
    differences,
    read,
    tables,
    write,
)
from undistract import DiscriminativeDetector, EvidenceWarning, Focus, Moments, NearestDetector, Spectrum, as_detector
from undistract._arrays import Floats
from undistract.algebra import Projection
from undistract.datasets.silhouettes import make_illuminated_silhouettes
from undistract.detect.metrics import quality

SETTINGS = {"paper": Focus(cutoff=0.999, ridge=1e-8), "ours": Focus()}
# The detector of the paper with the defaults of its own paper, and with a penalty that keeps it from telling every row
# apart; 784 pixels are more than the hundred rows of a window.
MADE: dict[str, Callable[[int], Any]] = {
    SLOW[0]: lambda seed: DiscriminativeDetector(random_state=seed, progress=False),
    SLOW[1]: lambda seed: DiscriminativeDetector(ridge=10, standardise=False, random_state=seed, progress=False),
    "nearest": lambda seed: NearestDetector(n_neighbors=10),
    "lof": lambda seed: as_detector("lof"),
    "isolation forest": lambda seed: as_detector("isolation_forest"),
    "one-class svm": lambda seed: as_detector("one_class_svm"),
}


def run(seed: int, data: Path | None, *, quick: bool = False) -> Iterator[Result]:
    """Measure one seed; quick leaves out the slow detectors and the training without Faces 3."""
    for training in list(TRAINING)[: 1 if quick else None]:
        tests = {
            light: make_illuminated_silhouettes(data=data, leave_out=TRAINING[training], lit_test=share, seed=seed)
            for light, share in LIGHT.items()
        }
        under_light = tests["common"]
        start = time.perf_counter()
        # The light of the test is drawn after that of the training, so all tests share these moments.
        moments = Moments.of(under_light.training)
        middle = time.perf_counter()
        learned = {setting: fitted(focus, moments) for setting, focus in SETTINGS.items()}
        about = {
            "seconds for moments": middle - start,
            "seconds per fit": (time.perf_counter() - middle) / len(learned),
            "groups": moments.n_groups,
            "full groups": int((moments.counts == 100).sum()),
        }
        parts = [
            _named("", about),
            _removed(learned, under_light),
            _detected(learned, tests, [name for name in MADE if not (quick and name in SLOW)], seed),
            _cushions(moments, under_light.gradients) if training == "with Faces 3" else (),
        ]
        for one in chain(*parts):
            yield dict.fromkeys(COLUMNS, "") | {"seed": seed, "training": training} | one


def _named(setting: str, found: dict[str, float]) -> Iterator[Result]:
    yield from ({"setting": setting, "measure": measure, "value": value} for measure, value in found.items())


def _removed(learned: dict[str, Focus], under_light: Any) -> Iterator[Result]:
    """Measure what each setting removes, and what each reading leaves of the light."""
    gradients = under_light.gradients
    centred = under_light.clean - under_light.clean.mean(axis=0)
    for setting, focus in learned.items():
        found = {
            "directions removed": focus.n_removed_,
            "degrees to removed": degrees(focus.patterns_[:, : focus.n_removed_], gradients),
            "degrees to top two": degrees(focus.patterns_[:, :2], gradients),
            "clean variance kept": float((focus.projection_(centred) ** 2).sum() / (centred**2).sum()),
            "noise above .999": focus.spectrum_.evidence.noise_above(0.999),
        }
        yield from _named(setting, found)
        for reading, project in readings(focus).items():
            left = np.linalg.norm(project(gradients) - project(0 * gradients), axis=1)
            share = float((left / np.linalg.norm(gradients, axis=1)).mean())
            yield from _named(f"{setting}, {reading}", {"light left": share})


def _detected(learned: dict[str, Focus], tests: dict[str, Any], names: list[str], seed: int) -> Iterator[Result]:
    """Measure how well each detector finds the sunflowers, fitted on the test alone."""
    for light, one in tests.items():
        rows = {"raw": one.test, "clean": one.clean}
        for setting, focus in learned.items():
            rows |= {f"{setting}, {reading}": project(one.test) for reading, project in readings(focus).items()}
        for setting, X in rows.items():
            for name in names:
                if name in SLOW and setting not in COMPARED:
                    continue
                found = quality(MADE[name](seed).fit(X).scores_, one.is_anomaly).average_precision
                about = {"light": light, "detector": name}
                yield from (about | named for named in _named(setting, {"average precision": found}))


def readings(focus: Focus) -> dict[str, Callable[[Floats], Floats]]:
    """Give the ways to read "remove the eigenvectors", each as a map of rows."""
    spectrum, n_removed = focus.spectrum_, focus.n_removed_
    return {
        "orthogonal complement": focus.transform,
        "eigen": Projection.of(spectrum, n_removed, "eigen"),
        "oblique": Projection.of(spectrum, n_removed, "oblique"),
        "complement of filters": lambda X: complement_of_filters(X, spectrum.filters[:, :n_removed]),
    }


def degrees(patterns: Floats, gradients: Floats) -> float:
    """Return the largest angle between the gradients (2, d) and the span of patterns (d, r)."""
    return float(np.degrees(subspace_angles(patterns, gradients.T)).max()) if patterns.shape[1] > 1 else np.nan


def fitted(focus: Focus, moments: Moments) -> Focus:
    """Fit a copy of a setting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # that .999 lies in the noise is what we are here to say
        return Focus(**focus.get_params()).fit_moments(moments)


def _cushions(moments: Moments, gradients: Floats) -> Iterator[Result]:
    for ridge in CUSHIONS:
        spectrum = Spectrum.of(moments, ridge=ridge)
        found = {f"λ{place + 1}": value for place, value in enumerate(spectrum.distraction[:4])}
        for cutoff in (0.999, 0.95):
            n_above = int((spectrum.distraction >= cutoff).sum())
            found[f"directions from {cutoff}"] = n_above
            found[f"degrees from {cutoff}"] = degrees(spectrum.patterns[:, :n_above], gradients)
        found["degrees to top two"] = degrees(spectrum.patterns[:, :2], gradients)
        yield from _named(f"ridge {ridge:g}", found)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds, from 0 up")
    parser.add_argument("--data", type=Path, help="folder with the images; without it they are downloaded")
    parser.add_argument("--anew", action="store_true", help="compute again what results/silhouettes.csv holds")
    parser.add_argument("--quick", action="store_true", help="one seed without the slow detector, compared only")
    options = parser.parse_args()
    results = [] if options.anew else read()
    if options.quick:
        if not results:
            raise SystemExit(f"{RESULTS} holds nothing to compare with. Run without --quick first.")
        name, worst = next(iter(differences(list(run(0, options.data, quick=True)), results).items()))
        print(f"Seed 0 computed again: the largest difference to {RESULTS.name} is {worst:.2g} ({name}).")
    else:
        for seed in sorted(set(range(options.seeds)) - {one["seed"] for one in results}):
            start = time.perf_counter()
            for one in run(seed, options.data):
                results.append(one)
                words = " ".join(str(one[column]) for column in COLUMNS[1:-1] if one[column])
                print(f"seed {seed} {time.perf_counter() - start:4.0f} s  {words} {one['value']:.4g}", flush=True)
            # A seed is written whole or not at all.
            write(results)
    tables()


if __name__ == "__main__":
    main()
