"""Spectra whose every number is known by hand: features that do not mix."""

from dataclasses import replace

import numpy as np

from undistract import Spectrum
from undistract.algebra import Evidence
from undistract.algebra.directions import Known


def spectrum_of(within, between, *, cushion=0.0, n_sets=200, n_rows=20_000, origin=None, unevenness=None, **fields):
    """Give the spectrum of features with these variances inside sets and between them, the most distracting first.

    λ = within / (within + between + ε), and filter and pattern of a feature lie along it, √(total + ε) apart.
    """
    within, between = np.array(within, dtype=float), np.array(between, dtype=float)
    total = within + between
    varying = np.flatnonzero(total > 0)  # the others need no vectors
    order = varying[np.argsort(-within[varying] / (total[varying] + cushion), kind="stable")]
    axes, roots = np.eye(len(within))[:, order], np.sqrt(total[order] + cushion)
    values = {
        "distraction": within[order] / roots**2,
        "debiased": within[order] / total[order],
        "directions": Known(axes / roots, axes * roots, np.zeros(len(order)) if unevenness is None else unevenness),
        "origin": np.zeros(len(within)) if origin is None else np.array(origin, dtype=float),
        "cushion": cushion,
        "n_moving": int((within > 0).sum()),
        "evidence": Evidence(n_sets, n_rows, len(order), pure_distractor=1 - n_sets / n_rows),
    }
    return Spectrum(**{**values, **fields})


def first_of(spectrum, number, **fields):
    """Give the spectrum in which only the first directions are known."""
    known = {name: getattr(spectrum, name)[:number] for name in ("distraction", "debiased")}
    return replace(spectrum, **known, directions=spectrum.directions.first(number), **fields)
