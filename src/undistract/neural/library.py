"""PyTorch, fetched when it is first needed."""

from __future__ import annotations

from typing import Any

from undistract.extras import need


def torch() -> Any:
    """Return PyTorch, or say which extra to install.

    Examples
    --------
    >>> torch().tensor([1.0, 2.0]).sum().item()
    3.0
    """
    return need("torch", extra="torch", to="A neural FOCUS")
