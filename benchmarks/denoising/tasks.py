"""The tasks: training groups, and rows of new contexts, disturbed and clean.

    silhouettes .25, .5, 1     960 groups of characters and outlines, half of the images lit; Faces 2 and sunflowers
    EMNIST                     52 letters teach, digits are cleaned; light (.5) on every image
    hum                        30 machines of 8 sensors are idle; another one moves, under the same hum and warmth

Training never sees a clean version of anything. Faces 3 are nearly Faces 2, so they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.trials import DATA
from undistract import Moments
from undistract._arrays import Rows
from undistract.datasets import make_illuminated_silhouettes
from undistract.datasets.illumination import add_illumination
from undistract.datasets.silhouettes import CHARACTERS, load_images

AMPLITUDES = (0.25, 0.5, 1.0)
PER_CLASS, N_DIGITS = 100, 10


@dataclass(frozen=True, eq=False)
class Task:
    """What teaches, and what is to be cleaned."""

    name: str
    seed: int
    moments: Moments
    rows: Rows  # (n, d)
    clean: Rows  # (n, d)
    is_disturbed: NDArray[np.bool_]  # (n,)
    side: int | None = None  # of square images
    peak: float = 1.0


def tasks(seed: int) -> Iterator[Task]:
    """Give all tasks of one seed."""
    for amplitude in AMPLITUDES:
        yield silhouettes(seed, amplitude)
    yield characters(seed)
    yield hum(seed)


def silhouettes(seed: int, amplitude: float) -> Task:
    """Give outlines, half of them under light."""
    drawn = make_illuminated_silhouettes(data=DATA, leave_out=["Faces 3"], amplitude=amplitude, seed=seed)
    name = f"silhouettes {amplitude:g}".replace("0.", ".")
    return Task(name, seed, Moments.of(drawn.training), drawn.test, drawn.clean, drawn.is_lit, side=28)


def characters(seed: int, amplitude: float = 0.5) -> Task:
    """Give letters and digits, all under light."""
    scans = load_images(CHARACTERS, DATA)
    rng = np.random.default_rng(seed)
    some = [rng.permutation(scans.of(label))[:PER_CLASS] for label in range(len(scans.class_names))]
    letters = {
        scans.name(N_DIGITS + n): add_illumination(one, 1.0, amplitude, rng)[0] for n, one in enumerate(some[N_DIGITS:])
    }
    digits = np.concatenate(some[:N_DIGITS])
    rows, is_lit = add_illumination(digits, 1.0, amplitude, rng)
    return Task("EMNIST", seed, Moments.of(letters), rows, digits.reshape(len(digits), -1), is_lit, side=28)


def hum(seed: int) -> Task:
    """Give a machine that moves: a step, a ramp, a knock; hum and warmth reach its sensors by the wires of the hall."""
    rng = np.random.default_rng(seed)
    wires = rng.normal(size=(2, 8))
    still = {number: _state(rng) + _disturbance(400, wires, rng) for number in range(30)}
    time = np.arange(300)
    shapes = np.stack([time > 90, np.clip((time - 150) / 80, 0, 1), np.exp(-(((time - 220) / 2.5) ** 2))], axis=1)
    clean = _state(rng) + shapes @ rng.normal(scale=1.2, size=(3, 8))
    rows = clean + _disturbance(300, wires, rng)
    return Task("hum", seed, Moments.of(still), rows, clean, np.ones(300, bool), peak=float(np.ptp(clean)))


def _state(rng: np.random.Generator) -> Rows:
    return rng.normal(scale=0.6, size=8)


def _disturbance(n_rows: int, wires: Rows, rng: np.random.Generator) -> Rows:
    time = np.arange(n_rows)
    swell = 1 + 0.3 * np.sin(time / 40)
    mains = 3 * np.sin(2 * np.pi * time / 9.7 + rng.uniform(0, 7)) * swell
    warmth = 3 * np.sin(2 * np.pi * time / 260 + rng.uniform(0, 7))
    noise = rng.normal(scale=0.05, size=(n_rows, wires.shape[1]))
    together: Rows = np.stack([mains, warmth], axis=1) @ wires + noise
    return together
