"""A new detector, threshold, extractor or reader is one file and one line of a registry: nothing else has to change.

Each test copies the source, adds the file and the line to the copy, and uses it through the command line.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[2] / "src" / "undistract"

DETECTOR = '''
import numpy as np
from sklearn.base import BaseEstimator

from undistract._schema import array, saveable


@saveable({"median_": array("d"), "scores_": array("n")})
class ToyDetector(BaseEstimator):
    """Score rows by their distance from the median."""

    def fit(self, X, y=None):
        self.median_ = np.median(np.asarray(X, dtype=np.float64), axis=0)
        self.n_features_in_ = len(self.median_)
        self.scores_ = self.anomaly_score(X)
        return self

    def anomaly_score(self, X):
        return np.abs(X - self.median_).sum(axis=1)
'''

THRESHOLD = '''
from dataclasses import dataclass

import numpy as np

from undistract._schema import saveable
from undistract.detect.thresholds import Quantile


@saveable()
@dataclass(frozen=True)
class ToyRule:
    """Half of the rate of a quantile."""

    rate: float = 0.02

    def __call__(self, groups):
        return Quantile(self.rate / 2)(groups)
'''

EXTRACTOR = '''
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract.features.base import Extractor


@dataclass(frozen=True)
class Toy(Extractor):
    """The mean and the contrast of a frame, and a constant."""

    offset: int = 3

    @property
    def feature_names(self):
        return ("mean", "contrast", "offset")

    def __call__(self, frames):
        values = frames.reshape(len(frames), -1).astype(np.float32)
        return np.column_stack([values.mean(axis=1), values.std(axis=1), np.full(len(values), self.offset, np.float32)])
'''

READER = '''
import numpy as np

from undistract.sources.source import Source


def toy_sources(path, name, options):
    """Read whitespace-separated numbers."""
    return [Source(name, np.loadtxt(path))]
'''


def extended(folder, path, text, registry, import_line, table, entry):
    """Copy the source to a folder, with one more file and one more entry in a table of a registry."""
    copy = folder / "copy" / "undistract"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / path).write_text(text, encoding="utf-8")
    lines = (copy / registry).read_text(encoding="utf-8").splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith(table) and "{" in line), None)
    if start is None:
        pytest.skip(f"{registry} has no table {table}")
    head, brace, tail = lines[start].partition("{")
    lines[start] = f"{head}{brace}{entry}, {tail}"
    if import_line:
        lines.insert(
            next(number for number, line in enumerate(lines) if line.startswith("from undistract")), import_line
        )
    (copy / registry).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return copy.parent


def run(package, folder, *words):
    """Run a command with the extended copy, and return its JSON."""
    environment = {**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "undistract", *map(str, words), "--json"]
    outcome = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout)


def draw(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=3) + rng.normal(size=(30, 3)) * [1, 9, 1]


@pytest.fixture
def days(tmp_path):
    """Write eight normal days, and one day with an event in row 12."""
    (tmp_path / "normal").mkdir()
    for seed in range(8):
        np.save(tmp_path / "normal" / f"day{seed}.npy", draw(seed))
    rows = draw(99)
    rows[12, 0] += 40
    np.save(tmp_path / "today.npy", rows)
    return tmp_path


def test_detector_is_one_file_and_one_line(days):
    package = extended(
        days,
        "detect/toy.py",
        DETECTOR,
        "detect/registry.py",
        "from undistract.detect.toy import ToyDetector",
        "DETECTORS",
        '"toy": ToyDetector',
    )
    run(package, days, "learn", "normal", "--detector", "toy", "--save", "toy.focus")
    assert "ToyDetector" in json.dumps(run(package, days, "info", "toy.focus"))
    scores = run(package, days, "score", "today.npy", "--with", "toy.focus", "--save", "today.scores")
    assert '"row": 12' in json.dumps(scores)


def test_threshold_is_one_file_and_one_line(days):
    package = extended(
        days,
        "detect/toy.py",
        THRESHOLD,
        "detect/registry.py",
        "from undistract.detect.toy import ToyRule",
        "THRESHOLDS",
        '"toy": ToyRule',
    )
    if "--threshold" not in (SOURCE / "cli" / "learn.py").read_text(encoding="utf-8"):
        pytest.skip("the command line has no --threshold yet")
    learned = run(package, days, "learn", "normal", "--threshold", "toy", "--save", "toy.focus")
    assert learned["threshold"]["rate"] == 0.01


def test_extractor_is_one_file_and_one_line(tmp_path):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for group in range(8):
        (tmp_path / "normal" / f"group{group}").mkdir(parents=True)
        for number in range(6):
            frame = rng.integers(20 * group, 20 * group + 60, size=(8, 8)).astype(np.uint8)
            image.fromarray(frame).save(tmp_path / "normal" / f"group{group}" / f"{number}.png")
    package = extended(
        tmp_path,
        "features/toy.py",
        EXTRACTOR,
        "features/registry.py",
        "",
        "EXTRACTORS",
        '"toy": "undistract.features.toy:Toy"',
    )
    learned = run(package, tmp_path, "learn", "normal", "--features", "toy(offset=5)", "--save", "toy.focus")
    assert learned["features"] == 3


def test_reader_is_one_file_and_one_line(tmp_path):
    (tmp_path / "normal").mkdir()
    for seed in range(8):
        np.savetxt(tmp_path / "normal" / f"day{seed}.toy", draw(seed))
    package = extended(
        tmp_path,
        "sources/toy.py",
        READER,
        "sources/discover.py",
        "from undistract.sources.toy import toy_sources",
        "ARRAY_READERS",
        '".toy": toy_sources',
    )
    learned = run(package, tmp_path, "learn", "normal", "--save", "toy.focus")
    assert (learned["rows"], learned["features"]) == (240, 3)
