"""FOCUS in the space of a kernel: rows ─► coordinates in that space ─► linear FOCUS."""

from __future__ import annotations

from undistract.kernel.estimator import KernelFocus

__all__ = ["KernelFocus"]
