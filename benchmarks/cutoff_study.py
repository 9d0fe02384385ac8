"""The automatic cut-off: which rule does good where something distracts, and no harm where nothing does.

Every rule reads the training groups alone: no label, no anomaly, nothing of the test. They are compared on the trials
for choosing of `benchmarks.quality.trials`; the reported ones are never looked at. A cell of the table is the mean
change of average precision against no removal, over the trials of a data set.

    python -m benchmarks.cutoff_study --save out/cutoff_study.csv        (about an hour on one core)
    python -m benchmarks.cutoff_study --save out/cutoff_study.csv --table
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.quality.methods import Learned
from benchmarks.quality.run import mapped, scored
from benchmarks.quality.table import markdown
from benchmarks.quality.trials import DATA_SETS, Trial, trials
from undistract import Focus, Moments, Spectrum
from undistract._arrays import Floats
from undistract.algebra import Projection
from undistract.detect import quality
from undistract.errors import EvidenceWarning

DETECTORS = ("kNN", "LOF", "isolation forest")
Choice = tuple[Spectrum, int]  # and how many directions go


def fixed(trial: Trial, ridge: float, cutoff: float) -> Choice:
    """Remove what reads at least a fixed value."""
    spectrum = _spectrum(trial.moments, ridge)
    return spectrum, int((spectrum.distraction >= cutoff).sum())


def debiased(trial: Trial) -> Choice:
    """Remove what would read .9 with endless rows, no matter how little it varies."""
    spectrum = _spectrum(trial.moments, 0.1)
    return spectrum, _leading(spectrum.debiased >= 0.9)


def permuted(trial: Trial) -> Choice:
    """Remove directions that separate groups no better than permuted labels would, three standard deviations granted.

    Permuted group means differ by 1/n_m of the variance, an estimate on M - 1 degrees of freedom.
    """
    spectrum = _spectrum(trial.moments, 0.1)
    evidence = spectrum.evidence
    chance = (1 / evidence.pure_distractor - 1) * (1 + 3 * np.sqrt(2 / (evidence.n_groups - 1)))
    return spectrum, _leading(_apart(spectrum, trial.moments) <= chance)


def gap(trial: Trial) -> Choice:
    """Cut at the widest gap in 1 - λ, where that is at least 1.5 times and λ at least .8."""
    spectrum = _spectrum(trial.moments, 0.1)
    rest = np.maximum(1 - spectrum.distraction[: spectrum.n_varying], 1e-300)
    wide = np.where(rest[:-1] <= 0.2, rest[1:] / rest[:-1], 0.0)
    return spectrum, int(wide.argmax()) + 1 if wide.max(initial=0.0) >= 1.5 else 0


def held_out(trial: Trial) -> Choice:
    """Remove as many as still read .95 in the half of the groups that did not find them, on average of both halves."""
    spectrum = _spectrum(trial.moments, 0.1)
    counts = []
    for known, new in (trial.halves, trial.halves[::-1]):
        filters = Spectrum.of(known, ridge=spectrum.ridge, absolute=True).filters
        inside, all_of_it = (_variance(matrix, filters) for matrix in (new.within, new.total))
        counts.append(_leading(inside / (all_of_it + spectrum.ridge * (filters**2).sum(axis=0)) >= 0.95))
    return spectrum, int(np.mean(counts))


def half_of_within(trial: Trial) -> Choice:
    """Remove the most distracting directions until half of the variation inside groups is gone."""
    spectrum = _spectrum(trial.moments, 0.1)
    return spectrum, int((np.cumsum(spectrum.within_share) <= 0.5).sum())


def deflection(trial: Trial) -> Choice:
    """Remove as many as make the energy of an anomaly most distinct from that of normal rows.

    tr(P S) / √tr((P within)²), the signal S being the between-group covariance plus a tenth of the mean variance.
    """
    spectrum, moments = _spectrum(trial.moments, 0.1), trial.moments
    n_most = min(spectrum.n_varying - 1, moments.n_features // 2, 300)
    basis = np.linalg.qr(spectrum.patterns[:, :n_most])[0]
    signal = moments.between + spectrum.ridge * np.eye(moments.n_features)
    through = moments.within @ basis
    inside = basis.T @ through
    noise = [
        (moments.within**2).sum() - 2 * (through[:, :n] ** 2).sum() + (inside[:n, :n] ** 2).sum()
        for n in range(n_most + 1)
    ]
    left = np.trace(signal) - np.concatenate([[0], np.cumsum(_variance(signal, basis))])
    return spectrum, int((left / np.sqrt(np.maximum(noise, 1e-300))).argmax())


def automatic(trial: Trial) -> Choice:
    """Do what `Focus` does by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus().fit_moments(trial.moments)
    return focus.spectrum_, focus.n_removed_


