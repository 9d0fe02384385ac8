"""What an estimator shows of the directions it learned: attributes, read off its spectrum, cut and projection."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.algebra import Cut, Moments, Projection, Spectrum
from undistract.algebra.spectrum import is_learnable
from undistract.arrays import Floats


class LearnedDirections:
    """Attributes of whatever learned a spectrum, decided on a cut, and made a projection."""

    n_features_in_: int
    moments_: Moments
    spectrum_: Spectrum
    cut_: Cut
    projection_: Projection

    def whole_spectrum(self) -> Spectrum:
        """Return every direction; where only the most distracting were needed so far, the others are solved for now."""
        if not self.spectrum_.is_whole:
            self.spectrum_ = Spectrum.of(self.moments_, cushion=self.spectrum_.cushion, absolute=True)
        return self.spectrum_

    @property
    def distraction_(self) -> Floats:
        """How distracting each direction is, (d,), largest first."""
        return self._for_all_directions(self.whole_spectrum().distraction)

    @property
    def debiased_distraction_(self) -> Floats:
        """Distraction as it would read with endless rows per set, (d,)."""
        return self._for_all_directions(self.whole_spectrum().debiased)

    @property
    def kinds_(self) -> npt.NDArray[Any]:
        """Say of each direction whether it is distracting, descriptive or constant, (d,)."""
        if not is_learnable(self.moments_):
            return np.full(self.n_features_in_, "unknown")
        return self.whole_spectrum().kinds(self.n_removed_)

    @property
    def filters_(self) -> Floats:
        """What reads each direction, (d, q)."""
        return self.whole_spectrum().filters

    @property
    def patterns_(self) -> Floats:
        """How rows move along each direction, (d, q)."""
        return self.whole_spectrum().patterns

    @property
    def components_(self) -> Floats:
        """Orthonormal basis of what is kept, (k, d)."""
        return self.projection_.kept_basis

    @property
    def n_removed_(self) -> int:
        """How many directions are removed."""
        return self.cut_.n_removed

    @property
    def cutoff_(self) -> float:
        """The least distraction that is removed."""
        return self.cut_.cutoff

    @property
    def _n_features_out(self) -> int:
        return self.projection_.n_out

    def _for_all_directions(self, values: Floats) -> Floats:
        """Directions without vectors never varied: their distraction is zero."""
        return np.pad(values, (0, self.n_features_in_ - len(values)))
