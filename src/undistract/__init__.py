"""Remove nuisance variation before anomaly detection: FOCUS, fitted on groups of normal data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from undistract.version import __version__ as __version__

if TYPE_CHECKING:
    from undistract.algebra import Feedback as Feedback
    from undistract.algebra import GroupMoments as GroupMoments
    from undistract.algebra import Moments as Moments
    from undistract.algebra import SketchedMoments as SketchedMoments
    from undistract.algebra import Spectrum as Spectrum
    from undistract.algebra import rank_functions as rank_functions
    from undistract.detect import Alarm as Alarm
    from undistract.detect import AlarmBudget as AlarmBudget
    from undistract.detect import Conformal as Conformal
    from undistract.detect import DiscriminativeDetector as DiscriminativeDetector
    from undistract.detect import Explanation as Explanation
    from undistract.detect import FocusDetector as FocusDetector
    from undistract.detect import GroupQuantile as GroupQuantile
    from undistract.detect import NearestDetector as NearestDetector
    from undistract.detect import Quantile as Quantile
    from undistract.detect import RidgeMahalanobis as RidgeMahalanobis
    from undistract.detect import Scores as Scores
    from undistract.detect import SparseCombinationDetector as SparseCombinationDetector
    from undistract.detect import Tail as Tail
    from undistract.detect import Threshold as Threshold
    from undistract.detect import as_detector as as_detector
    from undistract.detect import explain as explain
    from undistract.detect import find_alarms as find_alarms
    from undistract.errors import ClusterError as ClusterError
    from undistract.errors import EvidenceWarning as EvidenceWarning
    from undistract.errors import FileError as FileError
    from undistract.errors import InputError as InputError
    from undistract.errors import NoGroupsWarning as NoGroupsWarning
    from undistract.few_shot import FewShotClassifier as FewShotClassifier
    from undistract.focus import Focus as Focus
    from undistract.kernel import KernelFocus as KernelFocus
    from undistract.neural import NeuralFocus as NeuralFocus
    from undistract.penalty import FocusPenalty as FocusPenalty
    from undistract.pipeline import Model as Model
    from undistract.pipeline import ReadOptions as ReadOptions
    from undistract.pipeline import denoise as denoise
    from undistract.pipeline import learn as learn
    from undistract.pipeline import merge as merge
    from undistract.pipeline import read_sources as read_sources
    from undistract.pipeline import score as score
    from undistract.pipeline import transform as transform
    from undistract.pipeline import write_report as write_report
    from undistract.review import relearn as relearn
    from undistract.sources.source import Source as Source
    from undistract.storage import describe_file as describe_file
    from undistract.storage import export_onnx as export_onnx
    from undistract.storage import load as load
    from undistract.storage import save as save

_EXPORTS = {
    "algebra": "Feedback GroupMoments Moments SketchedMoments Spectrum rank_functions",
    "detect": """
        Alarm AlarmBudget Conformal DiscriminativeDetector Explanation FocusDetector GroupQuantile NearestDetector
        Quantile RidgeMahalanobis Scores SparseCombinationDetector Tail Threshold as_detector explain find_alarms""",
    "errors": "ClusterError EvidenceWarning FileError InputError NoGroupsWarning",
    "few_shot": "FewShotClassifier",
    "focus": "Focus",
    "kernel": "KernelFocus",
    "neural": "NeuralFocus",
    "penalty": "FocusPenalty",
    "pipeline": "Model ReadOptions denoise learn merge read_sources score transform write_report",
    "review": "relearn",
    "sources.source": "Source",
    "storage": "describe_file export_onnx load save",
}
_MODULE_OF = {name: f"undistract.{module}" for module, names in _EXPORTS.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    # Import a name when it is first used, so that `import undistract` is fast.
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'undistract' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
