"""Rows → scores → alarms."""

from undistract.detect.adapters import AdaptedDetector, detector
from undistract.detect.alarms import Alarm, find_alarms
from undistract.detect.budget import AlarmBudget
from undistract.detect.calibration import Calibration, relative_to_set
from undistract.detect.conformal import Conformal, MostSets, benjamini_hochberg
from undistract.detect.density_ratio import DensityRatioDetector
from undistract.detect.discriminative import DiscriminativeDetector
from undistract.detect.explain import Explanation, explain
from undistract.detect.focus_detector import FocusDetector
from undistract.detect.focus_penalty import FocusPenalty
from undistract.detect.held_out import held_out_scores
from undistract.detect.mahalanobis import RidgeMahalanobis
from undistract.detect.nearest import NearestDetector
from undistract.detect.quality import Quality, quality, quality_interval
from undistract.detect.scores import Detector, Scores
from undistract.detect.sparse_combination import SparseCombinationDetector
from undistract.detect.tail import Tail
from undistract.detect.thresholds import Quantile, Threshold, ThresholdRule

__all__ = [
    "AdaptedDetector",
    "Alarm",
    "AlarmBudget",
    "Calibration",
    "Conformal",
    "DensityRatioDetector",
    "Detector",
    "DiscriminativeDetector",
    "Explanation",
    "FocusDetector",
    "FocusPenalty",
    "MostSets",
    "NearestDetector",
    "Quality",
    "Quantile",
    "RidgeMahalanobis",
    "Scores",
    "SparseCombinationDetector",
    "Tail",
    "Threshold",
    "ThresholdRule",
    "benjamini_hochberg",
    "detector",
    "explain",
    "find_alarms",
    "held_out_scores",
    "quality",
    "quality_interval",
    "relative_to_set",
]
