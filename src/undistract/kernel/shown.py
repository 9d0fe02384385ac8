"""What an estimator shows of the linear `Focus` that it holds."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from undistract.algebra import Moments
from undistract.arrays import Floats
from undistract.focus import Focus


class ShowsFocus:
    """Attributes of whatever learned by a `Focus` of its own."""

    focus_: Focus

    @property
    def distraction_(self) -> Floats:
        """How distracting each direction is, largest first."""
        return self.focus_.distraction_

    @property
    def debiased_distraction_(self) -> Floats:
        """Distraction as it would read with endless rows per set."""
        return self.focus_.debiased_distraction_

    @property
    def kinds_(self) -> npt.NDArray[Any]:
        """Say of each direction whether it is distracting, descriptive or constant."""
        return self.focus_.kinds_

    @property
    def n_removed_(self) -> int:
        """How many directions are removed."""
        return self.focus_.n_removed_

    @property
    def cutoff_(self) -> float:
        """The least distraction that is removed."""
        return self.focus_.cutoff_

    @property
    def moments_(self) -> Moments:
        """All that is remembered of the coordinates."""
        return self.focus_.moments_

    @property
    def _n_features_out(self) -> int:
        return self.focus_._n_features_out
