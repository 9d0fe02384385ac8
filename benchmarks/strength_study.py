"""The automatic strength of the soft removal: which rule loses nothing where the hard one is right, and where it wins.

Every rule reads the training sets alone: no label, no anomaly, nothing of the test. All of them shrink the patterns
that `Focus` removes by itself; they differ in how much. They are compared on the trials for choosing of
`benchmarks.quality.trials`, whole and with few of their sets; the reported ones are never looked at.

    python -m benchmarks.strength_study --save out/strength_study.csv
    python -m benchmarks.strength_study --save out/strength_study.csv --table
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.quality.methods import Learned
from benchmarks.quality.run import mapped, scored
from benchmarks.quality.table import markdown
from benchmarks.quality.trials import DATA_SETS, PARTS, Trial, trials
from undistract import Focus, Moments, Spectrum
from undistract.algebra import Projection
from undistract.algebra.soft_filter import SoftFilter
from undistract.algebra.strength import strengths
from undistract.arrays import Floats
from undistract.detect import quality
from undistract.errors import EvidenceWarning

DETECTORS = ("kNN", "LOF", "isolation forest")


@dataclass(frozen=True)
class Case:
    """What a rule may read: the spectrum, how many directions go, and both halves of the sets."""

    spectrum: Spectrum
    n_removed: int
    halves: tuple[Moments, Moments]

    @property
    def inside(self) -> Floats:
        """Variation inside sets that each removed pattern carries, (r,); within = Σ λ a aᵀ."""
        n = self.n_removed
        return self.spectrum.distraction[:n] * (self.spectrum.patterns[:, :n] ** 2).sum(axis=0)

    @property
    def apart(self) -> Floats:
        """What is granted to the difference of sets along each removed pattern, de-biased, (r,)."""
        n = self.n_removed
        clean = self.spectrum.debiased[:n]
        length = (self.spectrum.patterns[:, :n] ** 2).sum(axis=0)
        cushion = self.spectrum.cushion * (self.spectrum.filters[:, :n] ** 2).sum(axis=0)
        return length * cushion + self.inside * (1 - clean) / clean

    @property
    def kept(self) -> tuple[float, float]:
        """Mean over what is kept: variation inside sets, and what tells them apart with the cushion."""
        spectrum = self.spectrum
        assert spectrum.variances is not None
        n_kept = spectrum.n_features - self.n_removed
        inside = (spectrum.variances.within - self.inside.sum()) / n_kept
        apart = (spectrum.variances.total - spectrum.variances.within) / n_kept + spectrum.cushion
        return max(inside, 1e-300), max(apart, 1e-300)


def fixed(case: Case, strength: float) -> Floats:
    """Take the same strength everywhere, times the distraction."""
    return strength * case.spectrum.distraction[: case.n_removed]


def level(case: Case) -> Floats:
    """Shrink until what is left varies inside sets as much as a kept direction does."""
    return case.inside / case.kept[0]


def one_level(case: Case) -> Floats:
    """Do the same with one strength for all."""
    return np.full(case.n_removed, case.inside.mean() / case.kept[0])


def deflection(case: Case) -> Floats:
    """Weigh each direction as makes the energy of a stranger stand out best: by signal over noise squared."""
    inside, apart = case.kept
    weight = (case.apart / apart) / np.maximum(case.inside / inside, 1e-300) ** 2
    return np.maximum(1 / np.maximum(weight, 1e-300) - 1, 0.0)


def between_both(case: Case) -> Floats:
    """Stand between level and squared."""
    return (case.inside / case.kept[0]) ** 1.5


def squared(case: Case) -> Floats:
    """As deflection, a stranger being as likely in any direction."""
    return (case.inside / case.kept[0]) ** 2


def held_out(case: Case, power: int, signals: bool = False) -> Floats:
    """Find patterns in one half of the sets, and see in the other how they vary there, and tell these sets apart."""
    noise, signal = [], []
    for here, there in (case.halves, case.halves[::-1]):
        n = case.n_removed
        found = Spectrum.of(here, cushion=case.spectrum.cushion, absolute=True)
        basis = np.linalg.qr(found.patterns[:, :n])[0]
        n_kept = there.n_features - n
        for matrix, values, granted in (
            (there.within, noise, 0.0),
            (_clean_between(there), signal, case.spectrum.cushion),
        ):
            removed = float((basis * (matrix @ basis)).sum())
            kept = max(float(np.trace(matrix)) - removed, 0.0) / n_kept
            values.append((max(removed, 0.0) / n + granted) / (kept + granted))
    ratio = np.mean(noise) ** power / (np.mean(signal) if signals else 1.0)
    return np.full(case.n_removed, max(ratio - 1, 0.0))


RULES: Mapping[str, Callable[[Case], Floats] | None] = {
    "nothing": lambda case: np.zeros(case.n_removed),
    "hard": None,
    "hard, features": partial(fixed, strength=1e12),
    **{f"γ = {strength:g}": partial(fixed, strength=strength) for strength in (1.0, 10.0, 100.0, 1000.0)},
    "level": level,
    "one level": one_level,
    "power 1.5": between_both,
    "squared": squared,
    "deflection": deflection,
    "automatic": lambda case: strengths(case.spectrum, case.n_removed),
    "held-out level": partial(held_out, power=1),
    "held-out squared": partial(held_out, power=2),
    "held-out deflection": partial(held_out, power=2, signals=True),
}


def _clean_between(moments: Moments) -> Floats:
    """What tells sets apart, without the wandering of their means (each set the same size, nearly)."""
    return moments.between - moments.within / float(np.mean(moments.counts))


def few_sets(trial: Trial, n_sets: int) -> Trial:
    """Let only the first so many sets of a trial teach."""
    halves = []
    for number, half in enumerate(trial.halves):
        names = half.names[(n_sets + 1 - number) // 2 :]
        for name in names:
            half = half.without(name)
        halves.append(half)
    return replace(trial, task=f"{trial.task}, {n_sets} sets", halves=(halves[0], halves[1]))


def measure(trial: Trial, settings: Mapping[str, object], rules: Collection[str]) -> Iterator[dict[str, object]]:
    """Let every rule choose, and every detector look at what is left."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus(**settings).fit_moments(trial.moments)
    case = Case(focus.spectrum_, focus.n_removed_, trial.halves)
    if case.n_removed == 0:
        print(trial.task, trial.seed, "nothing goes")
        return
    for rule in rules:
        choose = RULES[rule]
        chosen = None
        if choose is None:
            change = Projection.of(case.spectrum, case.n_removed)
        else:
            chosen = choose(case)
            change = SoftFilter.of(case.spectrum.patterns[:, : case.n_removed], chosen)
        learned = Learned(change, case.n_removed)
        for detector in DETECTORS:
            found = [scored(detector, mapped(test, learned), trial.n_neighbors) for test in trial.tests]
            values = [quality(one, test.truth, k=1) for one, test in zip(found, trial.tests, strict=True)]
            yield {
                "data": trial.data,
                "task": trial.task,
                "seed": trial.seed,
                "rule": rule,
                "detector": detector,
                "n_removed": case.n_removed,
                "strength": np.nan if chosen is None else float(np.median(chosen)),
                "average_precision": float(np.mean([one.average_precision for one in values])),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, default=Path("out/strength_study.csv"))
    parser.add_argument("--data", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--part", default="choose", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--few", type=int, nargs="*", default=[])
    parser.add_argument("--cutoff", type=float)
    parser.add_argument("--n-remove", type=int)
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES), metavar="RULE")
    parser.add_argument("--table", action="store_true", help="do not run, only print the table")
    wanted = parser.parse_args()
    given = {"cutoff": wanted.cutoff, "n_remove": wanted.n_remove}
    settings = {name: value for name, value in given.items() if value is not None}
    wanted.save.parent.mkdir(parents=True, exist_ok=True)
    for data in wanted.data:
        for trial in trials(data, wanted.part, wanted.seeds):
            for one in [few_sets(trial, n) for n in wanted.few] or [trial]:
                found = pd.DataFrame(measure(one, settings, wanted.rules))
                if len(found):
                    found.to_csv(wanted.save, mode="a", header=not wanted.save.exists(), index=False)


if __name__ == "__main__":
    main()
