"""Spectra of uncorrelated features, with all numbers known by hand."""

from dataclasses import replace

import numpy as np

from undistract import Spectrum
from undistract.algebra import Evidence
from undistract.algebra.spectrum import DenseDirections


def spectrum_of(within, between, *, ridge=0.0, n_groups=200, n_rows=20_000, origin=None, heterogeneity=None, **fields):
    """Return the spectrum of features with these within-group and between-group variances, highest distraction first.

    λ = within / (within + between + ε). Filter and pattern of a feature have its direction and the lengths
    1/√(total + ε) and √(total + ε).
    """
    within, between = np.array(within, dtype=float), np.array(between, dtype=float)
    total = within + between
    varying = np.flatnonzero(total > 0)  # constant features need no vectors
    order = varying[np.argsort(-within[varying] / (total[varying] + ridge), kind="stable")]
    axes, roots = np.eye(len(within))[:, order], np.sqrt(total[order] + ridge)
    values = {
        "distraction": within[order] / roots**2,
        "debiased": within[order] / total[order],
        "directions": DenseDirections(
            axes / roots, axes * roots, np.zeros(len(order)) if heterogeneity is None else heterogeneity
        ),
        "origin": np.zeros(len(within)) if origin is None else np.array(origin, dtype=float),
        "ridge": ridge,
        "n_varying": int((within > 0).sum()),
        "evidence": Evidence(n_groups, n_rows, len(order), pure_distractor=1 - n_groups / n_rows),
    }
    return Spectrum(**{**values, **fields})


def first_of(spectrum, number, **fields):
    """Return the spectrum with only the first directions."""
    values = {name: getattr(spectrum, name)[:number] for name in ("distraction", "debiased")}
    return replace(spectrum, **values, directions=spectrum.directions.first(number), **fields)
