"""Where rows come from."""

from undistract.sets.digits import digits_under_light
from undistract.sets.feature_set import FeatureSet
from undistract.sets.find import find_sets
from undistract.sets.images import image_set
from undistract.sets.light import UnderLight, gradients, lit
from undistract.sets.silhouettes import silhouettes_under_light
from undistract.sets.synthetic import analytic_example, mixed
from undistract.sets.windows import windowed

__all__ = [
    "FeatureSet",
    "UnderLight",
    "analytic_example",
    "digits_under_light",
    "find_sets",
    "gradients",
    "image_set",
    "lit",
    "mixed",
    "silhouettes_under_light",
    "windowed",
]
