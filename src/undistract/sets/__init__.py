"""Where rows come from."""

from undistract.sets.digits import DigitsUnderLight, digits_under_light
from undistract.sets.feature_set import FeatureSet
from undistract.sets.synthetic import analytic_example, mixed

__all__ = ["DigitsUnderLight", "FeatureSet", "analytic_example", "digits_under_light", "mixed"]
