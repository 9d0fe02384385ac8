"""Rows on rings: where on its ring a row lies distracts, and no straight direction follows that."""

import numpy as np


def on_rings(radius, rng):
    angle = rng.uniform(0, 2 * np.pi, len(radius))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.normal(scale=0.05, size=len(radius))])


def thirty_rings(n_rows):
    """Thirty sets, each on a ring of its own radius: rows, and which set each belongs to."""
    rng = np.random.default_rng(0)
    sets = np.repeat(np.arange(30), n_rows)
    return on_rings(rng.uniform(1, 3, 30)[sets], rng), sets


def separation(usual, other):
    """How far groups lie apart, in units of the first one's spread."""
    return np.linalg.norm(other.mean(axis=0) - usual.mean(axis=0)) / np.linalg.norm(usual.std(axis=0))
