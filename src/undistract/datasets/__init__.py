"""Small data sets to try things on: synthetic rows, illuminated digits, silhouettes, drawn clips."""

from undistract.datasets.digits import make_illuminated_digits
from undistract.datasets.illumination import IlluminationExperiment, add_illumination, illumination_basis
from undistract.datasets.silhouettes import make_illuminated_silhouettes
from undistract.datasets.synthetic import analytic_example, mix_features

__all__ = [
    "IlluminationExperiment",
    "add_illumination",
    "analytic_example",
    "illumination_basis",
    "make_illuminated_digits",
    "make_illuminated_silhouettes",
    "mix_features",
]
