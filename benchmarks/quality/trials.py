"""The trials: real data in which something distracts, and something strange hides.

    digits        drawn light on scanned digits, which come with scikit-learn
    silhouettes   drawn light of known strength on outlines; characters and other outlines are the groups
    Yale          faces under real light; people are the groups, one unseen person is the test
    COIL          objects on a turntable, where the distractor is not linear: a control
    MVTec         network features of products, one product left out
    Ped           surveillance clips, as network features of frames and as local cells
    SMD, SKAB     metrics of servers and of a pump, one machine or experiment left out

A detector is fitted on the test's own rows if the test has no normal rows (`known` is None), else on known normal rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from undistract import Moments
from undistract.datasets import make_illuminated_digits
from undistract.datasets.illumination import add_illumination
from undistract.datasets.silhouettes import SILHOUETTES, load_images, make_illuminated_silhouettes

Rows = NDArray[Any]
Flags = NDArray[np.bool_]
Ints = NDArray[np.intp]

DATA = Path(os.environ.get("UNDISTRACT_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
PARTS = ("choose", "report")


@dataclass(frozen=True, eq=False)
class Test:
    """Rows to be scored, the truth about them, and what a detector may know."""

    rows: Rows
    truth: Flags  # one per unit
    clean: Rows | None = None  # the rows of an oracle that sees no distractor
    known: Rows | None = None  # normal rows to fit on; None: the test's own
    unit: Ints | None = None  # which frame a cell belongs to; a frame is as strange as its strangest cell


@dataclass(frozen=True, eq=False)
class Trial:
    """One group of training moments, and the tests that it serves."""

    data: str
    task: str
    part: str
    seed: int
    halves: tuple[Moments, Moments]  # of the training groups, every other one
    tests: tuple[Test, ...]
    n_neighbors: int = 10
    gradients: Rows | None = None  # (k, d) the true distracting directions, where they are known

    @property
    def moments(self) -> Moments:
        """Moments of all training groups."""
        return _joined(self.halves)


def trials(data: str, part: str, n_seeds: int = 5) -> Iterator[Trial]:
    """Give the trials of a data set: those on which settings are chosen, or those that are reported."""
    yield from DATA_SETS[data](part, n_seeds)


@cache
def _load(path: str) -> dict[str, Rows]:
    with np.load(DATA / path, allow_pickle=False) as file:
        return dict(file)


def _seeds(part: str, n_seeds: int) -> range:
    return range(n_seeds) if part == "report" else range(100, 100 + n_seeds)


@lru_cache(maxsize=2)
def _joined(halves: tuple[Moments, Moments]) -> Moments:
    return halves[0] + halves[1]


def _halves(groups: Mapping[Any, Rows]) -> tuple[Moments, Moments]:
    named = list(groups.items())
    return Moments.of(named[::2]), Moments.of(named[1::2])


# Light on silhouettes. The two parts share no class of the test; none of them is in training.
AMPLITUDES = (0.15, 0.25, 0.5, 1.0)
SHARES = {"rare": 0.1, "common": 0.5}
PAIRS = {"report": ((2, 91), (5, 54)), "choose": ((95, 43), (56, 82))}
N_HIDDEN = 20
DIGITS = {"report": ((5, 4), (9, 0)), "choose": ((0, 6), (1, 7), (3, 5))}


def silhouettes(part: str, n_seeds: int) -> Iterator[Trial]:
    """Give outlines of one kind with a few of another, under light: the paper's experiment and others like it."""
    outlines = load_images(SILHOUETTES, DATA)
    # Faces 3 shows nearly the same outlines as Faces 2, so it is left out too.
    first, second, *others = sorted({3, *(label for pairs in PAIRS.values() for pair in pairs for label in pair)})
    for seed in _seeds(part, n_seeds):
        for amplitude in AMPLITUDES:
            lights = make_illuminated_silhouettes(
                data=DATA, normal=first, odd=second, leave_out=others, amplitude=amplitude, seed=seed
            )
            halves = _halves({one.name: one.rows for one in lights.training})
            rng = np.random.default_rng([seed, int(100 * amplitude)])
            for (normal, odd), (often, share) in product(PAIRS[part], SHARES.items()):
                hidden = rng.choice(outlines.of(odd), N_HIDDEN, replace=False)
                images = np.concatenate([outlines.of(normal), hidden])
                truth = np.repeat([False, True], [len(images) - N_HIDDEN, N_HIDDEN])
                rows, _ = add_illumination(images, share, amplitude, rng)
                test = Test(rows, truth, clean=images.reshape(len(images), -1))
                task = f"silhouettes {amplitude:g} {often}, {odd} in {normal}"
                yield Trial("silhouettes", task, part, seed, halves, (test,), gradients=lights.gradients)


