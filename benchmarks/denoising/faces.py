"""Light removed from faces of new people: numbers, and a picture that stays on this machine.

    python -m benchmarks.denoising.faces [--seeds 5] [--picture out/faces.png]

24 people of Extended Yale B under 64 lights teach, 14 others are cleaned; a seed draws who is who. Measured are

    light left        how much of a person's variance over lights is left
    people left       how much of the variance of the people's mean images is left
    to frontal        distance to the person's image lit from the front, as it was taken, in grey levels of 255
    both cleaned      the same where that image is cleaned too
    recognised        share of images whose nearest image lit from the front, both cleaned, is the same person's

The other methods remove as many directions as FOCUS does automatically.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.linalg import eigh

from benchmarks.denoising.run import NOTHING, REMOVALS, RIVALS, Change, without
from benchmarks.few_shot.tasks import FACES, N_PEOPLE
from benchmarks.quality.trials import _load
from undistract import EvidenceWarning, Focus, Moments
from undistract._arrays import Floats, Rows
from undistract.report.figures import FAINT, LABEL_SIZE, new_figure

RESULTS = Path(__file__).parents[1] / "results" / "denoising_faces.csv"
MEASURES = ("light left", "people left", "to frontal", "both cleaned", "recognised")
COLUMNS = ["seed", "method", "n_removed", *MEASURES]
SHOWN_LIGHTS = ((0, 0), (35, 15), (70, 0), (-60, 20), (-85, 20), (0, 90))  # azimuth and elevation, in degrees


def faces() -> tuple[Rows, Rows, Rows]:
    """Images (n, height, width) from 0 to 1, the person, and the direction of the light."""
    file = _load(FACES)
    lights = np.stack([file["azimuth"], file["elevation"]], axis=1)
    return file["images"] / np.float32(255), file["subject"], lights


def ways(moments: Moments) -> Iterator[tuple[str, int, Change]]:
    """Give the methods: name, number of directions, and how they clean rows."""
    yield NOTHING, 0, lambda X: X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus().fit_moments(moments)
    count = focus.n_removed_
    for method, matrix in RIVALS.items():
        last = moments.n_features - 1
        top = eigh(getattr(moments, matrix), subset_by_index=(last - count + 1, last), check_finite=False)[1]
        yield method, count, without(moments, top)
    for removal, name in REMOVALS.items():
        yield name, count, lambda X, removal=removal: focus.denoise(X, removal=removal)


def measure(change: Change, images: Rows, owner: Rows, frontal: Rows) -> dict[str, float]:
    """Measure one method; `frontal` lists the images that are lit from the front, one for each person in order."""
    before, after = images.astype(np.float64), change(images).astype(np.float64)
    people = np.unique(owner)
    place = np.searchsorted(people, owner)

    def spread(rows: Floats) -> tuple[Floats, float]:
        means = np.stack([rows[owner == one].mean(axis=0) for one in people])
        return np.array([rows[owner == one].var(axis=0).sum() for one in people]), float(means.var(axis=0).sum())

    (light, apart), (light_left, apart_left) = spread(before), spread(after)
    others = ~np.isin(np.arange(len(images)), frontal)
    to_taken, to_cleaned = (after[others] - goal[frontal][place[others]] for goal in (before, after))
    squares = (after[frontal] ** 2).sum(axis=1) - 2 * after[others] @ after[frontal].T
    values = (
        (light_left / light).mean(),
        apart_left / apart,
        *(255 * np.sqrt((steps**2).mean(axis=1)).mean() for steps in (to_taken, to_cleaned)),
        (squares.argmin(axis=1) == place[others]).mean(),
    )
    return dict(zip(MEASURES, map(float, values), strict=True))


def picture(images: Rows, cleaned: dict[str, Rows], owner: Rows, lights: Rows, path: Path) -> None:
    """Draw two people under six lights: as taken, and cleaned in every way."""
    figure = new_figure(9.5, 5.6)
    shown = [
        int(np.flatnonzero((owner == one) & (lights == light).all(axis=1))[0])
        for one in np.unique(owner)[:2]
        for light in SHOWN_LIGHTS
    ]
    panels = figure.subplots(1 + len(cleaned), len(shown), squeeze=False)
    for line, (name, rows) in zip(panels, {"as taken": images, **cleaned}.items(), strict=True):
        for axes, which in zip(line, shown, strict=True):
            axes.imshow(rows[which].reshape(48, 42), cmap="gray", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize=LABEL_SIZE, color=FAINT)
    figure.subplots_adjust(left=0.05, right=0.995, top=0.99, bottom=0.01, wspace=0.04, hspace=0.04)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--save", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path, default=Path("out/faces.png"))
    wanted = parser.parse_args()
    images, subject, lights = faces()
    rows = images.reshape(len(images), -1)
    with wanted.save.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for seed in range(wanted.seeds):
            people = np.random.default_rng(seed).permutation(np.unique(subject))
            moments = Moments.of({str(one): rows[subject == one] for one in people[:N_PEOPLE]})
            new = np.isin(subject, people[N_PEOPLE:])
            order = np.flatnonzero(new)[np.argsort(subject[new], kind="stable")]
            mine, owner, from_where = rows[order], subject[order], lights[order]
            frontal = np.flatnonzero((from_where == 0).all(axis=1))
            cleaned = {}
            for name, count, change in ways(moments):
                found = measure(change, mine, owner, frontal)
                told = {key: f"{value:.4f}" for key, value in found.items()}
                writer.writerow({"seed": seed, "method": name, "n_removed": count, **told})
                print(seed, name, count, told, flush=True)
                cleaned[name] = change(mine)
            if seed == 0:
                del cleaned[NOTHING]
                picture(mine, cleaned, owner, from_where, wanted.picture)


if __name__ == "__main__":
    main()
