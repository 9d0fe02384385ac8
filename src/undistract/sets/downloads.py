"""Published images: where they are looked for, and how they get there (first version: a folder)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.arrays import Rows
from undistract.errors import InputError

SILHOUETTES = "caltech101_silhouettes/caltech101_silhouettes_28.npz"
EMNIST = "emnist/emnist_byclass_test_cap500.npz"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images with a label each, and the names of the labels."""

    images: Rows  # (n, height, width) uint8
    labels: Rows  # (n,) uint8
    class_names: npt.NDArray[Any]

    @property
    def first_label(self) -> int:
        """The label of the first name: silhouettes count from 1, characters from 0."""
        return int(self.labels.min())

    def name(self, label: int) -> str:
        """Return the name of a class."""
        return str(self.class_names[label - self.first_label])

    def of(self, label: int) -> Rows:
        """Return the images of one class as (n, height, width) float32, ink is 1."""
        white = np.float32(self.images.max())
        chosen: Rows = self.images[self.labels == label] / white
        return chosen


def pictures(file: str, data: str | Path | None) -> Pictures:
    """Read one of the published sets of images."""
    path = Path(data or os.environ.get("UNDISTRACT_DATA", "")) / file
    if not path.is_file():
        raise InputError(f"{path} does not exist.")
    with np.load(path) as held:
        return Pictures(held["images"], held["labels"], held["class_names"])
