"""The mathematics: frozen values, numpy and scipy only."""

from undistract.algebra.evidence import Evidence
from undistract.algebra.feature_ranking import RankedFunction, rank_functions
from undistract.algebra.feedback import Feedback
from undistract.algebra.moments import GroupMoments, Moments
from undistract.algebra.projection import Projection
from undistract.algebra.selection import Selection, select_directions
from undistract.algebra.sketch import SketchedMoments
from undistract.algebra.spectrum import Spectrum
from undistract.algebra.summary import FocusSummary

__all__ = [
    "Evidence",
    "Feedback",
    "FocusSummary",
    "GroupMoments",
    "Moments",
    "Projection",
    "RankedFunction",
    "Selection",
    "SketchedMoments",
    "Spectrum",
    "rank_functions",
    "select_directions",
]
