"""The tasks: training groups that lack a distractor, a review and a different test that both have it.

    silhouettes   no training image is lit; a review under light; tests on other images of the same kinds, and on kinds
                  that no review showed
    digits        the same on scanned digits, with as many groups as pixels
    Yale          people under frontal light; two unseen people under all lights are reviewed, eight others the tests
    MVTec, SMD, COIL   nothing was taken out of training: a false alarm there must do no harm

A detector is fitted on the rows it scores, as in the paper. The part for choosing and the reported part share no class
of the tests, no product and no machine, and no seed; for people and objects the splits are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from benchmarks.quality import trials as quality_trials
from benchmarks.quality.trials import DATA, PAIRS, Rows, Test, Trial
from undistract import Moments
from undistract.datasets import make_illuminated_digits
from undistract.datasets.illumination import add_illumination
from undistract.datasets.silhouettes import SILHOUETTES, load_images, make_illuminated_silhouettes

FRONTAL = 25  # degrees between the light and the camera


@dataclass(frozen=True, eq=False)
class Task:
    """Training groups, rows to review, and rows to test on."""

    data: str
    task: str
    part: str
    seed: int
    moments: Moments  # of groups that lack the distractor
    review: tuple[Test, ...]
    tests: Mapping[str, tuple[Test, ...]]  # by context: "same kind", "never reviewed"
    with_distractor: Moments | None = None  # of groups that have it: what learning from groups would reach
    n_neighbors: int = 10


def tasks(data: str, part: str, n_seeds: int) -> Iterator[Task]:
    """Give the tasks of a data set, for choosing or for the report."""
    yield from DATA_SETS[data](part, range(n_seeds) if part == "report" else range(100, 100 + n_seeds))


# Kind, hidden kind: reviewed, and never reviewed. Cars and pianos are left out of training for choosing only.
REVIEWS = {
    "report": (((2, 91), (5, 54)),),
    "choose": (((20, 47), (95, 43)), ((95, 43), (56, 82)), ((56, 82), (20, 47))),
}
LIGHTS = {"report": ((0.5, 0.5), (0.5, 0.1)), "choose": ((0.5, 0.5),)}
# Whether strange images are hidden in the review, too. Without them every answer is about a false alarm.
HIDDEN = {"report": (True, False), "choose": (True,)}
N_HIDDEN = 20


def silhouettes(part: str, seeds: range) -> Iterator[Task]:
    """Give outlines under light that no training group showed."""
    outlines = load_images(SILHOUETTES, DATA)
    for seed, (reviewed, other), (amplitude, share), hidden in product(
        seeds, REVIEWS[part], LIGHTS[part], HIDDEN[part]
    ):
        rng = np.random.default_rng([seed, *reviewed, int(100 * amplitude), int(100 * share)])
        usual, strange = (_halves(outlines.of(kind), rng) for kind in reviewed)
        n_hidden = min(N_HIDDEN, len(usual[0]) // 8)
        groups = [_hide(*both, n_hidden, share, amplitude, rng) for both in zip(usual, strange, strict=True)]
        new = _hide(*(outlines.of(kind) for kind in other), N_HIDDEN, share, amplitude, rng)
        if not hidden:  # the tests stay the same
            truth = groups[0].truth
            groups[0] = Test(groups[0].rows[~truth], truth[~truth], clean=groups[0].clean[~truth])
        yield Task(
            "silhouettes",
            f"silhouettes {amplitude:g} {'rare' if share < 0.25 else 'common'}, "
            f"{reviewed[1] if hidden else 'none'} in {reviewed[0]}",
            part,
            seed,
            _outlines(part, seed, 0.0, amplitude),
            (groups[0],),
            {"same kind": (groups[1],), "never reviewed": (new,)},
            _outlines(part, seed, 0.5, amplitude) if part == "report" else None,
        )


@lru_cache(maxsize=4)
def _outlines(part: str, seed: int, lit_training: float, amplitude: float) -> Moments:
    if lit_training == 0 and amplitude != 0:
        return _outlines(part, seed, 0.0, 0.0)  # without light its amplitude does not matter
    kinds = {3, *(label for pairs in PAIRS.values() for pair in pairs for label in pair)}
    kinds |= {label for pairs in REVIEWS[part] for pair in pairs for label in pair}
    normal, odd, *others = sorted(kinds)
    groups = make_illuminated_silhouettes(
        data=DATA, normal=normal, odd=odd, leave_out=others, amplitude=amplitude, lit_training=lit_training, seed=seed
    )
    return Moments.of([(one.name, one.rows) for one in groups.training])


def _halves(images: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
    mixed = rng.permutation(images)
    return mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]


def _hide(usual: Rows, strange: Rows, n_hidden: int, share: float, amplitude: float, rng: np.random.Generator) -> Test:
    """Hide a few images of one kind among all of another, and let light fall on a share of them."""
    images = np.concatenate([usual, rng.choice(strange, n_hidden, replace=False)])
    truth = np.repeat([False, True], [len(usual), n_hidden])
    rows = add_illumination(images, share, amplitude, rng)[0].astype(np.float64)
    return Test(rows, truth, clean=images.reshape(rows.shape).astype(np.float64))


def digits(part: str, seeds: range) -> Iterator[Task]:
    """Give scanned digits under light that no training group showed."""
    for seed, (normal, odd), amplitude in product(seeds, quality_trials.DIGITS[part], (0.5, 1.0)):
        dark, light = (
            make_illuminated_digits(
                normal=normal, odd=odd, amplitude=amplitude, lit_training=share, n_hidden=16, seed=seed
            )
            for share in (0.0, 0.5)
        )
        review, test = _split(Test(dark.test, dark.is_anomaly, clean=dark.clean), seed)
        learned, oracle = (Moments.of([(one.name, one.rows) for one in some.training]) for some in (dark, light))
        name = f"digits {amplitude:g}, {odd} in {normal}"
        yield Task("digits", name, part, seed, learned, (review,), {"same kind": (test,)}, oracle)


def yale(part: str, seeds: range) -> Iterator[Task]:
    """Give people under frontal light to learn from; unseen people under all lights are reviewed, others tested."""
    faces = quality_trials._load("yale_faces/extended_yale_b_48x42.npz")
    azimuth, elevation = (np.radians(faces[name].astype(float)) for name in ("azimuth", "elevation"))
    frontal = np.degrees(np.arccos(np.cos(azimuth) * np.cos(elevation))) <= FRONTAL
    rows = faces["images"].reshape(len(frontal), -1) / 255
    for seed in seeds:
        trained = np.random.default_rng(seed).permutation(np.unique(faces["subject"]))[:28]
        learned = Moments.of([(one, rows[frontal & (faces["subject"] == one)]) for one in trained])
        # The quality benchmark's trial of the same seed trains with the same people, under every light.
        for trial in quality_trials._unseen(
            "Yale", part, range(seed, seed + 1), rows.reshape(-1, 48, 42), faces["subject"], 28
        ):
            tests = {"never reviewed": trial.tests[2:]}
            yield Task(
                "Yale", trial.task, part, seed, learned, trial.tests[:2], tests, trial.moments, trial.n_neighbors
            )


def coil(part: str, seeds: range) -> Iterator[Task]:
    """Give objects on a turntable: nothing that is linear distracts."""
    objects = quality_trials._load("coil20/coil20_32x32.npz")
    images = objects["images"] / 255
    for trial in quality_trials._unseen("COIL", part, seeds, images, objects["object"], 14):
        tests = {"never reviewed": trial.tests[2:]}
        yield Task("COIL", trial.task, part, trial.seed, trial.moments, trial.tests[:2], tests, None, trial.n_neighbors)


def mvtec(part: str, seeds: range) -> Iterator[Task]:
    """Give products of which none was seen lacking anything."""
    yield from _controls(quality_trials.mvtec(part, 1), seeds)


def smd(part: str, seeds: range) -> Iterator[Task]:
    """Give servers, their minutes one by one and as windows of ten."""
    yield from _controls(quality_trials.smd(part, 1), seeds)


def _controls(trials: Iterator[Trial], seeds: range) -> Iterator[Task]:
    """Review one half of a test, and look at the other half; every third trial, to spare hours."""
    for trial in list(trials)[::3]:
        test = trial.tests[0]
        known = test.known if test.known is not None and trial.data == "MVTec" else test.rows[:0]
        whole = Test(np.concatenate([test.rows, known]), np.append(test.truth, np.zeros(len(known), dtype=bool)))
        for seed in seeds:
            review, other = _split(whole, seed)
            name = f"{trial.task} {trial.seed}"
            yield Task(trial.data, name, trial.part, seed, trial.moments, (review,), {"same kind": (other,)})


def _split(test: Test, seed: int) -> tuple[Test, Test]:
    order = np.random.default_rng(seed).permutation(len(test.rows))
    some, others = np.array_split(order, 2)
    return tuple(  # type: ignore[return-value]
        Test(test.rows[one].astype(np.float64), test.truth[one], None if test.clean is None else test.clean[one])
        for one in (some, others)
    )


DATA_SETS: dict[str, Callable[[str, range], Iterator[Task]]] = {
    "silhouettes": silhouettes,
    "digits": digits,
    "Yale": yale,
    "MVTec": mvtec,
    "SMD": smd,
    "COIL": coil,
}
