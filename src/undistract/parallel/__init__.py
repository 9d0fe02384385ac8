"""Moments, transforms and scores computed by Dask workers (extra `dask`)."""

from undistract.parallel.gathering import gather, gather_parquet, gather_with_samples, map_groups
from undistract.parallel.runners import open_cluster, runner
from undistract.parallel.scoring import anomaly_score, transform

__all__ = [
    "anomaly_score",
    "gather",
    "gather_parquet",
    "gather_with_samples",
    "map_groups",
    "open_cluster",
    "runner",
    "transform",
]
