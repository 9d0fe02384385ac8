"""Detectors, thresholds and alarms: rows → scores → alarms."""

from undistract.detect.alarms import Alarm, find_alarms
from undistract.detect.base import Detector, Scores
from undistract.detect.calibration import Calibration, cross_val_scores, relative_to_group
from undistract.detect.density_ratio import DensityRatioDetector
from undistract.detect.discriminative import DiscriminativeDetector
from undistract.detect.explain import Explanation, explain
from undistract.detect.focus_detector import FocusDetector
from undistract.detect.mahalanobis import RidgeMahalanobis
from undistract.detect.metrics import Quality, quality, quality_interval
from undistract.detect.nearest import NearestDetector
from undistract.detect.registry import DETECTORS, SAVEABLE_DETECTORS, THRESHOLDS, AdaptedDetector, as_detector
from undistract.detect.sparse import SparseCombinationDetector
from undistract.detect.tails import Tail
from undistract.detect.thresholds import (
    AlarmBudget,
    Conformal,
    GroupQuantile,
    Quantile,
    Threshold,
    ThresholdRule,
    benjamini_hochberg,
)

__all__ = [
    "DETECTORS",
    "SAVEABLE_DETECTORS",
    "THRESHOLDS",
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
    "GroupQuantile",
    "NearestDetector",
    "Quality",
    "Quantile",
    "RidgeMahalanobis",
    "Scores",
    "SparseCombinationDetector",
    "Tail",
    "Threshold",
    "ThresholdRule",
    "as_detector",
    "benjamini_hochberg",
    "cross_val_scores",
    "explain",
    "find_alarms",
    "quality",
    "quality_interval",
    "relative_to_group",
]
