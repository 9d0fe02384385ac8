"""What Dask makes when it is asked: arrays, bags, delayed calls."""

from __future__ import annotations

from typing import Any

from undistract.extras import need


def dask_part(module: str = "dask") -> Any:
    """Import a part of Dask, or say what to install."""
    need("dask", extra="dask", to="Gathering moments on a cluster")
    return need(module, extra="dask", to="Gathering moments on a cluster")


def is_lazy(what: Any) -> bool:
    """Tell whether Dask makes it."""
    return bool(dask_part("dask.base").is_dask_collection(what))


def is_lazy_array(what: Any) -> bool:
    """Tell whether it is a Dask array. A Delayed says yes to any attribute, so its class is asked."""
    return is_lazy(what) and hasattr(type(what), "chunks") and hasattr(type(what), "ndim")