RULES: Mapping[str, Callable[[Trial], Choice]] = {
    "nothing": lambda trial: (_spectrum(trial.moments, 0.1), 0),
    "λ ≥ .95, ridge .1": lambda trial: fixed(trial, 0.1, 0.95),
    "λ ≥ .9, ridge .1": lambda trial: fixed(trial, 0.1, 0.9),
    "λ ≥ .9, ridge 1": lambda trial: fixed(trial, 1.0, 0.9),
    "λ ≥ .8, ridge 1": lambda trial: fixed(trial, 1.0, 0.8),
    "de-biased λ ≥ .9": debiased,
    "permuted labels": permuted,
    "widest gap": gap,
    "held-out groups": held_out,
    "half of within": half_of_within,
    "deflection": deflection,
    "automatic": automatic,
}


def measure(trial: Trial) -> Iterator[dict[str, object]]:
    """Let every rule choose, and every detector look at what is left."""
    for rule, choose in RULES.items():
        spectrum, n_removed = choose(trial)
        n_removed = min(n_removed, trial.moments.n_features - 1)
        learned = Learned(Projection.of(spectrum, n_removed), n_removed)
        for detector in DETECTORS:
            found = [scored(detector, mapped(test, learned), trial.n_neighbors) for test in trial.tests]
            values = [quality(one, test.truth, k=1) for one, test in zip(found, trial.tests, strict=True)]
            yield {
                "data": trial.data,
                "task": trial.task,
                "seed": trial.seed,
                "rule": rule,
                "detector": detector,
                "n_removed": n_removed,
                "average_precision": float(np.mean([one.average_precision for one in values])),
            }


def table(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean change against no removal for each rule: by data set, the worst of them, and how many went."""
    place = ["data", "task", "seed", "detector"]
    wide = results.pivot_table(index=place, columns="rule", values="average_precision")
    change = wide.sub(wide["nothing"], axis=0)
    by_data = change.groupby(["data", "detector"]).mean()
    shown = by_data.groupby("data").mean().T
    shown["mean"], shown["worst"] = shown.mean(axis=1), by_data.min()
    removed = results.groupby(["rule", "data"]).n_removed.median().unstack()
    shown = shown.reindex(list(RULES)[1:])
    for data in removed.columns:
        shown[data] = [f"{change:+.3f} ({removed.loc[rule, data]:.0f})" for rule, change in shown[data].items()]
    for column in ("mean", "worst"):
        shown[column] = shown[column].map("{:+.3f}".format)
    return shown.rename_axis(columns=None)


def heterogeneity(trial: Trial) -> float:
    """Mean heterogeneity of the directions that read .95 at a ridge of .1, at least one of them."""
    spectrum = _spectrum(trial.moments, 0.1)
    return float(spectrum.heterogeneity[: max(1, int((spectrum.distraction >= 0.95).sum()))].mean())


def unevenness_table(names: list[str]) -> pd.DataFrame:
    """Give the range of heterogeneity over the trials of every data set and kind of feature."""
    n_words = {"SMD": 2, "Ped": 2}  # rows and windows, frames and cells, are different features
    rows = [
        (" ".join(trial.task.split()[: n_words.get(data, 1)]).rstrip(","), heterogeneity(trial))
        for data in names
        for trial in trials(data, "choose", 1)
    ]
    found = pd.DataFrame(rows, columns=["data", "heterogeneity"]).groupby("data", sort=False).heterogeneity
    return pd.DataFrame({"least": found.min().map("{:.3f}".format), "most": found.max().map("{:.3f}".format)})


@lru_cache(maxsize=2)
def _spectrum(moments: Moments, ridge: float) -> Spectrum:
    return Spectrum.of(moments, ridge=ridge)


def _leading(passes: np.ndarray) -> int:
    """Count the directions before the first that does not pass."""
    return int(np.argmin(passes)) if not passes.all() else len(passes)


def _variance(matrix: Floats, filters: Floats) -> Floats:
    return np.asarray((filters * (matrix @ filters)).sum(axis=0))


def _apart(spectrum: Spectrum, moments: Moments) -> Floats:
    """How far groups differ along each direction, as a multiple of what varies inside."""
    inside = np.maximum(spectrum.distraction, 1e-300)
    return _variance(moments.between, spectrum.filters) / inside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, default=Path("out/cutoff_study.csv"))
    parser.add_argument("--data", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="do not run, only print the table")
    parser.add_argument("--heterogeneity", action="store_true", help="print how unevenly groups vary, on each data set")
    wanted = parser.parse_args()
    if wanted.heterogeneity:
        print(markdown(unevenness_table(wanted.data)))
        return
    if not wanted.table:
        wanted.save.parent.mkdir(parents=True, exist_ok=True)
        for data in wanted.data:
            for trial in track(list(trials(data, "choose", wanted.seeds)), description=data):
                new = not wanted.save.exists()
                pd.DataFrame(measure(trial)).to_csv(wanted.save, mode="a", header=new, index=False)
    print(markdown(table(pd.read_csv(wanted.save))))


if __name__ == "__main__":
    main()
