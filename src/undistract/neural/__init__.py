"""FOCUS by a neural network: a loss for anyone's training loop, batches by sets, and an encoder like `Focus`.

rows ─► batches by sets ─► encoder ─► loss on unbiased moments; what is learned is applied by `NeuralFocus.transform`
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undistract.neural.batches import SetBatches
    from undistract.neural.estimator import NeuralFocus
    from undistract.neural.loss import FocusLoss

__all__ = ["FocusLoss", "NeuralFocus", "SetBatches"]

_HOME = {"FocusLoss": "loss", "NeuralFocus": "estimator", "SetBatches": "batches"}


def __getattr__(name: str) -> Any:
    # The loss alone needs PyTorch to be named: the others can be imported, cloned and described without it.
    if name in _HOME:
        return getattr(import_module(f"undistract.neural.{_HOME[name]}"), name)
    raise AttributeError(f"module 'undistract.neural' has no attribute {name!r}")
