"""Light on images, and the eight orientations of an image: four quarter turns, plain and mirrored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats, Rows
from undistract.errors import InputError
from undistract.sources.source import Source

# Add illumination gradients to images, as in the paper's experiments with known nuisance directions.
#
#     light = strength · (cos(angle) · right + sin(angle) · down)
#
# The strength is normal, the angle uniform. The illumination has two degrees of freedom, so there are exactly two
# nuisance directions, for images of any size.


Flags = npt.NDArray[np.bool_]
Name = TypeVar("Name", int, str)


@dataclass(frozen=True, eq=False)
class IlluminationExperiment(Generic[Name]):
    """Training groups, and test rows with known anomalies. Pixels are 0 (paper) to 1 (ink), plus illumination."""

    training: tuple[Source, ...] = field(repr=False)
    test: Rows = field(repr=False)  # (n, d) test rows, in random order
    clean: Rows = field(repr=False)  # (n, d) the same rows without illumination, for an upper bound
    is_anomaly: Flags = field(repr=False)  # (n,)
    is_lit: Flags = field(repr=False)  # (n,)
    gradients: Floats = field(repr=False)  # (2, d) the nuisance directions
    normal: Name  # class of the normal test rows
    odd: Name  # class of the anomalies


def illumination_basis(height: int, width: int) -> Floats:
    """Return the two basis images of the illumination, brighter to the right and brighter downwards, as (2, d) rows.

    Examples
    --------
    >>> illumination_basis(2, 3)
    array([[-1.,  0.,  1., -1.,  0.,  1.],
           [-1., -1., -1.,  1.,  1.,  1.]])
    """
    right, down = np.meshgrid(np.linspace(-1.0, 1.0, width), np.linspace(-1.0, 1.0, height))
    return np.stack([right.ravel(), down.ravel()])


def add_illumination(images: Rows, share: float, amplitude: float, rng: np.random.Generator) -> tuple[Rows, Flags]:
    """Illuminate a share of the (n, height, width) images; return rows (n, d), and a mask of the illuminated ones.

    Parameters
    ----------
    share : float
        Probability that an image is illuminated.
    amplitude : float
        Standard deviation of the illumination at the middle of an edge.

    Examples
    --------
    >>> import numpy as np
    >>> dark = np.zeros((4, 2, 2), dtype=np.float32)
    >>> rows, is_lit = add_illumination(dark, share=0.5, amplitude=1.0, rng=np.random.default_rng(0))
    >>> is_lit
    array([False,  True,  True,  True])
    >>> rows.any(axis=1)
    array([False,  True,  True,  True])
    >>> rows.shape, rows.dtype
    ((4, 4), dtype('float32'))
    """
    right, down = illumination_basis(*images.shape[1:])
    # Strength and angle are drawn for all images: the random numbers do not depend on `share`.
    is_lit = rng.random(len(images)) < share
    strength = amplitude * rng.normal(size=len(images)) * is_lit
    angle = rng.uniform(0.0, 2.0 * np.pi, size=len(images))
    light = np.outer(strength * np.cos(angle), right) + np.outer(strength * np.sin(angle), down)
    return images.reshape(len(images), -1) + light.astype(images.dtype), is_lit


def make_illumination_experiment(
    training: Iterable[tuple[str, Rows]],
    normal: tuple[Name, Rows],
    odd: tuple[Name, Rows],
    *,
    n_hidden: int,
    amplitude: float,
    lit_training: float,
    lit_test: float,
    origin: str,
    rng: np.random.Generator,
) -> IlluminationExperiment[Name]:
    """Illuminate training groups, and test rows of all normal images with a few anomalous ones among them.

    Images are (n, height, width). `training` is an iterable of (name, images), `normal` and `odd` are such pairs for
    the test rows; the other parameters are those of `make_illuminated_digits`.
    """
    _check(n_hidden, amplitude, lit_training, lit_test)
    normal_name, normal_images = normal
    odd_name, odd_images = odd
    if n_hidden > len(odd_images):
        raise InputError(f"n_hidden must be at most {len(odd_images)}, the images of {odd_name!r}, got {n_hidden}.")
    groups = tuple(
        Source(name, add_illumination(images, lit_training, amplitude, rng)[0], origin=origin)
        for name, images in training
    )
    hidden = rng.choice(odd_images, n_hidden, replace=False)
    truth = np.repeat([False, True], [len(normal_images), n_hidden])
    order = rng.permutation(len(truth))
    clean = np.concatenate([normal_images, hidden])[order]
    test, is_lit = add_illumination(clean, lit_test, amplitude, rng)
    rows = clean.reshape(len(clean), -1)
    directions = illumination_basis(*clean.shape[1:])
    return IlluminationExperiment(groups, test, rows, truth[order], is_lit, directions, normal_name, odd_name)


def _check(n_hidden: int, amplitude: float, lit_training: float, lit_test: float) -> None:
    if n_hidden < 1:
        raise InputError(f"n_hidden must be at least 1, got {n_hidden}.")
    if not 0 <= amplitude < np.inf:
        raise InputError(f"amplitude must be non-negative, such as 0.5, got {amplitude}.")
    for name, share in {"lit_training": lit_training, "lit_test": lit_test}.items():
        if not 0 <= share <= 1:
            raise InputError(f"{name} must be between 0 and 1, got {share}.")


def orientations(images: Rows) -> Iterator[tuple[str, Rows]]:
    """Yield (n, height, width) images in all eight orientations, each with the text that names it.

    Examples
    --------
    >>> import numpy as np
    >>> corner = np.array([[[1, 0], [0, 0]]])
    >>> for orientation, (image,) in orientations(corner):
    ...     print(image.ravel(), f"the corner{orientation}")
    [1 0 0 0] the corner
    [0 0 1 0] the corner turned 90°
    [0 0 0 1] the corner turned 180°
    [0 1 0 0] the corner turned 270°
    [0 1 0 0] the corner mirrored
    [1 0 0 0] the corner mirrored turned 90°
    [0 0 1 0] the corner mirrored turned 180°
    [0 0 0 1] the corner mirrored turned 270°
    """
    for mirrored, faces in (("", images), (" mirrored", images[:, :, ::-1])):
        for quarter in range(4):
            turned = f" turned {90 * quarter}°" if quarter else ""
            yield f"{mirrored}{turned}", np.rot90(faces, quarter, axes=(1, 2))
