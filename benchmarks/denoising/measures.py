"""How close an image or a signal is to the clean one: PSNR and SSIM, high is close.

    PSNR    10 log₁₀ (peak² / mean squared error), in dB
    SSIM    (2 μ_x μ_y + c₁)(2 σ_xy + c₂) / ((μ_x² + μ_y² + c₁)(σ_x² + σ_y² + c₂)), the mean over all places

SSIM is that of Wang, Bovik, Sheikh and Simoncelli (2004), with their constants: a Gaussian window of 11 × 11 pixels and
width 1.5, c₁ = (.01 peak)², c₂ = (.03 peak)²; only positions with the whole window inside the image count.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from undistract._arrays import Floats, Rows

WIDTH, RADIUS = 1.5, 5


def psnr(rows: Rows, clean: Rows, peak: float = 1.0) -> Floats:
    """Peak signal-to-noise ratio of each row, (n,); without bound where nothing differs."""
    error = ((rows.astype(np.float64) - clean) ** 2).mean(axis=1)
    with np.errstate(divide="ignore"):
        ratio: Floats = 10 * np.log10(peak**2 / error)
    return ratio


def ssim(images: Rows, clean: Rows, peak: float = 1.0) -> Floats:
    """Structural similarity of each image (n, height, width) and its clean one, (n,); 1 where they are equal."""
    x, y = images.astype(np.float64), clean.astype(np.float64)
    mean_x, mean_y = _blurred(x), _blurred(y)
    var_x, var_y = _blurred(x * x) - mean_x**2, _blurred(y * y) - mean_y**2
    covariance = _blurred(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    level = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    shape = (2 * covariance + c2) / (var_x + var_y + c2)
    inside = (level * shape)[:, RADIUS:-RADIUS, RADIUS:-RADIUS]
    similarity: Floats = inside.mean(axis=(1, 2))
    return similarity


def _blurred(images: Floats) -> Floats:
    blurred: Floats = gaussian_filter(images, (0, WIDTH, WIDTH), radius=(0, RADIUS, RADIUS))
    return blurred
