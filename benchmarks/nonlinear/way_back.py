"""Write into docs/kernel.md how near images come to an even exposure when the nuisance is removed.

python -m benchmarks.nonlinear.way_back
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from benchmarks.nonlinear.page import PAGE
from benchmarks.quality.table import markdown
from benchmarks.quality.trials import Rows
from paper.common import replace
from undistract import EvidenceWarning, Focus, KernelFocus

N_KNOWN, N_EXPOSURES, N_NEW = 60, 12, 100
SEEDS = range(5)
SETTINGS = {
    "linear, cutoff=0.8": Focus(cutoff=0.8),
    "kernel, default": KernelFocus(),
    "kernel, ridge=0.1, cutoff=0.95": KernelFocus(ridge=0.1, cutoff=0.95),
    "the same, Nyström": KernelFocus(ridge=0.1, cutoff=0.95, approx="nystroem", random_state=0),
}


def exposed(images: Rows, rng: np.random.Generator) -> Rows:
    """Change the gamma and the contrast of every image."""
    gamma, contrast = 2 ** rng.normal(size=(len(images), 1)), rng.uniform(0.4, 1.0, size=(len(images), 1))
    return contrast * images**gamma


def decibels(found: Rows, wanted: Rows) -> float:
    """Peak signal-to-noise ratio, for grey values from 0 to 1."""
    return float(-10 * np.log10(((found - wanted) ** 2).mean()))


def measured(seed: int) -> pd.DataFrame:
    """Learn from some digits under many exposures, and clean others."""
    rng = np.random.default_rng(seed)
    images = rng.permutation(load_digits().data / 16)
    rows, groups = (
        exposed(np.repeat(images[:N_KNOWN], N_EXPOSURES, axis=0), rng),
        np.repeat(range(N_KNOWN), N_EXPOSURES),
    )
    new = images[N_KNOWN : N_KNOWN + N_NEW]
    given, wanted = exposed(new, rng), np.mean([exposed(new, rng) for _ in range(200)], axis=0)
    found = [("as given", "", decibels(given, wanted))]
    for name, estimator in SETTINGS.items():
        focus = estimator.fit(rows, groups=groups)
        found += [
            (name, "denoise", decibels(focus.denoise(given), wanted)),
            (name, "inverse_transform", decibels(focus.inverse_transform(focus.transform(given)), wanted)),
        ]
    return pd.DataFrame(found, columns=["rows", "by", "dB"]).assign(seed=seed)


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        found = pd.concat([measured(seed) for seed in SEEDS])
    means = found.groupby(["rows", "by"], sort=False).dB.agg(["mean", "min", "max"])
    cells = [f"{mean:.1f} ({low:.1f} to {high:.1f})" for mean, low, high in means.itertuples(index=False)]
    table = pd.DataFrame({f"dB, mean of {len(SEEDS)} seeds (least to most)": cells}, index=means.index)
    replace(PAGE, r"(<!-- way back -->\n).*?(\n<!-- end of way back -->)", markdown(table))


if __name__ == "__main__":
    main()
