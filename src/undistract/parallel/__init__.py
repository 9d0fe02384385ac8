"""The same moments, gathered by many workers; the same scores, block by block (extra `dask`)."""

from undistract.parallel.clusters import opened_cluster
from undistract.parallel.gathering import gather, gather_noting, gather_parquet, in_turn
from undistract.parallel.run import runner
from undistract.parallel.scoring import anomaly_score, transform

__all__ = [
    "anomaly_score",
    "gather",
    "gather_noting",
    "gather_parquet",
    "in_turn",
    "opened_cluster",
    "runner",
    "transform",
]
