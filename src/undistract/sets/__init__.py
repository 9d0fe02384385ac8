"""Where rows come from."""

from undistract.sets.digits import digits_under_light
from undistract.sets.feature_set import FeatureSet
from undistract.sets.light import UnderLight, gradients, lit
from undistract.sets.silhouettes import silhouettes_under_light
from undistract.sets.synthetic import analytic_example, mixed

__all__ = [
    "FeatureSet",
    "UnderLight",
    "analytic_example",
    "digits_under_light",
    "gradients",
    "lit",
    "mixed",
    "silhouettes_under_light",
]
