"""Small reviews of real files.

The training groups never contain the glare; in the reviewed groups it is a repeated false alarm, and there are a few
true anomalies.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from undistract import ReadOptions, Source, learn, read_sources, score
from undistract.errors import EvidenceWarning

COLUMNS = tuple(f"sensor {number}" for number in range(20))
GLARE = np.array([3.0, -2.0, 2.0, -1.0, 1.0, 2.0, 0.0, 0.0, 1.0, -3.0])


@dataclass(frozen=True)
class Files:
    """The files of a review."""

    scores: Path
    model: Path
    data: Path

    def desk(self, store: Path):
        """Open a review session with its own log."""
        from undistract.review.session import ReviewSession

        return ReviewSession.open(self.scores, model=self.model, data=[self.data], store=store)


def scored(folder: Path, calm, reading: ReadOptions, data: Path, *, name: str = "days") -> Files:
    """Learn, score, and save both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # a few small groups are enough for tests
        model = learn(calm, reading=reading)
    files = Files(folder / f"{name}.scores", folder / f"{name}.focus", data)
    model.save(files.model)
    score(read_sources(data, reading), model).save(files.scores)
    return files


def table(
    folder: Path, days: Sequence[str] = ("monday", "tuesday"), columns: Sequence[str] = COLUMNS, name="days", **drawn
) -> Files:
    """Write one csv file with a group for each day."""
    rng = np.random.default_rng(0)
    width = len(columns)
    names = tuple(columns)
    calm = [
        Source(f"calm {number}", rng.normal(size=width) + rng.normal(size=(60, width)), feature_names=names)
        for number in range(40)
    ]
    data = folder / "days.csv"
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["day", *columns])
        for seed, day in enumerate(days):
            writer.writerows([day, *row] for row in np.round(rows(seed, width, **drawn), 4).tolist())
    return scored(folder, calm, ReadOptions(group="day", columns=names), data, name=name)


def rows(seed: int, width: int, *, n_rows: int = 400, n_glare: int = 8, n_strange: int = 2):
    """Return rows with glare at regular positions and anomalies at others."""
    rng = np.random.default_rng([1, seed])
    drawn = rng.normal(size=(n_rows, width))
    glare = np.linspace(10, n_rows - 10, n_glare).astype(int)
    drawn[glare] += np.resize(GLARE, width) * rng.uniform(2.5, 4, size=(n_glare, 1))
    strange = np.linspace(20, n_rows - 30, n_strange).astype(int) + 3
    drawn[strange] += rng.normal(size=(n_strange, width)) * 4
    return drawn


def long_array(folder: Path, n_rows: int = 100_000) -> Files:
    """Write one array with thousands of alarms."""
    rng = np.random.default_rng(2)
    calm = [Source(number, rng.normal(size=4) + rng.normal(size=(50, 4))) for number in range(12)]
    drawn = rng.normal(size=(n_rows, 4)).astype(np.float32)
    drawn[25::50] *= 8
    np.save(folder / "long.npy", drawn)
    return scored(folder, calm, ReadOptions(), folder / "long.npy", name="long")


def windows(folder: Path) -> Files:
    """Write a time series that is scored in windows."""
    rng = np.random.default_rng(3)
    reading = ReadOptions(window=16, stride=4)
    (folder / "calm").mkdir()
    for number in range(12):
        np.save(folder / "calm" / f"{number}.npy", wave(rng, 200))
    series = wave(rng, 400)
    series[100:116] += 3
    series[300:304, 1] -= 6
    np.save(folder / "pump.npy", series)
    return scored(folder, read_sources(folder / "calm", reading), reading, folder / "pump.npy", name="pump")


def wave(rng, n_steps: int):
    """Return three noisy sine waves."""
    time = np.arange(n_steps)[:, None] / [5.0, 7.0, 11.0]
    return np.sin(time + rng.uniform(0, 6)) + 0.2 * rng.normal(size=(n_steps, 3))


def clips(folder: Path) -> Files:
    """Write clips of dots under changing light; a stranger crosses the last."""
    from undistract.datasets.synthetic import make_illuminated_clip
    from undistract.report.video import write_clip

    reading = ReadOptions(features="pixels(size=12x8)")
    (folder / "calm").mkdir()
    for seed in range(1, 9):
        write_clip(folder / "calm" / f"{seed}.mp4", make_illuminated_clip(60, seed=seed))
    write_clip(folder / "match.mp4", make_illuminated_clip(150, stranger=True))
    return scored(folder, read_sources(folder / "calm", reading), reading, folder / "match.mp4", name="match")


def pictures(folder: Path) -> Files:
    """Write folders of images, one group each; some images of the last folder have a bright patch."""
    from PIL import Image

    rng = np.random.default_rng(4)
    for day in range(10):
        (folder / "calm" / str(day)).mkdir(parents=True)
        for number in range(12):
            Image.fromarray(scene(rng)).save(folder / "calm" / str(day) / f"{number:02}.png")
    (folder / "today").mkdir()
    for number in range(30):
        image = scene(rng)
        if number in (7, 21):
            image[2:6, 8:13] = 255
        Image.fromarray(image).save(folder / "today" / f"{number:02}.png")
    reading = ReadOptions(features="pixels(size=16x12)")
    return scored(folder, read_sources(folder / "calm", reading), reading, folder / "today", name="today")


def scene(rng):
    """Return an image under light from one side."""
    y, x = np.mgrid[:12, :16]
    light = rng.uniform(-4, 4) * (x - 8) + rng.uniform(-4, 4) * (y - 6)
    return np.clip(110 + light + rng.normal(size=(12, 16)) * 6, 0, 255).astype(np.uint8)
