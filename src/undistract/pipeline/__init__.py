"""What the commands do, without a terminal: sources in, a model out; new sources in, scores and a report out.

read_sources ─► learn ─► Model ─► score ─► ScoreResult ─► write_report
                           ▲                   └─► review (`undistract.review.session`) ─┐
                           └──────────────────── relearn ◄────────────────────────────────┘
"""

from undistract.pipeline.export import convert, load_model_and_scores, open_file, write_scores
from undistract.pipeline.model import Model
from undistract.pipeline.reporting import Ignored, ignored_directions, render, save_model_figure, write_report
from undistract.pipeline.scoring import ScoreResult, SourceScores, reopen_sources, score
from undistract.pipeline.training import learn, merge
from undistract.pipeline.transforms import Denoised, denoise, series_reading, transform
from undistract.sources.discover import discover_sources as read_sources
from undistract.sources.options import ReadOptions

__all__ = [
    "Denoised",
    "Ignored",
    "Model",
    "ReadOptions",
    "ScoreResult",
    "SourceScores",
    "convert",
    "denoise",
    "ignored_directions",
    "learn",
    "load_model_and_scores",
    "merge",
    "open_file",
    "read_sources",
    "render",
    "reopen_sources",
    "save_model_figure",
    "score",
    "series_reading",
    "transform",
    "write_report",
    "write_scores",
]
