"""Reviews of real files, small enough for tests.

The sets that were learned from never show the glare; in the reviewed ones it is a false alarm again and again, and
here and there stands something that is strange indeed.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from undistract import FeatureSet, Reading, learn, read_sets, score
from undistract.errors import EvidenceWarning

COLUMNS = tuple(f"sensor {number}" for number in range(20))
GLARE = np.array([3.0, -2.0, 2.0, -1.0, 1.0, 2.0, 0.0, 0.0, 1.0, -3.0])


@dataclass(frozen=True)
class Files:
    """What a review is opened from."""

    scores: Path
    model: Path
    data: Path

    def desk(self, store: Path):
        """Open a review with a log of its own."""
        from undistract.workflow.desk import Desk

        return Desk.open(self.scores, model=self.model, data=[self.data], store=store)


def scored(folder: Path, calm, reading: Reading, data: Path, *, name: str = "days") -> Files:
    """Learn, score, and save both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # few and small sets are enough to look at
        model = learn(calm, reading=reading)
    files = Files(folder / f"{name}.scores", folder / f"{name}.focus", data)
    model.save(files.model)
    score(read_sets(data, reading), model).save(files.scores)
    return files


def table(
    folder: Path, days: Sequence[str] = ("monday", "tuesday"), columns: Sequence[str] = COLUMNS, name="days", **drawn
) -> Files:
    """Make one csv file with a set for each day."""
    rng = np.random.default_rng(0)
    width = len(columns)
    names = tuple(columns)
    calm = [
        FeatureSet(f"calm {number}", rng.normal(size=width) + rng.normal(size=(60, width)), feature_names=names)
        for number in range(40)
    ]
    data = folder / "days.csv"
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["day", *columns])
        for seed, day in enumerate(days):
            writer.writerows([day, *row] for row in np.round(rows(seed, width, **drawn), 4).tolist())
    return scored(folder, calm, Reading(group="day", columns=names), data, name=name)


def rows(seed: int, width: int, *, n_rows: int = 400, n_glare: int = 8, n_strange: int = 2):
    """Draw rows: glare at regular places, something strange at others."""
    rng = np.random.default_rng([1, seed])
    drawn = rng.normal(size=(n_rows, width))
    glare = np.linspace(10, n_rows - 10, n_glare).astype(int)
    drawn[glare] += np.resize(GLARE, width) * rng.uniform(2.5, 4, size=(n_glare, 1))
    strange = np.linspace(20, n_rows - 30, n_strange).astype(int) + 3
    drawn[strange] += rng.normal(size=(n_strange, width)) * 4
    return drawn


def long_array(folder: Path, n_rows: int = 100_000) -> Files:
    """Make one array of many rows, some of them strange: thousands of alarms."""
    rng = np.random.default_rng(2)
    calm = [FeatureSet(number, rng.normal(size=4) + rng.normal(size=(50, 4))) for number in range(12)]
    drawn = rng.normal(size=(n_rows, 4)).astype(np.float32)
    drawn[25::50] *= 8
    np.save(folder / "long.npy", drawn)
    return scored(folder, calm, Reading(), folder / "long.npy", name="long")


def windows(folder: Path) -> Files:
    """Make a time series that is looked at in windows."""
    rng = np.random.default_rng(3)
    reading = Reading(window=16, stride=4)
    (folder / "calm").mkdir()
    for number in range(12):
        np.save(folder / "calm" / f"{number}.npy", wave(rng, 200))
    seen = wave(rng, 400)
    seen[100:116] += 3
    seen[300:304, 1] -= 6
    np.save(folder / "pump.npy", seen)
    return scored(folder, read_sets(folder / "calm", reading), reading, folder / "pump.npy", name="pump")


def wave(rng, n_steps: int):
    """Draw three courses with noise."""
    time = np.arange(n_steps)[:, None] / [5.0, 7.0, 11.0]
    return np.sin(time + rng.uniform(0, 6)) + 0.2 * rng.normal(size=(n_steps, 3))


def clips(folder: Path) -> Files:
    """Make clips of dots under changing light; a stranger crosses the last."""
    from undistract.report.clip_writer import write_clip
    from undistract.sets.drawn_clips import dots_under_light

    reading = Reading(features="pixels(size=12x8)")
    (folder / "calm").mkdir()
    for seed in range(1, 9):
        write_clip(folder / "calm" / f"{seed}.mp4", dots_under_light(60, seed=seed))
    write_clip(folder / "match.mp4", dots_under_light(150, stranger=True))
    return scored(folder, read_sets(folder / "calm", reading), reading, folder / "match.mp4", name="match")


def pictures(folder: Path) -> Files:
    """Make folders of pictures, a set each; in the last one, some have a bright patch."""
    from PIL import Image

    rng = np.random.default_rng(4)
    for day in range(10):
        (folder / "calm" / str(day)).mkdir(parents=True)
        for number in range(12):
            Image.fromarray(scene(rng)).save(folder / "calm" / str(day) / f"{number:02}.png")
    (folder / "today").mkdir()
    for number in range(30):
        seen = scene(rng)
        if number in (7, 21):
            seen[2:6, 8:13] = 255
        Image.fromarray(seen).save(folder / "today" / f"{number:02}.png")
    reading = Reading(features="pixels(size=16x12)")
    return scored(folder, read_sets(folder / "calm", reading), reading, folder / "today", name="today")


def scene(rng):
    """Draw a scene under a light from one side."""
    y, x = np.mgrid[:12, :16]
    light = rng.uniform(-4, 4) * (x - 8) + rng.uniform(-4, 4) * (y - 6)
    return np.clip(110 + light + rng.normal(size=(12, 16)) * 6, 0, 255).astype(np.uint8)
