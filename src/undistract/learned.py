"""What an estimator shows of the directions it learned: attributes, read off its spectrum, cut and projection.

sets that grow ─► moments ─► spectrum ─► cut ─► projection, each found when it is first asked for
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from undistract.algebra import Cut, Moments, Projection, SketchedMoments, Spectrum, cut
from undistract.algebra.cushion import check_cushion
from undistract.algebra.cutoff import check_cut, needed
from undistract.algebra.growing import Growing
from undistract.algebra.leading import Wanted
from undistract.algebra.projection import check_removal
from undistract.algebra.sketched_spectrum import sketched_cut, sketched_spectrum
from undistract.algebra.solvers import dense
from undistract.algebra.spectrum import Solver, is_learnable, n_moving
from undistract.algebra.strength import check_strength
from undistract.arrays import Floats
from undistract.errors import InputError


class Solution(NamedTuple):
    """What moments say."""

    spectrum: Spectrum
    cut: Cut
    projection: Projection


class Settings(NamedTuple):
    """Settings as they were when rows came; those of the estimator may be changed since, for the next time."""

    cutoff: Any
    n_remove: Any
    cushion: Any
    absolute_cushion: Any
    prior: Any
    removal: Any
    strength: Any = "auto"

    def check(self) -> None:
        """Refuse settings that make no sense for any rows."""
        check_cushion(self.cushion)
        check_cut(self.cutoff, self.n_remove)
        check_removal(self.removal)
        check_strength(self.strength)

    def solve(self, moments: Moments, *, may_wait: bool, solve: Solver = dense) -> Solution:
        """Go from moments to the projection; with `may_wait`, moments that tell nothing yet are no error."""
        spectrum, decision = Spectrum.unknown(moments), Cut(0, 1.0, "unknown", ())
        if is_learnable(moments):
            spectrum = self._spectrum(moments, solve)
            decision = self._decide(moments, spectrum, may_wait)
        return Solution(spectrum, decision, Projection.of(spectrum, decision.n_removed, self.removal, self.strength))

    def _spectrum(self, moments: Moments | SketchedMoments, solve: Solver) -> Spectrum:
        if isinstance(moments, SketchedMoments):
            return sketched_spectrum(moments, cushion=self.cushion, absolute=self.absolute_cushion)
        # Only "eigen" reads what is kept by its filters; for the others, those that may go are enough.
        few = self.removal != "eigen" and solve is dense
        wanted = needed(self.cutoff, self.n_remove) if few else None
        return Spectrum.of(moments, cushion=self.cushion, absolute=self.absolute_cushion, wanted=wanted, solve=solve)

    def _decide(self, moments: Moments | SketchedMoments, spectrum: Spectrum, may_wait: bool) -> Cut:
        try:
            if isinstance(moments, SketchedMoments):
                return sketched_cut(moments, spectrum, cutoff=self.cutoff, n_remove=self.n_remove)
            return cut(spectrum, cutoff=self.cutoff, n_remove=self.n_remove)
        except InputError as error:
            if not may_wait:
                raise
            # More rows may make the cut possible; until then nothing goes.
            return Cut(0, 1.0, "waiting", (str(error),))


class LearnedDirections:
    """Attributes of whatever learned a spectrum, decided on a cut, and made a projection.

    They are set where all is known, or left out (`_wait`): then the first question finds them.
    """

    n_features_in_: int
    growing_: Growing
    settings_: Settings

    @cached_property
    def moments_(self) -> Moments:
        """All that is remembered of the rows."""
        # Not fitted, these are missing, and that is what the error says.
        return self.growing_.moments("uniform" if self.growing_.names == (None,) else self.settings_.prior)

    @cached_property
    def spectrum_(self) -> Spectrum:
        """How distracting each direction is."""
        return self._solved().spectrum

    @cached_property
    def cut_(self) -> Cut:
        """Which directions go, and why."""
        return self._solved().cut

    @cached_property
    def projection_(self) -> Projection:
        """What takes them out of rows."""
        return self._solved().projection

    def _wait(self, growing: Growing, settings: Settings) -> None:
        """Keep what rows brought; what it says is found when somebody asks."""
        self.growing_, self.settings_ = growing, settings
        for name in ("moments_", "spectrum_", "cut_", "projection_"):
            self.__dict__.pop(name, None)

    @property
    def is_waiting(self) -> bool:
        """Whether rows came since the last question."""
        return "projection_" not in self.__dict__

    def _solved(self) -> Solution:
        """Find all at once, for whoever asks next."""
        solution = self.settings_.solve(self.moments_, may_wait=True)
        self.spectrum_, self.cut_, self.projection_ = solution
        return solution

    def whole_spectrum(self) -> Spectrum:
        """Return every direction; where only the most distracting were needed so far, the others are solved for now."""
        if not self.spectrum_.is_whole:
            self.spectrum_ = Spectrum.of(self.moments_, cushion=self.spectrum_.cushion, absolute=True)
        return self.spectrum_

    def _described(self) -> tuple[Spectrum, int]:
        """Return the directions that go and the next, and how many vary inside sets: far less than all of them."""
        if self.spectrum_.is_whole:
            return self.spectrum_, self.spectrum_.n_moving
        spectrum, moving = self.spectrum_, min(n_moving(self.moments_), self.spectrum_.n_directions)
        number = min(self.cut_.n_removed + 1, moving)
        if len(spectrum.distraction) < number:
            wanted = Wanted(np.inf, number)
            spectrum = Spectrum.of(self.moments_, cushion=spectrum.cushion, absolute=True, wanted=wanted)
        if spectrum.is_whole:  # it came to that, and need not be done again
            self.spectrum_, moving = spectrum, spectrum.n_moving
        return spectrum, moving

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
        """Say of each direction whether it is distracting, descriptive or constant, (d,).

        Unknown is what no two sets show yet, and what lies beyond a sketch.
        """
        if not is_learnable(self.moments_):
            return np.full(self.n_features_in_, "unknown")
        kinds = self.whole_spectrum().kinds(self.n_removed_)
        if isinstance(self.moments_, SketchedMoments) and self.moments_.dropped > 0:
            kinds[self.spectrum_.n_moving :] = "unknown"
        return kinds

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
