"""The network: an autoencoder whose code has a descriptive half and a nuisance half.

row ─► encoder ─┬─► content      (k) the FOCUS loss applies to this half
                └─► distraction  (k) everything else needed for the reconstruction
both ─► decoder ─► reconstruction; the residual shows deviations that occur in no training group

Only building and running a network needs PyTorch: the architecture and the weights are plain values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats, check_choice
from undistract._optional import import_optional
from undistract._schema import integer, optional, require, saveable, string, tuple_of
from undistract.errors import InputError

Weights = dict[str, npt.NDArray[np.float32]]

ENCODERS = ("mlp", "convolutional")
MAX_SIZE = 10**6  # directions, epochs, groups, rows: a larger number is surely a typing error
BATCH_ROWS = 1024  # rows encoded per batch, so that memory does not grow with their number


def import_torch() -> Any:
    """Return PyTorch, or raise an error that names the extra to install."""
    return import_optional("torch", extra="torch", to="A neural FOCUS")


def _validate(architecture: Architecture) -> None:
    shape = architecture.image_shape
    is_convolutional = architecture.encoder == "convolutional"
    require(is_convolutional == (shape is not None), f"{architecture.encoder} and images {shape}")
    if shape is not None:
        require(len(shape) == 3, f"its image shape is {shape}")
        n_values = int(np.prod(shape, dtype=object))
        require(n_values == architecture.n_features, f"images {shape} do not fit its rows")


@saveable(
    {
        "encoder": string(*ENCODERS),
        "n_features": integer(1),
        "n_components": integer(1, MAX_SIZE),
        "n_hidden": integer(1, MAX_SIZE),
        "image_shape": optional(tuple_of(integer(1), min_length=3)),
    },
    validate=_validate,
    public=False,
)
@dataclass(frozen=True)
class Architecture:
    """The architecture of an encoder and decoder, without weights.

    Parameters
    ----------
    encoder : {"mlp", "convolutional"}
    n_features : int
    n_components : int
        Number of descriptive directions of the encoding; the nuisance part has the same number.
    n_hidden : int
        Width of the hidden layers; the widest convolution has an eighth of it as channels.
    image_shape : (height, width, channels) or None
    """

    encoder: str
    n_features: int
    n_components: int
    n_hidden: int
    image_shape: tuple[int, int, int] | None


def weight_shapes(shape: Architecture) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights of a network, by name; a model file must have exactly these.

    Examples
    --------
    >>> weight_shapes(Architecture("mlp", 5, 2, 16, None))["encoder.0.weight"]
    (16, 5)
    """
    coded = 2 * shape.n_components
    hidden = shape.n_hidden
    layers: dict[str, tuple[int, ...]]
    if shape.image_shape is None:
        layers = {
            "encoder.0": (hidden, shape.n_features),
            "encoder.2": (hidden, hidden),
            "encoder.4": (coded, hidden),
        }
    else:
        n_filters = n_channels(shape)
        height, width, channels = shape.image_shape
        n_pixels = -(-height // 8) * -(-width // 8)  # three convolutions, each halves the image
        layers = {
            "encoder.1": (n_filters, channels, 5, 5),
            "encoder.3": (2 * n_filters, n_filters, 3, 3),
            "encoder.5": (2 * n_filters, 2 * n_filters, 3, 3),
            "encoder.8": (coded, 2 * n_filters * n_pixels),
        }
    layers |= {"decoder.0": (hidden, coded), "decoder.2": (shape.n_features, hidden)}
    weights = {f"{name}.weight": size for name, size in layers.items()}
    return weights | {f"{name}.bias": size[:1] for name, size in layers.items()}


def n_channels(shape: Architecture) -> int:
    """Return the number of channels of the first convolution; the others have twice as many."""
    return max(1, shape.n_hidden // 16)


def parse_image_shape(encoder: str, image_shape: Any, n_features: int) -> tuple[int, int, int] | None:
    """Return the image shape of a row as (height, width, channels); None for the "mlp" encoder.

    Examples
    --------
    >>> parse_image_shape("convolutional", (28, 28), 784)
    (28, 28, 1)
    """
    check_choice("encoder", encoder, ENCODERS)
    if encoder == "mlp":
        return None
    if image_shape is None:
        raise InputError('encoder="convolutional" needs image_shape=(height, width) or (height, width, channels).')
    try:
        shape = tuple(image_shape)
    except TypeError:
        shape = ()
    positive = all(isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0 for size in shape)
    if len(shape) not in (2, 3) or not positive:
        raise InputError(f"image_shape must be (height, width) or (height, width, channels), got {image_shape!r}.")
    height, width, channels = (int(size) for size in (*shape, 1)[:3])
    if height * width * channels != n_features:
        raise InputError(
            f"image_shape {tuple(image_shape)} has {height * width * channels} values, but rows have {n_features}."
        )
    return height, width, channels


def build_network(architecture: Architecture) -> Any:
    """Return a PyTorch module with an encoder and a decoder; see `run_network`.

    Examples
    --------
    >>> import torch
    >>> architecture = Architecture("mlp", 5, 2, 16, None)
    >>> content, reconstructed = run_network(build_network(architecture), architecture, torch.zeros(3, 5))
    >>> content.shape, reconstructed.shape
    (torch.Size([3, 2]), torch.Size([3, 5]))
    """
    nn = import_torch().nn
    coded = 2 * architecture.n_components
    hidden = architecture.n_hidden
    if architecture.image_shape is None:
        encoder = nn.Sequential(
            nn.Linear(architecture.n_features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, coded),
        )
    else:
        n_filters = n_channels(architecture)
        flat = weight_shapes(architecture)["encoder.8.weight"][1]
        encoder = nn.Sequential(
            nn.Identity(),
            nn.Conv2d(architecture.image_shape[2], n_filters, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(n_filters, 2 * n_filters, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(2 * n_filters, 2 * n_filters, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(flat, coded),
        )
    decoder = nn.Sequential(nn.Linear(coded, hidden), nn.ReLU(), nn.Linear(hidden, architecture.n_features))
    return nn.ModuleDict({"encoder": encoder, "decoder": decoder})


def run_network(network: Any, architecture: Architecture, rows: Any) -> tuple[Any, Any]:
    """Return the descriptive half of the code, (n, k), and the reconstruction, (n, d), of a tensor of rows."""
    coded = network["encoder"](to_images(rows, architecture.image_shape))
    return coded[:, : architecture.n_components], network["decoder"](coded)


def to_images(rows: Any, image_shape: tuple[int, int, int] | None) -> Any:
    """Reshape a tensor of rows to images with channels first, as convolutions need it."""
    if image_shape is None:
        return rows
    return rows.reshape(-1, *image_shape).permute(0, 3, 1, 2)


def get_weights(network: Any) -> Weights:
    """Return the weights of a network as arrays that can be stored without PyTorch."""
    return {name: tensor.detach().numpy().copy() for name, tensor in network.state_dict().items()}


def encode(architecture: Architecture, weights: Weights, rows: Floats) -> tuple[Floats, Floats]:
    """Return the content of standardised rows, (n, k), and their reconstruction residual, (n, d).

    In double precision, so that a row has the same encoding in any batch, up to the last bits.
    """
    torch = import_torch()
    with torch.device("meta"):  # do not initialise weights that are replaced anyway
        network = build_network(architecture)
    tensors = {name: torch.from_numpy(array.astype(np.float64)) for name, array in weights.items()}
    network.load_state_dict(tensors, assign=True)
    content = np.empty((len(rows), architecture.n_components))
    residual = np.empty((len(rows), architecture.n_features))
    with torch.no_grad():
        for start in range(0, len(rows), BATCH_ROWS):
            batch = slice(start, start + BATCH_ROWS)
            tensor = torch.from_numpy(np.ascontiguousarray(rows[batch]))
            coded, reconstructed = run_network(network, architecture, tensor)
            content[batch] = coded.numpy()
            residual[batch] = rows[batch] - reconstructed.numpy()
    return content, residual
