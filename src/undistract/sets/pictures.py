"""Pictures: images with a label each, and one .npz file that holds them."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from undistract.arrays import Rows
from undistract.errors import InputError


@dataclass(frozen=True, eq=False)
class Pictures:
    """Grey images, a label for each, and a name for each label.

    Parameters
    ----------
    images : (n, height, width) array of uint8
        Upright; 0 is paper, the largest value is ink.
    labels : (n,) array of uint8
        Counted from `first_label`.
    class_names : sequence of str
        The first name belongs to `first_label`.

    Examples
    --------
    >>> import numpy as np
    >>> letters = Pictures(np.array([[[0, 255]], [[255, 0]], [[0, 0]]], np.uint8), np.array([1, 2, 1]), ["A", "B"])
    >>> letters
    Pictures(class_names=('A', 'B'), first_label=1)
    >>> letters.name(2), letters.of(2).tolist()
    ('B', [[[1.0, 0.0]]])
    """

    images: Rows = field(repr=False)
    labels: Rows = field(repr=False)
    class_names: Sequence[str]
    first_label: int = field(init=False)

    def __post_init__(self) -> None:
        # A frozen dataclass lets nobody assign, not even itself.
        object.__setattr__(self, "class_names", tuple(str(name) for name in self.class_names))
        object.__setattr__(self, "first_label", int(self.labels.min(initial=255)))
        found = np.unique(self.labels).tolist()
        expected = list(range(self.first_label, self.first_label + len(self.class_names)))
        fits = self.images.ndim == 3 and self.labels.shape == self.images.shape[:1] and found == expected
        if not fits or not found:
            raise InputError(
                f"Images of shape {self.images.shape} come with labels of shape {self.labels.shape}, {len(found)} of "
                f"them different, and {len(self.class_names)} names. Expected (n, height, width), (n,), and one name "
                "per label."
            )

    def name(self, label: int) -> str:
        """Return the name of a class."""
        return self.class_names[label - self.first_label]

    def of(self, label: int) -> Rows:
        """Return the images of one class, (n, height, width) float32 from 0 (paper) to 1 (ink)."""
        ink = np.float32(self.images.max() or 1)
        chosen: Rows = self.images[self.labels == label] / ink
        return chosen

    def fingerprint(self) -> str:
        """Return the sha256 of all pixels and labels: the same images have the same, in whatever file they came."""
        return hashlib.sha256(self.images.tobytes() + self.labels.tobytes()).hexdigest()

    def save(self, path: Path) -> None:
        """Write one .npz file, uncompressed: then the same images give the same bytes on every machine."""
        np.savez(path, images=self.images, labels=self.labels, class_names=np.array(self.class_names))

    @classmethod
    def load(cls, path: Path) -> Pictures:
        """Read a file that `save` wrote, or any .npz with images, labels and class_names."""
        try:
            with path.open("rb") as file, np.load(file) as held:
                return cls(held["images"], held["labels"], held["class_names"])
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{path} cannot be read ({error}); expected an .npz file with images, labels and class_names. "
                "Fetch it again, see docs/data.md."
            ) from error