# Groups that are taken whole: some teach, each of the others is a test with a few strangers hidden in it.
N_STRANGE = 5


def digits(part: str, n_seeds: int) -> Iterator[Trial]:
    """Give one scanned digit with a few of another, under light: as silhouettes, with as many groups as pixels."""
    for seed, (normal, odd), amplitude in product(_seeds(part, n_seeds), DIGITS[part], AMPLITUDES):
        lights = make_illuminated_digits(normal=normal, odd=odd, amplitude=amplitude, seed=seed)
        halves = _halves({one.name: one.rows for one in lights.training})
        test = Test(lights.test, lights.is_anomaly, clean=lights.clean)
        yield Trial(
            "digits",
            f"digits {amplitude:g}, {odd} in {normal}",
            part,
            seed,
            halves,
            (test,),
            gradients=lights.gradients,
        )


def yale(part: str, n_seeds: int) -> Iterator[Trial]:
    """Give 28 people under 64 lights to learn from, 10 others to test on."""
    faces = _load("yale_faces/extended_yale_b_48x42.npz")
    images = faces["images"] / np.float32(255)
    seeds = _seeds(part, 4 * n_seeds if part == "report" else n_seeds)
    yield from _unseen("Yale", part, seeds, images, faces["subject"], 28)


def coil(part: str, n_seeds: int) -> Iterator[Trial]:
    """Give 14 objects in 72 poses to learn from, 6 others to test on."""
    objects = _load("coil20/coil20_32x32.npz")
    images = objects["images"] / np.float32(255)
    yield from _unseen("COIL", part, _seeds(part, 2 * n_seeds), images, objects["object"], 14)


def _unseen(data: str, part: str, seeds: range, images: Rows, owner: Rows, n_training: int) -> Iterator[Trial]:
    for seed in seeds:
        rng = np.random.default_rng(seed)
        owners = rng.permutation(np.unique(owner))
        rows = images.reshape(len(images), -1)
        halves = _halves({one: rows[owner == one] for one in owners[:n_training]})
        strange = {"person" if data == "Yale" else "object": _others, "patch": _patched}
        for kind, make in strange.items():
            tests = []
            for one in owners[n_training:]:
                own = images[owner == one]
                others = images[np.isin(owner, owners[n_training:]) & (owner != one)]
                odd = make(own, others, rng)
                test = np.concatenate([own, odd]).reshape(len(own) + len(odd), -1)
                tests.append(Test(test, np.repeat([False, True], [len(own), len(odd)])))
            yield Trial(data, f"{data} {kind}", part, seed, halves, tuple(tests), n_neighbors=5)


def _others(own: Rows, others: Rows, rng: np.random.Generator) -> Rows:
    return rng.choice(others, N_STRANGE, replace=False)


def _patched(own: Rows, others: Rows, rng: np.random.Generator) -> Rows:
    """Set an 8 × 8 patch at a random place to the image's own maximum: something that no group ever showed."""
    odd = rng.choice(own, N_STRANGE, replace=False)
    for image in odd:
        top, left = (rng.integers(0, side - 8 + 1) for side in image.shape)
        image[top : top + 8, left : left + 8] = image.max()
    return odd


