"""The sets behind a file of scores, found again: as many rows as were scored, or a word about what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet
from undistract.sets.identity import named_paths
from undistract.workflow.scoring import ScoredSets


def at_hand(sets: Sequence[FeatureSet], scored: ScoredSets) -> list[FeatureSet]:
    """Find the sets that were scored, with their rows at hand: they are asked for one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.detect import Scores
    >>> from undistract.workflow.scoring import Scored
    >>> scored = ScoredSets((Scored(Scores("tue", [1.0, 9.0]), None, np.zeros(2)),), None, None)
    >>> [one.name for one in at_hand([FeatureSet("mon", np.eye(3)), FeatureSet("tue", np.eye(2))], scored)]
    ['tue']
    """
    by_name = {str(one.name): one for one in sets}
    lost = [str(one.after.name) for one in scored if str(one.after.name) not in by_name]
    if not sets:  # one that has moved keeps all from being found again; only that one is asked for
        lost = [str(one.after.name) for one in scored if not named_paths(one.source)] or lost
    if lost:
        raise InputError(
            f"The data of {len(lost)} of {len(scored)} sets is not there ({lost[0]!r} for one). "
            "Say where it is now: --data PATH."
        )
    held = []
    for had in scored:
        one = by_name[str(had.after.name)]
        rows = one.rows
        if len(rows) != len(had.after):
            raise InputError(
                f"{str(one.name)!r} has {len(rows)} rows now, {len(had.after)} were scored. Score it anew."
            )
        held.append(
            FeatureSet(
                one.name, rows, had.after.times, one.source, feature_names=one.feature_names, row_names=one.row_names
            )
        )
    return held
