"""The mathematics: frozen values, numpy and scipy only."""

from undistract.algebra.cutoff import Cut, cut
from undistract.algebra.evidence import Evidence
from undistract.algebra.functions import RankedFunction, rank_functions
from undistract.algebra.moments import Moments
from undistract.algebra.projection import Projection
from undistract.algebra.set_moments import SetMoments
from undistract.algebra.sketch import SketchedMoments
from undistract.algebra.spectrum import Spectrum
from undistract.algebra.taught import Taught
from undistract.algebra.words import describe

__all__ = [
    "Cut",
    "Evidence",
    "Moments",
    "Projection",
    "RankedFunction",
    "SetMoments",
    "SketchedMoments",
    "Spectrum",
    "Taught",
    "cut",
    "describe",
    "rank_functions",
]
