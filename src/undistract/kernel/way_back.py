"""The way back: from coordinates in the space of a kernel to rows.

    B = argmin |X - μ - (Z - ν) B|² + r |B|²        X the rows that span, Z their coordinates
    row ≈ μ + (z - ν) B

Learned by ridge regression, as few points of that space are the image of any row. For the linear kernel it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from undistract.arrays import TINY, Floats, Rows
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.kernel.kernels import PRECOMPUTED, is_precomputed
from undistract.kernel.maps import FourierMap, SpanMap

RIDGE = 1e-10  # relative to the largest variance of the coordinates


@dataclass(frozen=True, eq=False)
class WayBack:
    """A linear map from coordinates to rows.

    Examples
    --------
    >>> from undistract.kernel.kernels import Kernel
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> span = SpanMap.of(X, Kernel.of(X, "rbf"))
    >>> bool(np.abs(WayBack.of(span)(span(X)) - X).max() < 0.1)
    True
    """

    mean: Floats  # (d,) of the rows
    middle: Floats  # (r,) of their coordinates
    weights: Floats  # (r, d)

    @classmethod
    def of(cls, span: SpanMap) -> WayBack:
        """Learn from the rows that span."""
        rows, coordinates = span.rows, span(span.rows)
        mean, middle = rows.mean(axis=0), coordinates.mean(axis=0)
        spread = coordinates - middle
        # Wide and short or long and narrow, a singular value decomposition solves it without squares.
        left, lengths, right = np.linalg.svd(spread, full_matrices=False)
        damped = lengths / (lengths**2 + RIDGE * max(float(lengths[0]) ** 2, TINY))
        return cls(mean, middle, right.T @ (damped[:, None] * (left.T @ (rows - mean))))

    def __call__(self, Z: Floats) -> Floats:
        """Rebuild rows, (n, d)."""
        return self.mean + self.difference(Z - self.middle)

    def difference(self, steps: Floats) -> Floats:
        """Tell by how much rows differ whose coordinates differ by some steps, (n, d)."""
        return steps @ self.weights


def _goes_back(focus: GoesBack) -> bool:
    if focus.approx == "fourier" or is_precomputed(focus.kernel):
        raise _no_way_back()
    return True


def _no_way_back() -> InputError:
    return InputError(
        "There is no way back from random waves, nor from a precomputed kernel: no row is known there. Use approx=None "
        "or 'nystroem', with a kernel of rows."
    )


class GoesBack:
    """An estimator that goes from coordinates back to rows, where rows are known."""

    kernel: Any
    approx: str | None
    focus_: Focus
    map_: SpanMap | FourierMap
    _found: tuple[SpanMap, WayBack] | None = None

    @available_if(_goes_back)  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Rows:
        """Find rows whose coordinates are near those given, with what was removed at its mean.

        Few coordinates belong to a row: what comes back is learned from the rows that span, by ridge regression.
        """
        check_is_fitted(self, "focus_")
        X = check_array(X, dtype=[np.float64, np.float32])
        back: Rows = self._way_back()(self.focus_.inverse_transform(X.astype(np.float64))).astype(X.dtype, copy=False)
        return back

    def denoise(self, X: Any, *, removal: str = "oblique") -> Rows:
        """Return the rows in their original features, without what distracts.

        What is taken off a row is the difference that the removal makes to what can be rebuilt of it; what the kernel
        does not see of a row stays. A healthy cushion is the better one here: ``cushion=0.1, cutoff=0.95``.
        """
        rows, dtype = self._rows(X)
        back, coordinates = self._way_back(), self.map_(rows)
        clean: Rows = rows - back.difference(coordinates - self.focus_.denoise(coordinates, removal=removal))
        return clean.astype(dtype, copy=False)

    def _rows(self, X: Any) -> tuple[Floats, npt.DTypeLike]:
        check_is_fitted(self, "focus_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X.astype(np.float64), X.dtype

    def _way_back(self) -> WayBack:
        if isinstance(self.map_, FourierMap) or self.map_.kernel.name == PRECOMPUTED:
            raise _no_way_back()
        # It is kept for as long as the map is the same: to find it takes seconds where thousands of rows span.
        if self._found is None or self._found[0] is not self.map_:
            self._found = self.map_, WayBack.of(self.map_)
        return self._found[1]