def mvtec(part: str, n_seeds: int) -> Iterator[Trial]:
    """Leave one product out: half of its good ones are known, the others and the broken ones are the test."""
    file = _load("mvtec_features/mvtec_resnet18_512.npz")
    names = [key[:-2] for key in file if key.endswith("_X")]
    X = {name: file[f"{name}_X"].astype(np.float64) for name in names}
    broken = {name: file[f"{name}_y"] == 1 for name in names}
    for name in names[PARTS.index(part) :: 2]:
        halves = _halves({other: X[other][~broken[other]] for other in names if other != name})
        tests = []
        for seed in range(n_seeds):
            good = np.random.default_rng(seed).permutation(np.flatnonzero(~broken[name]))
            known, new = np.array_split(good, 2)
            rows = np.concatenate([new, np.flatnonzero(broken[name])])
            tests.append(Test(X[name][rows], broken[name][rows], known=X[name][known]))
        yield Trial("MVTec", f"MVTec {name}", part, 0, halves, tuple(tests))


def ped(part: str, n_seeds: int) -> Iterator[Trial]:
    """Use normal clips for training and as known rows; test clips are mixed with held-out normal clips."""
    for camera, stride in (("ped1", 4), ("ped2", 2)):
        file = _load(f"ucsd_ped/{camera}_effnetlite0_avg1280_stride{stride}.npz")
        frames = _load(f"ucsd_ped/{camera}_60x40.npz")
        features: dict[str, Callable[[str], tuple[Rows, Ints, Ints]]] = {
            "frames": partial(_frames, file),
            "cells": partial(_cells, frames, 3 if camera == "ped1" else 1),
        }
        for name, make in features.items():
            yield from _clips(
                f"{camera.title()} {name}", part, n_seeds, make, frames["test_label"], frames["test_clip"]
            )


def _frames(file: dict[str, Rows], when: str) -> tuple[Rows, Ints, Ints]:
    return (
        file[f"{when}_embedding"].astype(np.float32),
        file[f"{when}_clip"].astype(int),
        file[f"{when}_frame"].astype(int),
    )


CELL, DEPTH = 10, 5  # pixels and frames, as in Lu, Shi and Jia (2013)


def _cells(file: dict[str, Rows], every: int, when: str) -> tuple[Rows, Ints, Ints]:
    """Cut clips into cubes of 10 × 10 pixels and 5 frames, and take how much each pixel changes; (cells, 500).

    Only each `every`-th cube in time is used, to save hours.
    """
    rows, clips, starts = [], [], []
    clip = file[f"{when}_clip"]
    for one in np.unique(clip):
        film = file[f"{when}_frames"][clip == one].astype(np.float32) / 255
        change = np.abs(np.diff(film, axis=0, append=film[-1:]))
        n = len(change) // DEPTH
        high, wide = change.shape[1] // CELL, change.shape[2] // CELL
        cubes = change[: n * DEPTH].reshape(n, DEPTH, high, CELL, wide, CELL).transpose(0, 2, 4, 1, 3, 5)[::every]
        rows.append(cubes.reshape(len(cubes) * high * wide, -1))
        clips.append(np.full(len(rows[-1]), one))
        starts.append(np.repeat(np.arange(n)[::every] * DEPTH, high * wide))
    return np.concatenate(rows), np.concatenate(clips).astype(int), np.concatenate(starts)


N_KNOWN = 1500


