"""The automatic strength of the soft removal: which rule loses nothing where the hard one is right, and where it wins.

Every rule reads the training groups alone: no label, no anomaly, nothing of the test. All of them shrink the patterns
that `Focus` removes by itself; they differ in how much. They are compared on the trials for choosing of
`benchmarks.quality.trials`. The chosen rule is then measured on reported trials with few of their groups and a
forced cut-off.

    python -m benchmarks.strength_study
    python -m benchmarks.strength_study --part report --few 3 10 --cutoff 0.95 --rules nothing hard automatic

What the file already holds is not run again. `python -m benchmarks.soft_page` makes the tables of docs/soft.md of it.
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

from benchmarks.quality.methods import Learned
from benchmarks.quality.run import mapped, scored
from benchmarks.quality.trials import DATA_SETS, PARTS, Trial, trials
from undistract import Focus, Moments, Spectrum
from undistract._arrays import Floats
from undistract.algebra import Projection
from undistract.algebra.shrinkage import ShrinkageFilter, strengths
from undistract.detect import quality
from undistract.errors import EvidenceWarning, InputError

DETECTORS = ("kNN", "LOF", "isolation forest")
SAVED = Path(__file__).parent / "results" / "strength_study.csv"
STEP = ["task", "part", "seed", "n_groups", "forced", "rule"]  # what is run, and skipped, as one


@dataclass(frozen=True)
class Case:
    """What a rule may read: the spectrum, how many directions go, and both halves of the groups."""

    spectrum: Spectrum
    n_removed: int
    halves: tuple[Moments, Moments]

    @property
    def inside(self) -> Floats:
        """Variation inside groups that each removed pattern carries, (r,); within = Σ λ a aᵀ."""
        n = self.n_removed
        return self.spectrum.distraction[:n] * (self.spectrum.patterns[:, :n] ** 2).sum(axis=0)

    @property
    def apart(self) -> Floats:
        """What is granted to the difference of groups along each removed pattern, de-biased, (r,)."""
        n = self.n_removed
        clean = self.spectrum.debiased[:n]
        length = (self.spectrum.patterns[:, :n] ** 2).sum(axis=0)
        ridge = self.spectrum.ridge * (self.spectrum.filters[:, :n] ** 2).sum(axis=0)
        return length * ridge + self.inside * (1 - clean) / clean

    @property
    def kept(self) -> tuple[float, float]:
        """Mean over what is kept: variance within groups, and between groups plus the ridge."""
        spectrum = self.spectrum
        assert spectrum.variances is not None
        n_kept = spectrum.n_features - self.n_removed
        inside = (spectrum.variances.within - self.inside.sum()) / n_kept
        apart = (spectrum.variances.total - spectrum.variances.within) / n_kept + spectrum.ridge
        return max(inside, 1e-300), max(apart, 1e-300)


def fixed(case: Case, strength: float) -> Floats:
    """Take the same strength everywhere, times the distraction."""
    return strength * case.spectrum.distraction[: case.n_removed]


def level(case: Case) -> Floats:
    """Shrink until what is left varies inside groups as much as a kept direction does."""
    return case.inside / case.kept[0]


def deflection(case: Case) -> Floats:
    """Weight each direction so that the energy of an anomaly is most distinct: by signal over noise squared."""
    inside, apart = case.kept
    weight = (case.apart / apart) / np.maximum(case.inside / inside, 1e-300) ** 2
    return np.maximum(1 / np.maximum(weight, 1e-300) - 1, 0.0)


def squared(case: Case) -> Floats:
    """As deflection, a stranger being as likely in any direction."""
    return (case.inside / case.kept[0]) ** 2


def held_out(case: Case, power: int, signals: bool = False, again: int = 1) -> Floats:
    """Find patterns in one half of the groups, and measure in the other how they vary within and between groups."""
    noise, signal = [], []
    for here, there in (case.halves, case.halves[::-1]):
        n = case.n_removed
        found = Spectrum.of(here, ridge=case.spectrum.ridge, absolute=True)
        basis = np.linalg.qr(found.patterns[:, :n])[0]
        n_kept = there.n_features - n
        for matrix, values, granted in (
            (there.within, noise, 0.0),
            (_clean_between(there), signal, case.spectrum.ridge),
        ):
            removed = float((basis * (matrix @ basis)).sum())
            kept = max(float(np.trace(matrix)) - removed, 0.0) / n_kept
            values.append((max(removed, 0.0) / n + granted) / (kept + granted))
    ratio = np.mean(noise) ** power / (np.mean(signal) if signals else 1.0)
    return np.full(case.n_removed, max(ratio, 1.0) ** again - 1)


RULES: Mapping[str, Callable[[Case], Floats] | None] = {
    "nothing": lambda case: np.zeros(case.n_removed),
    "hard": None,
    "hard, features": partial(fixed, strength=1e12),
    **{f"γ = {strength:g}": partial(fixed, strength=strength) for strength in (1.0, 10.0, 100.0, 1000.0)},
    "level": level,
    "squared": squared,
    "deflection": deflection,
    "automatic": lambda case: strengths(case.spectrum, case.n_removed),
    "held-out level": partial(held_out, power=1),
    "held-out deflection": partial(held_out, power=2, signals=True),
    "held-out deflection, squared": partial(held_out, power=2, signals=True, again=2),
}


def _clean_between(moments: Moments) -> Floats:
    """Subtract the noise of group means from the differences between groups (of nearly equal size)."""
    return moments.between - moments.within / float(np.mean(moments.counts))


def few_groups(trial: Trial, n_groups: int) -> Trial:
    """Keep only the first groups of a trial for training."""
    halves = []
    for number, half in enumerate(trial.halves):
        for name in half.names[(n_groups + 1 - number) // 2 :]:
            half = half.without(name)
        halves.append(half)
    return replace(trial, halves=(halves[0], halves[1]))


def measure(trial: Trial, cutoff: float | None, rules: Collection[str]) -> Iterator[dict[str, object]]:
    """Let every rule choose, and every detector look at what is left; nothing where no direction goes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus(cutoff="auto" if cutoff is None else cutoff).fit_moments(trial.moments)
    case = Case(focus.spectrum_, focus.n_removed_, trial.halves)
    for rule in rules if case.n_removed else ():
        choose = RULES[rule]
        chosen = None if choose is None else choose(case)
        change = (
            Projection.of(case.spectrum, case.n_removed)
            if chosen is None
            else ShrinkageFilter.of(case.spectrum.patterns[:, : case.n_removed], chosen)
        )
        seen = [mapped(test, Learned(change, case.n_removed)) for test in trial.tests]
        for detector in DETECTORS:
            found = [scored(detector, one, trial.n_neighbors) for one in seen]
            values = [quality(one, test.truth, k=1) for one, test in zip(found, trial.tests, strict=True)]
            yield {
                "data": trial.data,
                "task": trial.task,
                "part": trial.part,
                "seed": trial.seed,
                "n_groups": trial.moments.n_groups,
                "forced": cutoff,
                "rule": rule,
                "detector": detector,
                "n_removed": case.n_removed,
                "strength": np.nan if chosen is None else round(float(np.median(chosen)), 2),
                "average_precision": round(float(np.mean([one.average_precision for one in values])), 5),
            }


