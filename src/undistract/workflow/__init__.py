"""The story in a few functions: sets in, a model out; new sets in, scores and a report out.

read_sets ─► learn ─► Model ─► score ─► ScoredSets ─► write_report
"""

from undistract.workflow.model import Model, learn, merge
from undistract.workflow.reading import Reading, read_sets
from undistract.workflow.reporting import write_report
from undistract.workflow.scoring import Scored, ScoredSets, score

__all__ = ["Model", "Reading", "Scored", "ScoredSets", "learn", "merge", "read_sets", "score", "write_report"]