def _clips(
    task: str,
    part: str,
    n_seeds: int,
    make: Callable[[str], tuple[Rows, Ints, Ints]],
    label: Rows,
    label_clip: Rows,
) -> Iterator[Trial]:
    calm, calm_clip, calm_frame = make("train")
    new, new_clip, new_frame = make("test")
    chosen = np.unique(new_clip)[PARTS.index(part) :: 2]  # the parts share no test clip
    cells = task.endswith("cells")
    for seed in _seeds(part, n_seeds):
        rng = np.random.default_rng(seed)
        clips = rng.permutation(np.unique(calm_clip))
        held_out, teaching = clips[: len(clips) // 4], clips[len(clips) // 4 :]
        halves = _halves({one: calm[calm_clip == one] for one in teaching})
        known = np.flatnonzero(np.isin(calm_clip, teaching))
        known = rng.choice(known, min(N_KNOWN, len(known)), replace=False)
        a, b = np.isin(new_clip, chosen), np.isin(calm_clip, held_out)
        rows = np.concatenate([new[a], calm[b]])
        strange = [label[label_clip == clip][frame] > 0 for clip, frame in zip(new_clip[a], new_frame[a], strict=True)]
        truth = np.concatenate([strange, np.zeros(b.sum(), dtype=bool)])
        unit = None
        if cells:
            keys = np.concatenate([1e6 * new_clip[a] + new_frame[a], 1e9 + 1e6 * calm_clip[b] + calm_frame[b]])
            _, first, unit = np.unique(keys, return_index=True, return_inverse=True)
            truth = truth[first]
        yield Trial("Ped", task, part, seed, halves, (Test(rows, truth, known=calm[known], unit=unit),))


def smd(part: str, n_seeds: int) -> Iterator[Trial]:
    """Leave one server out: its own calm weeks are known, its later weeks are the test; every half hour."""
    files = [_load(f"smd/smd_group{group}.npz") for group in (1, 2, 3)]
    machines = {
        key.removesuffix("_train"): (
            file[key],
            file[key.replace("train", "test")],
            file[key.replace("train", "test_label")],
        )
        for file in files
        for key in file
        if key.endswith("_train")
    }
    for shape, window in (("rows", 1), ("windows", 10)):
        calm = {name: _windows(train, window) for name, (train, _, _) in machines.items()}
        for name in list(machines)[PARTS.index(part) :: 2]:
            _, later, label = machines[name]
            halves = _halves({other: rows for other, rows in calm.items() if other != name})
            strange = _windows(label[:, None], window).max(axis=1) > 0
            test = Test(_windows(later, window), strange, known=calm[name])
            yield Trial("SMD", f"SMD {shape}", part, int(list(machines).index(name)), halves, (test,))


def _windows(X: Rows, window: int) -> Rows:
    """Take the first minutes of every half hour as one row."""
    n = len(X) // 30
    return X[: n * 30].reshape(n, 30, -1)[:, :window].reshape(n, -1)


def skab(part: str, n_seeds: int) -> Iterator[Trial]:
    """Leave one experiment out: its first 400 seconds are known; groups are the calm beginnings of the others."""
    file = _load("skab/skab.npz")
    names = [key[:-2] for key in file if key.endswith("_x") and key != "anomaly-free-anomaly-free_x"]
    begin = {name: file[f"{name}_x"][: min(400, int(np.argmax(file[f"{name}_anomaly"] > 0)))] for name in names}
    scale = np.mean([one.std(axis=0) for one in begin.values()], axis=0)  # sensors have units of their own
    for seed, name in enumerate(names[PARTS.index(part) :: 2]):
        halves = _halves({other: begin[other] / scale for other in names if other != name})
        n = len(begin[name])
        test = Test(file[f"{name}_x"][n:] / scale, file[f"{name}_anomaly"][n:] > 0, known=begin[name] / scale)
        yield Trial("SKAB", "SKAB", part, seed, halves, (test,))


DATA_SETS: dict[str, Callable[[str, int], Iterator[Trial]]] = {
    "digits": digits,
    "silhouettes": silhouettes,
    "Yale": yale,
    "COIL": coil,
    "MVTec": mvtec,
    "Ped": ped,
    "SMD": smd,
    "SKAB": skab,
}
