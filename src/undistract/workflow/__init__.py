"""The story in a few functions: sets in, a model out; new sets in, scores and a report out.

read_sets ─► learn ─► Model ─► score ─► ScoredSets ─► write_report
                        ▲                   └─► review (`undistract.workflow.desk`) ─┐
                        └────────────────────── relearn ◄────────────────────────────┘
"""

from undistract.workflow.denoising import Denoised, denoise, series_reading
from undistract.workflow.explaining import Ignored, ignored_directions, save_learned_picture
from undistract.workflow.learned_files import convert, open_file, what_to_report
from undistract.workflow.learning import learn, merge
from undistract.workflow.model import Model
from undistract.workflow.reading import Reading, read_again, read_sets
from undistract.workflow.relearning import relearn
from undistract.workflow.rendering import render
from undistract.workflow.reporting import write_report
from undistract.workflow.score_files import write_scores
from undistract.workflow.scoring import Scored, ScoredSets, score
from undistract.workflow.transforming import transform

__all__ = [
    "Denoised",
    "Ignored",
    "Model",
    "Reading",
    "Scored",
    "ScoredSets",
    "convert",
    "denoise",
    "ignored_directions",
    "learn",
    "merge",
    "open_file",
    "read_again",
    "read_sets",
    "relearn",
    "render",
    "save_learned_picture",
    "score",
    "series_reading",
    "transform",
    "what_to_report",
    "write_report",
    "write_scores",
]
