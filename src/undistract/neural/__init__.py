"""Neural FOCUS: a loss for any training loop, batches by group, and an encoder with the interface of `Focus`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undistract.neural.estimator import NeuralFocus
    from undistract.neural.loss import FocusLoss
    from undistract.neural.training import GroupBatches

__all__ = ["FocusLoss", "GroupBatches", "NeuralFocus"]

_MODULES = {"FocusLoss": "loss", "GroupBatches": "training", "NeuralFocus": "estimator"}


def __getattr__(name: str) -> Any:
    # Only the loss needs PyTorch at import time: the others can be imported and cloned without it.
    if name in _MODULES:
        return getattr(import_module(f"undistract.neural.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'undistract.neural' has no attribute {name!r}")
