"""Rows on rings: the angle is the nuisance, and no straight direction describes it."""

import numpy as np


def on_rings(radius, rng):
    angle = rng.uniform(0, 2 * np.pi, len(radius))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.normal(scale=0.05, size=len(radius))])


def thirty_rings(n_rows):
    """Return rows of thirty groups, each on a ring with its own radius, and the group of each row."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), n_rows)
    return on_rings(rng.uniform(1, 3, 30)[groups], rng), groups


def separation(usual, other):
    """Return the distance of two groups of rows, in units of the standard deviation of the first."""
    return np.linalg.norm(other.mean(axis=0) - usual.mean(axis=0)) / np.linalg.norm(usual.std(axis=0))