def done(path: Path) -> set[tuple[object, ...]]:
    """Say which steps the file holds."""
    if not path.exists():
        return set()
    held = pd.read_csv(path)[STEP]
    return set(held.astype(object).where(held.notna(), None).itertuples(index=False, name=None))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, default=SAVED)
    parser.add_argument("--data", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--part", default="choose", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--few", type=int, nargs="*", default=[], help="number of training groups of each trial")
    parser.add_argument("--cutoff", type=float, help="forced, in place of the automatic one")
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES), metavar="RULE")
    arguments = parser.parse_args()
    arguments.save.parent.mkdir(parents=True, exist_ok=True)
    for data in arguments.data:
        for trial in trials(data, arguments.part, arguments.seeds):
            held = done(arguments.save)
            try:
                some = [few_groups(trial, n) for n in arguments.few] or [trial]
            except InputError as folded:  # sums of many rows cannot be taken apart again
                print(f"{trial.task} {trial.seed} is passed over: {folded}", flush=True)
                continue
            for one in some:
                place = (one.task, one.part, one.seed, one.moments.n_groups, arguments.cutoff)
                left = [rule for rule in arguments.rules if (*place, rule) not in held]
                found = pd.DataFrame(measure(one, arguments.cutoff, left) if left else [])
                if len(found):
                    found.to_csv(arguments.save, mode="a", header=not arguments.save.exists(), index=False)
            print(trial.task, trial.seed, flush=True)


if __name__ == "__main__":
    main()
