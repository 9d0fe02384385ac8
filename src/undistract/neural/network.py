"""The network: rows become what describes and what distracts, and are rebuilt from both.

row ─► encoder ─┬─► content      (k) the FOCUS loss works here
                └─► distraction  (k) whatever else is needed
both ─► decoder ─► the row again; what is missing is news, which no training set ever showed
"""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract.arrays import Floats
from undistract.neural.architecture import Architecture, Weights, n_channels, shapes_of
from undistract.neural.library import torch as library

torch = library()
nn: Any = torch.nn
Module: Any = nn.Module

AT_ONCE = 1024  # rows that are encoded together, so that memory does not grow with their number


class Network(Module):  # type: ignore[misc]
    """Encoder and decoder of one architecture.

    Parameters
    ----------
    shape : Architecture

    Examples
    --------
    >>> import torch
    >>> network = Network(Architecture("mlp", 5, 2, 16, None))
    >>> content, rebuilt = network(torch.zeros(3, 5))
    >>> content.shape, rebuilt.shape
    (torch.Size([3, 2]), torch.Size([3, 5]))
    """

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        self.n_components = shape.n_components
        coded, hidden = 2 * shape.n_components, shape.n_hidden
        self.encoder = _convolutional(shape) if shape.image_shape else _mlp(shape.n_features, hidden, coded)
        self.decoder = nn.Sequential(nn.Linear(coded, hidden), nn.ReLU(), nn.Linear(hidden, shape.n_features))

    def forward(self, rows: Any) -> tuple[Any, Any]:
        """Return what describes each row, (n, k), and the row as far as it can be rebuilt, (n, d)."""
        coded = self.encoder(rows)
        return coded[:, : self.n_components], self.decoder(coded)


def _mlp(n_features: int, hidden: int, coded: int) -> Any:
    return nn.Sequential(
        nn.Linear(n_features, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, coded),
    )


def _convolutional(shape: Architecture) -> Any:
    _, _, channels = shape.image_shape or (1, 1, 1)
    few, (coded, flat) = n_channels(shape), shapes_of(shape)["encoder.8.weight"]
    return nn.Sequential(
        _Images(shape.image_shape),
        nn.Conv2d(channels, few, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(few, 2 * few, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(2 * few, 2 * few, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(flat, coded),
    )


class _Images(Module):  # type: ignore[misc]
    """Rows become images, with channels first as convolutions want them."""

    def __init__(self, image_shape: Any) -> None:
        super().__init__()
        self.image_shape = image_shape

    def forward(self, rows: Any) -> Any:
        return rows.reshape(-1, *self.image_shape).permute(0, 3, 1, 2)


def weights_of(network: Network) -> Weights:
    """Return what a network has learned, as arrays that can be kept without PyTorch."""
    return {name: tensor.detach().numpy().copy() for name, tensor in network.state_dict().items()}


def encode(shape: Architecture, weights: Weights, rows: Floats) -> tuple[Floats, Floats]:
    """Return the content of standardised rows, (n, k), and the news in them, (n, d).

    In double precision: a row reads the same in any batch, up to the last bits.
    """
    with torch.device("meta"):  # no weights are drawn only to be replaced
        network = Network(shape).train(False)
    learned = {name: torch.from_numpy(array.astype(np.float64)) for name, array in weights.items()}
    network.load_state_dict(learned, assign=True)
    content, news = np.empty((len(rows), shape.n_components)), np.empty((len(rows), shape.n_features))
    with torch.no_grad():
        for start in range(0, len(rows), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            coded, rebuilt = network(torch.from_numpy(np.ascontiguousarray(rows[some])))
            content[some], news[some] = coded.numpy(), rows[some] - rebuilt.numpy()
    return content, news
