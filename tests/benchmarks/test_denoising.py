"""The denoising benchmark: measures with answers known by hand, tasks, and the page of results."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from benchmarks.denoising import faces, page
from benchmarks.denoising.measures import psnr, ssim
from benchmarks.denoising.run import COLUMNS, measure, without
from benchmarks.denoising.tasks import hum, silhouettes
from undistract import Moments


def test_error_of_a_tenth_of_the_peak_is_twenty_decibels():
    clean = np.zeros((2, 50))
    np.testing.assert_allclose(psnr(clean + 0.1, clean), 20)
    np.testing.assert_allclose(psnr(clean + 0.5, clean, peak=5.0), 20)
    assert np.isinf(psnr(clean, clean)).all()


def test_similarity_is_one_for_equal_images_and_falls_with_noise():
    rng = np.random.default_rng(0)
    images = rng.random((3, 28, 28))
    np.testing.assert_allclose(ssim(images, images), 1)
    little, more = (ssim(images + size * rng.normal(size=images.shape), images) for size in (0.1, 0.5))
    assert (little < 1).all()
    assert (little > more).all()


def test_similarity_of_constant_images_depends_on_the_level():
    dark, bright = np.full((1, 28, 28), 0.2), np.full((1, 28, 28), 0.6)
    level = (2 * 0.2 * 0.6 + 0.01**2) / (0.2**2 + 0.6**2 + 0.01**2)
    np.testing.assert_allclose(ssim(dark, bright), level, rtol=1e-9)


def test_inverted_image_has_similarity_minus_one():
    image = np.tile([[0.0, 1.0], [1.0, 0.0]], (1, 14, 14))
    np.testing.assert_allclose(ssim(1 - image, image), -1, atol=0.01)  # the constants keep it from -1


def test_similarity_of_one_window_matches_the_formula():
    # Wang et al.: weights exp(-(i² + j²)/(2·1.5²)) on 11 × 11 pixels, of sum one.
    step = np.arange(-5, 6)
    window = np.exp(-(step[:, None] ** 2 + step**2) / (2 * 1.5**2))
    window /= window.sum()
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 11, 11))
    mean_x, mean_y = (window * x).sum(), (window * y).sum()
    var_x, var_y = (window * (x - mean_x) ** 2).sum(), (window * (y - mean_y) ** 2).sum()
    both = (window * (x - mean_x) * (y - mean_y)).sum()
    expected = (2 * mean_x * mean_y + 1e-4) * (2 * both + 9e-4)
    expected /= (mean_x**2 + mean_y**2 + 1e-4) * (var_x + var_y + 9e-4)
    np.testing.assert_allclose(ssim(x[None], y[None]), expected, rtol=1e-9)


def test_removed_direction_is_set_to_its_mean():
    moments = Moments.of({"a": [[0.0, 1.0], [2.0, 3.0]], "b": [[4.0, 5.0], [6.0, 7.0]]})
    cleaned = without(moments, np.array([[1.0], [0.0]]))(np.array([[9.0, 8.0]]))
    np.testing.assert_allclose(cleaned, [[3.0, 8.0]])


def test_hum_is_removed_and_every_method_is_measured():
    lines = list(measure(hum(0)))
    assert all(set(line) <= set(COLUMNS) for line in lines)
    measured = {(line["method"], line.get("ridge"), line.get("number")): float(str(line["psnr"])) for line in lines}
    for method in ("orthogonal complement", "oblique", "soft"):
        assert measured[method, 0.1, 2] > measured["nothing", None, None] + 5
    assert measured["NAP", None, 2] > measured["NAP", None, 1]


def test_light_is_removed_from_new_outlines(data):
    (psnr_before, psnr_after) = (
        float(str(line["psnr"]))
        for line in measure(silhouettes(0, 0.5), ridges=(0.1,), numbers=("automatic",), rivals={})
        if line["method"] in ("nothing", "oblique")
    )
    assert psnr_before < 17
    assert psnr_after > 33


def test_face_measures_are_zero_after_exact_removal_of_light():
    rng = np.random.default_rng(0)
    owner = np.repeat([3, 5], 10)
    people = np.zeros((20, 4))
    people[owner == 5, 0] = 1.0
    light = np.zeros((20, 4))
    light[:, 2] = rng.normal(size=20)
    frontal = np.array([0, 10])
    light[frontal] = 0

    def cleaned(X):
        return X * [1, 1, 0, 1]

    unchanged, exact = (faces.measure(clean, people + light, owner, frontal) for clean in (lambda X: X, cleaned))
    assert unchanged["light left"] == unchanged["people left"] == 1
    assert unchanged["to frontal"] > 0
    assert exact["light left"] == exact["to frontal"] == exact["both cleaned"] == 0
    assert exact["recognised"] == 1


def test_page_has_the_tables_of_the_results():
    text = (page.DOCS / "denoising.md").read_text(encoding="utf-8")
    for name, table in page.tables().items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text
