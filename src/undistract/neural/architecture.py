"""The shape of a network: a plain value that needs no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError

Weights = dict[str, npt.NDArray[np.float32]]

ENCODERS = ("mlp", "convolutional")


@dataclass(frozen=True)
class Architecture:
    """What a network looks like, before it has learned anything.

    Parameters
    ----------
    encoder : {"mlp", "convolutional"}
    n_features : int
    n_components : int
        Directions that describe; as many again are set aside for what distracts.
    n_hidden : int
        Width of the hidden layers; the widest convolution has an eighth of it as channels.
    image_shape : (height, width, channels) or None
    """

    encoder: str
    n_features: int
    n_components: int
    n_hidden: int
    image_shape: tuple[int, int, int] | None


def shapes_of(shape: Architecture) -> dict[str, tuple[int, ...]]:
    """Return the sizes of all weights of a network, by name; a file must hold these and no others.

    Examples
    --------
    >>> shapes_of(Architecture("mlp", 5, 2, 16, None))["encoder.0.weight"]
    (16, 5)
    """
    coded, hidden = 2 * shape.n_components, shape.n_hidden
    layers: dict[str, tuple[int, ...]]
    if shape.image_shape is None:
        layers = {
            "encoder.0": (hidden, shape.n_features),
            "encoder.2": (hidden, hidden),
            "encoder.4": (coded, hidden),
        }
    else:
        few, (height, width, channels) = n_channels(shape), shape.image_shape
        small = -(-height // 8) * -(-width // 8)  # three convolutions, each halves the image
        layers = {
            "encoder.1": (few, channels, 5, 5),
            "encoder.3": (2 * few, few, 3, 3),
            "encoder.5": (2 * few, 2 * few, 3, 3),
            "encoder.8": (coded, 2 * few * small),
        }
    layers |= {"decoder.0": (hidden, coded), "decoder.2": (shape.n_features, hidden)}
    weights = {f"{name}.weight": size for name, size in layers.items()}
    return weights | {f"{name}.bias": size[:1] for name, size in layers.items()}


def n_channels(shape: Architecture) -> int:
    """Return the channels of the first convolution; the others have twice as many."""
    return max(1, shape.n_hidden // 16)


def image_shape_of(encoder: str, image_shape: Any, n_features: int) -> tuple[int, int, int] | None:
    """Return the shape of the images that rows are, as (height, width, channels); None for a plain row.

    Examples
    --------
    >>> image_shape_of("convolutional", (28, 28), 784)
    (28, 28, 1)
    """
    if encoder not in ENCODERS:
        raise InputError(f"encoder is {encoder!r}; expected one of {', '.join(map(repr, ENCODERS))}.")
    if encoder == "mlp":
        return None
    if image_shape is None:
        raise InputError('encoder="convolutional" needs image_shape=(height, width) or (height, width, channels).')
    try:
        shape = tuple(image_shape)
    except TypeError:
        shape = ()
    whole = all(isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0 for size in shape)
    if len(shape) not in (2, 3) or not whole:
        raise InputError(f"image_shape is {image_shape!r}; expected (height, width) or (height, width, channels).")
    height, width, channels = (int(size) for size in (*shape, 1)[:3])
    if height * width * channels != n_features:
        raise InputError(
            f"image_shape {tuple(image_shape)} has {height * width * channels} numbers, the rows have {n_features}."
        )
    return height, width, channels
