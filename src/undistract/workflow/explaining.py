"""What a model ignores, in words and as one picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from undistract.report.contents import Learned
from undistract.report.learned_picture import learned_picture
from undistract.report.plots import check_picture_name, save_figure
from undistract.workflow.model import Model


@dataclass(frozen=True)
class Ignored:
    """One direction that is ignored: how distracting it is, and the features that move most along it."""

    distraction: float
    steps: dict[str, float]  # feature → one typical step, the strongest first


def ignored_directions(model: Model, *, n_features: int = 8) -> list[Ignored]:
    """Say which features move along each direction that is ignored.

    Examples
    --------
    >>> from undistract import FeatureSet, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> [list(one.steps) for one in ignored_directions(learn(days), n_features=1)]
    [['x0']]
    """
    learned = Learned.of(model.focus, feature_names=model.feature_names)
    found = []
    for place in range(model.focus.n_removed_):
        pattern = model.focus.patterns_[:, place]
        order = np.argsort(-np.abs(pattern), kind="stable")[:n_features]
        turn = -1.0 if pattern[order[0]] < 0 else 1.0  # a pattern's sign is arbitrary
        steps = {learned.feature_names[feature]: float(turn * pattern[feature]) for feature in order}
        found.append(Ignored(float(model.focus.distraction_[place]), steps))
    return found


def save_learned_picture(model: Model, path: str | Path) -> Path:
    """Draw how distracting each direction is, and what the ignored ones look like."""
    path = Path(path)
    check_picture_name(path)
    figure = learned_picture(Learned.of(model.focus, feature_names=model.feature_names, image_shape=model.image_shape))
    return save_figure(figure, path)
