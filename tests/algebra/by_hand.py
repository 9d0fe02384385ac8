"""Spectra whose every number is known by hand: features that do not mix."""

import numpy as np

from undistract import Spectrum
from undistract.algebra import Evidence


def spectrum_of(within, between, *, cushion=0.0, n_sets=200, n_rows=20_000, origin=None, **fields):
    """Give the spectrum of features with these variances inside sets and between them, the most distracting first.

    λ = within / (within + between + ε), and filter and pattern of a feature lie along it, √(total + ε) apart.
    """
    within, between = np.array(within, dtype=float), np.array(between, dtype=float)
    metric = within + between + cushion
    distraction = within / metric
    order = np.argsort(-distraction, kind="stable")
    axes = np.eye(len(within))[:, order]
    roots = np.sqrt(metric[order])
    values = {
        "distraction": distraction[order],
        "debiased": (within / (within + between))[order],
        "filters": axes / roots,
        "patterns": axes * roots,
        "origin": np.zeros(len(within)) if origin is None else np.array(origin, dtype=float),
        "cushion": cushion,
        "n_moving": int((within > 0).sum()),
        "unevenness": np.zeros(len(within)),
        "evidence": Evidence(n_sets, n_rows, len(within), pure_distractor=1 - n_sets / n_rows),
    }
    return Spectrum(**{**values, **fields})
