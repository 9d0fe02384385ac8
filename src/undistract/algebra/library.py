"""An array library and one of its devices: where rows live that are not numpy's.

The mathematics asks for nothing but the array API standard, so that a processor, a graphics card or a library that
comes later differ by a name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Library:
    """A namespace of the array API standard, a device, and the way back to numpy.

    Examples
    --------
    >>> import numpy as np
    >>> library = Library(np, "cpu", np.asarray)
    >>> library.float64 == np.float64, library.key
    (True, ('numpy', 'cpu'))
    """

    xp: Any  # the namespace
    device: Any
    to_numpy: Callable[[Any], npt.NDArray[Any]]

    @property
    def key(self) -> tuple[str, str]:
        """Tell this library and device from others."""
        return self.xp.__name__, str(self.device)

    @property
    def float64(self) -> Any:
        """The dtype in which nothing is lost, or None where the device has no such numbers."""
        return self._dtypes().get("float64")

    @property
    def dtypes(self) -> list[Any]:
        """The dtypes that rows may have, the widest first."""
        found = self._dtypes()
        return [found[name] for name in ("float64", "float32") if name in found]

    def array(self, values: npt.NDArray[Any], dtype: Any = None) -> Any:
        """Copy numbers of numpy to the device."""
        wanted = "float32" if dtype is not None and dtype == self._dtypes()["float32"] else values.dtype
        # A copy of its own: not every library takes views that run backwards, or that must not be written.
        return self.xp.asarray(np.array(values, dtype=wanted, order="C"), dtype=dtype, device=self.device)

    def _dtypes(self) -> dict[str, Any]:
        dtypes: dict[str, Any] = self.xp.__array_namespace_info__().dtypes(kind="real floating", device=self.device)
        return dtypes
