"""Teach an anomaly detector what to ignore: FOCUS, learned from sets of normal data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from undistract.version import __version__ as __version__

if TYPE_CHECKING:
    from undistract.algebra import Moments, SetMoments, SketchedMoments, Spectrum, rank_functions
    from undistract.detect import (
        Alarm,
        AlarmBudget,
        Conformal,
        DiscriminativeDetector,
        Explanation,
        FocusDetector,
        FocusPenalty,
        MostSets,
        NearestDetector,
        Quantile,
        RidgeMahalanobis,
        Scores,
        SparseCombinationDetector,
        Tail,
        Threshold,
        detector,
        explain,
        find_alarms,
    )
    from undistract.errors import ClusterError, EvidenceWarning, FileError, InputError, NoSetsWarning
    from undistract.focus import Focus
    from undistract.kernel import KernelFocus
    from undistract.neural import NeuralFocus
    from undistract.recognise import Recogniser
    from undistract.sets import FeatureSet
    from undistract.storage import describe_file, export_onnx, load, save
    from undistract.workflow import (
        Model,
        Reading,
        denoise,
        learn,
        merge,
        read_sets,
        relearn,
        score,
        transform,
        write_report,
    )

__all__ = [
    "Alarm",
    "AlarmBudget",
    "ClusterError",
    "Conformal",
    "DiscriminativeDetector",
    "EvidenceWarning",
    "Explanation",
    "FeatureSet",
    "FileError",
    "Focus",
    "FocusDetector",
    "FocusPenalty",
    "InputError",
    "KernelFocus",
    "Model",
    "Moments",
    "MostSets",
    "NearestDetector",
    "NeuralFocus",
    "NoSetsWarning",
    "Quantile",
    "Reading",
    "Recogniser",
    "RidgeMahalanobis",
    "Scores",
    "SetMoments",
    "SketchedMoments",
    "SparseCombinationDetector",
    "Spectrum",
    "Tail",
    "Threshold",
    "denoise",
    "describe_file",
    "detector",
    "explain",
    "export_onnx",
    "find_alarms",
    "learn",
    "load",
    "merge",
    "rank_functions",
    "read_sets",
    "relearn",
    "save",
    "score",
    "transform",
    "write_report",
]

_ROOMS = {
    "algebra": (
        "Moments",
        "SetMoments",
        "SketchedMoments",
        "Spectrum",
        "rank_functions",
    ),
    "detect": (
        "Alarm",
        "AlarmBudget",
        "Conformal",
        "DiscriminativeDetector",
        "Explanation",
        "FocusDetector",
        "FocusPenalty",
        "MostSets",
        "NearestDetector",
        "Quantile",
        "RidgeMahalanobis",
        "Scores",
        "SparseCombinationDetector",
        "Tail",
        "Threshold",
        "detector",
        "explain",
        "find_alarms",
    ),
    "errors": (
        "ClusterError",
        "EvidenceWarning",
        "FileError",
        "InputError",
        "NoSetsWarning",
    ),
    "focus": ("Focus",),
    "kernel": ("KernelFocus",),
    "neural": ("NeuralFocus",),
    "recognise": ("Recogniser",),
    "sets.feature_set": ("FeatureSet",),
    "storage": (
        "describe_file",
        "export_onnx",
        "load",
        "save",
    ),
    "workflow": (
        "Model",
        "Reading",
        "denoise",
        "learn",
        "merge",
        "read_sets",
        "relearn",
        "score",
        "transform",
        "write_report",
    ),
}
_HOME = {name: f"undistract.{room}" for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    # Names are fetched when first used, so that `import undistract` stays quick.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'undistract' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
