"""Figures as SVG in the colours of the page, and images as PNG."""

import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.image import imread

from undistract.errors import InputError
from undistract.report.data import image_pictures
from undistract.report.figures import LONGEST_NAME, bars_figure, figure_svg, new_figure, readable
from undistract.report.images import LARGEST_SIDE, diverging, png_uri

from .reading import Reading
from .test_templates import PAYLOADS


def pixels_of(uri):
    return imread(BytesIO(b64decode(uri.removeprefix("data:image/png;base64,"))), format="png")[..., :3]


def drawn(names=("a", "b")):
    return figure_svg(bars_figure(np.array([1.0, -2.0]), names), "label")


def test_plot_uses_the_colours_of_the_page():
    svg = drawn()
    ET.fromstring(svg)
    assert "var(--amber)" in svg
    assert "var(--blue)" in svg
    assert not re.search(r"#[0-9a-f]{6}", svg)


def test_plot_has_no_style_and_no_url():
    assert not re.search(r"<style|xmlns|http", drawn())


def test_ids_in_different_plots_do_not_conflict():
    parts = {}
    for svg in (drawn(("a", "b")), drawn(("longer name", "c"))):
        for name in re.findall(r'\sid="([^"]+)"', svg):
            assert re.fullmatch(r"[a-z][0-9a-f]{8,}", name)
            definition = re.search(rf'<(\w+) id="{name}".*?</\1>', svg, re.DOTALL)
            assert parts.setdefault(name, definition and definition[0]) == (definition and definition[0])


def test_plot_is_deterministic():
    assert drawn() == drawn()


@pytest.mark.parametrize("payload", [*PAYLOADS, "cost in $", "$x$ and $\\nonsense{$", "日本語 🎥", "a\nb"])
def test_any_text_can_label_a_bar(payload):
    read = Reading(drawn((payload, "b")))
    assert read.dangers() == []
    assert " ".join(readable(payload, LONGEST_NAME).split()) in read.text


def test_label_that_looks_like_svg_is_unchanged():
    name = '#0072b2 id="a" d="1.2345"'
    assert readable(name, LONGEST_NAME) in Reading(drawn((name, "b"))).text


def test_image_keeps_its_pixels():
    grey = np.array([[0.0, 0.5], [1.0, 0.25]])
    assert pixels_of(png_uri(grey))[..., 0] == pytest.approx(grey, abs=1 / 255)
    colours = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert (pixels_of(png_uri(colours)) * 255).round().astype(int).tolist() == colours.tolist()


def test_limits_set_the_brightness_scale():
    assert pixels_of(png_uri(np.full((2, 2), 0.5), limits=(0.0, 2.0)))[0, 0, 0] == pytest.approx(0.25, abs=1 / 255)


@pytest.mark.parametrize("light", [2.0, -2.0, 0.05])
def test_cleaned_image_is_not_black_after_removing_light(light):
    # Regression: on the scale of the original image, all darker pixels were black.
    scene = np.array([[0.1, 0.2], [0.3, 0.4]])
    before, after = scene + light, scene
    shades = [
        pixels_of(png_uri(image.pixels, limits=image.limits))[..., 0].ravel()
        for image in image_pictures(before, after)[:2]
    ]
    for shade in shades:
        assert shade == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1 / 255)


def test_signed_values_have_one_scale_and_zero_is_white():
    colours = pixels_of(png_uri(np.array([[-2.0, 0.0, 1.0]]), signed=True))[0]
    assert colours[1].tolist() == [1.0, 1.0, 1.0]
    assert colours[0] == pytest.approx(diverging(np.array(-1.0)), abs=1 / 255)
    assert colours[2] == pytest.approx(diverging(np.array(0.5)), abs=1 / 255)
    assert colours[0][2] > colours[0][0]  # blue below zero
    assert colours[2][0] > colours[2][2]  # amber above


def test_large_image_is_averaged():
    rng = np.random.default_rng(0)
    large = pixels_of(png_uri(rng.uniform(size=(1080, 1920)), limits=(0.0, 1.0)))
    assert max(large.shape[:2]) <= LARGEST_SIDE
    assert large.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("shape", [(4,), (0, 3), (2, 2, 4), (1, 2, 2, 3)])
def test_wrong_shape_is_an_error(shape):
    with pytest.raises(InputError, match=r"expected \(height, width\)"):
        png_uri(np.zeros(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1e300])
def test_extreme_values(value):
    for signed in (False, True):
        assert np.isfinite(pixels_of(png_uri(np.array([[value, 1.0]]), signed=signed))).all()


def test_plot_has_a_label_for_screen_readers():
    assert 'aria-label="a &lt; b"' in figure_svg(new_figure(2, 1), "a < b")
