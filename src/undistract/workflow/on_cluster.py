"""Learning and scoring on the workers of a cluster: files are read there, sums and scores come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from undistract.algebra import Moments
from undistract.algebra.prior import Weights
from undistract.arrays import Rows
from undistract.detect.sample import samples_for
from undistract.sets.feature_set import FeatureSet


def gather_on(
    cluster: Any,
    sets: Sequence[FeatureSet],
    *,
    prior: Weights = "uniform",
    n_known: int | None = None,
    progress: bool | None = False,
) -> tuple[Moments, list[Rows]]:
    """Sum up sets on a cluster, and bring a sample of each home.

    Parameters
    ----------
    cluster : distributed.Client or str
        As in `undistract.parallel.opened_cluster`.
    sets : sequence of FeatureSet
    prior : {"uniform", "by_size"}, mapping or sequence
    n_known : int, optional
        How many rows all samples hold together; none without it.
    progress : bool or None

    Returns
    -------
    moments : Moments
    known : list of (n_m, d) arrays
        The same rows as `FocusDetector.fit_sets` keeps.
    """
    from undistract.parallel import gather_noting, opened_cluster, runner

    watch = None if n_known is None else samples_for(len(sets), n_known)
    with opened_cluster(cluster) as client:
        return gather_noting(sets, runner(client), watch=watch, prior=prior, progress=progress)


def each_on(cluster: Any, do: Callable[[FeatureSet], Any], sets: Sequence[FeatureSet]) -> Iterator[Any]:
    """Do something with every set on a cluster; results come in the order of the sets."""
    from undistract.parallel import in_turn, opened_cluster, runner

    with opened_cluster(cluster) as client:
        yield from in_turn(do, sets, runner(client))
