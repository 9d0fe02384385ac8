"""The names of features, where sets are data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError


class ColumnNames:
    """Reads column names off sets while these stream by; all sets must have the same, in the same order.

    Examples
    --------
    >>> import pandas as pd
    >>> names = ColumnNames()
    >>> sets = {day: pd.DataFrame({"load": [1.0, 2.0], "heat": [3.0, 4.0]}) for day in ("mon", "tue")}
    >>> [name for name, rows in names.watch(sets)]
    ['mon', 'tue']
    >>> names.found
    array(['load', 'heat'], dtype=object)
    """

    def __init__(self) -> None:
        self.found: npt.NDArray[Any] | None = None

    def watch(self, sets: Any) -> Any:
        """Return the same sets, to be read once; what is no collection of sets passes, and is refused by its reader."""
        if not hasattr(sets, "__iter__") or isinstance(sets, np.ndarray) or hasattr(sets, "toarray"):
            return sets
        return self._watched(sets.items() if hasattr(sets, "items") else sets)

    def _watched(self, items: Any) -> Iterator[Any]:
        for number, item in enumerate(items):
            rows = item[1] if isinstance(item, tuple) and len(item) == 2 else item
            columns = getattr(rows, "columns", None)
            names = None if columns is None else np.array(list(columns), dtype=np.object_)
            if names is not None and not all(isinstance(name, str) for name in names):
                names = None  # numbered columns are no names, as in scikit-learn
            if number == 0:
                self.found = names
            elif names is not None and self.found is not None and list(names) != list(self.found):
                raise InputError(
                    f"Set number {number} has the columns {list(names)}, the first has {list(self.found)}. "
                    "Give every set the same columns in the same order."
                )
            yield item
