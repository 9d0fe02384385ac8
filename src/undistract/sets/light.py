"""Light that falls across images, and an experiment under it whose truth is known.

    light = strength · (cos(angle) · right + sin(angle) · down)

The strength is normal, the angle uniform. Such light has two degrees of freedom, so two directions of feature space
are there to be found, whatever the size of the images.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from undistract.arrays import Floats, Rows
from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet

Flags = npt.NDArray[np.bool_]
Name = TypeVar("Name", int, str)


@dataclass(frozen=True, eq=False)
class UnderLight(Generic[Name]):
    """Training sets, and a test set whose truth is known. Pixels go from 0 (paper) to 1 (ink), before any light."""

    training: tuple[FeatureSet, ...] = field(repr=False)
    test: Rows = field(repr=False)  # (n, d) rows of the test, in random order
    clean: Rows = field(repr=False)  # (n, d) the same rows without light: what an oracle would see
    is_anomaly: Flags = field(repr=False)  # (n,)
    is_lit: Flags = field(repr=False)  # (n,)
    gradients: Floats = field(repr=False)  # (2, d) the directions of light: what there is to find
    normal: Name  # the class that the test set is made of
    odd: Name  # the class that hides in it


def gradients(height: int, width: int) -> Floats:
    """Return two images that every light is a mix of, brighter to the right and brighter downwards, as (2, d) rows.

    Examples
    --------
    >>> gradients(2, 3)
    array([[-1.,  0.,  1., -1.,  0.,  1.],
           [-1., -1., -1.,  1.,  1.,  1.]])
    """
    right, down = np.meshgrid(np.linspace(-1.0, 1.0, width), np.linspace(-1.0, 1.0, height))
    return np.stack([right.ravel(), down.ravel()])


def lit(images: Rows, share: float, amplitude: float, rng: np.random.Generator) -> tuple[Rows, Flags]:
    """Let light fall on a share of the (n, height, width) images; return rows (n, d), and which are lit.

    Parameters
    ----------
    share : float
        Each image is lit with this probability.
    amplitude : float
        Standard deviation of the light at the middle of an edge.

    Examples
    --------
    >>> import numpy as np
    >>> dark = np.zeros((4, 2, 2), dtype=np.float32)
    >>> rows, is_lit = lit(dark, share=0.5, amplitude=1.0, rng=np.random.default_rng(0))
    >>> is_lit
    array([False,  True,  True,  True])
    >>> rows.any(axis=1)
    array([False,  True,  True,  True])
    >>> rows.shape, rows.dtype
    ((4, 4), dtype('float32'))
    """
    right, down = gradients(*images.shape[1:])
    is_lit = rng.random(len(images)) < share
    strength = amplitude * rng.normal(size=len(images)) * is_lit
    angle = rng.uniform(0.0, 2.0 * np.pi, size=len(images))
    light = np.outer(strength * np.cos(angle), right) + np.outer(strength * np.sin(angle), down)
    return images.reshape(len(images), -1) + light.astype(images.dtype), is_lit


def under_light(
    training: Iterable[tuple[str, Rows]],
    normal: tuple[Name, Rows],
    odd: tuple[Name, Rows],
    *,
    n_hidden: int,
    amplitude: float,
    lit_training: float,
    lit_test: float,
    source: str,
    rng: np.random.Generator,
) -> UnderLight[Name]:
    """Let light fall on training sets, and on a test set of all normal images with a few odd ones hidden among them.

    Parameters
    ----------
    training : iterable of (name, images)
        Images are (n, height, width) here and below; they are read once.
    normal, odd : (name, images)
        What the test set is made of, and what hides in it.
    n_hidden : int
        How many images of `odd` hide in the test set, chosen at random.
    amplitude : float
        Standard deviation of the light at the middle of an edge.
    lit_training, lit_test : float
        Which share of the images light falls on. It does not know which of them are anomalies.
    source : str
        Where the images are from, for people to read.
    """
    _check(n_hidden, amplitude, lit_training, lit_test)
    (normal_name, usual), (odd_name, strange) = normal, odd
    if n_hidden > len(strange):
        raise InputError(f"n_hidden is {n_hidden}, but there are {len(strange)} images of {odd_name!r} to hide.")
    sets = tuple(
        FeatureSet(name, lit(images, lit_training, amplitude, rng)[0], source=source) for name, images in training
    )
    hidden = rng.choice(strange, n_hidden, replace=False)
    truth = np.repeat([False, True], [len(usual), n_hidden])
    order = rng.permutation(len(truth))
    clean = np.concatenate([usual, hidden])[order]
    test, is_lit = lit(clean, lit_test, amplitude, rng)
    rows = clean.reshape(len(clean), -1)
    directions = gradients(*clean.shape[1:])
    return UnderLight(sets, test, rows, truth[order], is_lit, directions, normal_name, odd_name)


def _check(n_hidden: int, amplitude: float, lit_training: float, lit_test: float) -> None:
    if n_hidden < 1:
        raise InputError(f"n_hidden is {n_hidden}; expected at least one anomaly to find.")
    if not 0 <= amplitude < np.inf:
        raise InputError(f"amplitude is {amplitude}; expected a number from 0 up, such as 0.5.")
    for name, share in {"lit_training": lit_training, "lit_test": lit_test}.items():
        if not 0 <= share <= 1:
            raise InputError(f"{name} is {share}; expected a share between 0 and 1.")
