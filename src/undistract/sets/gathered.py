"""All rows of some sets in one array, for estimators that go over them again and again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from undistract.arrays import Floats, as_rows, same_features
from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet


def gathered(sets: Any) -> tuple[Floats, list[Hashable]]:
    """Read all sets into one array, with the name of each row's set; sets without a name are numbered.

    Examples
    --------
    >>> X, names = gathered({"mon": [[1.0, 2.0]], "tue": [[3.0, 4.0], [5.0, 6.0]]})
    >>> X.shape, names
    ((3, 2), ['mon', 'tue', 'tue'])
    """
    if isinstance(sets, np.ndarray | str) or hasattr(sets, "toarray") or not hasattr(sets, "__iter__"):
        raise InputError(f"fit_sets got one {type(sets).__name__}; expected several sets, such as a list of arrays.")
    pieces: list[Floats] = []
    names: list[Hashable] = []
    for place, item in enumerate(sets.items() if hasattr(sets, "items") else sets):
        name, rows = item if isinstance(item, tuple) and len(item) == 2 else (place, item)
        if isinstance(rows, FeatureSet):
            name, rows = rows.name, np.concatenate(list(rows.chunks()))
        piece = as_rows(rows, f"Set {name!r}").astype(np.float64)
        if pieces:
            same_features(pieces[0].shape[1], piece.shape[1], f"Set {name!r}")
        pieces.append(piece)
        names += [name] * len(piece)
    if not pieces:
        raise InputError("There are no sets. Give at least two, such as a list of arrays.")
    return np.concatenate(pieces), names
