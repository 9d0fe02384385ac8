"""Figures and images in a page: the page's own colours, and nothing from elsewhere."""

import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.image import imread

from undistract.errors import InputError
from undistract.report.bars import LONGEST_NAME, bars_figure
from undistract.report.contents import image_pictures
from undistract.report.pictures import LARGEST_SIDE, picture, plot
from undistract.report.plots import new_figure
from undistract.report.png import diverging
from undistract.report.words import readable

from .reading import Reading
from .test_html import PAYLOADS


def pixels_of(made):
    return imread(BytesIO(b64decode(re.search(r"base64,([^\"]+)", made)[1])), format="png")[..., :3]


def drawn(names=("a", "b")):
    return plot(bars_figure(np.array([1.0, -2.0]), names), "caption")


def test_a_plot_has_the_colours_of_the_page_and_is_well_formed():
    svg = re.search(r"<svg.*</svg>", drawn(), re.DOTALL)[0]
    ET.fromstring(svg)
    assert "var(--amber)" in svg
    assert "var(--blue)" in svg
    assert not re.search(r"#[0-9a-f]{6}", svg)


def test_a_plot_brings_no_style_for_the_rest_of_the_page_and_no_address():
    assert not re.search(r"<style|xmlns|http", drawn())


def test_no_two_plots_share_the_name_of_a_part_unless_it_is_the_same_part():
    parts = {}
    for svg in (drawn(("a", "b")), drawn(("longer name", "c"))):
        for name in re.findall(r'\sid="([^"]+)"', svg):
            assert re.fullmatch(r"[a-z][0-9a-f]{8,}", name)
            definition = re.search(rf'<(\w+) id="{name}".*?</\1>', svg, re.DOTALL)
            assert parts.setdefault(name, definition and definition[0]) == (definition and definition[0])


def test_the_same_plot_is_the_same_text():
    assert drawn() == drawn()


@pytest.mark.parametrize("payload", [*PAYLOADS, "cost in $", "$x$ and $\\nonsense{$", "日本語 🎥", "a\nb"])
def test_any_name_can_stand_beside_a_bar(payload):
    read = Reading(drawn((payload, "b")))
    assert read.dangers() == []
    assert " ".join(readable(payload, LONGEST_NAME).split()) in read.text


def test_a_name_that_looks_like_a_part_of_the_drawing_is_left_alone():
    name = '#0072b2 id="a" d="1.2345"'
    assert readable(name, LONGEST_NAME) in Reading(drawn((name, "b"))).text


def test_a_picture_keeps_its_pixels():
    grey = np.array([[0.0, 0.5], [1.0, 0.25]])
    assert pixels_of(picture(grey))[..., 0] == pytest.approx(grey, abs=1 / 255)
    colours = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert (pixels_of(picture(colours)) * 255).round().astype(int).tolist() == colours.tolist()


def test_limits_let_two_pictures_be_compared():
    assert pixels_of(picture(np.full((2, 2), 0.5), limits=(0.0, 2.0)))[0, 0, 0] == pytest.approx(0.25, abs=1 / 255)


@pytest.mark.parametrize("light", [2.0, -2.0, 0.05])
def test_what_remains_when_light_is_taken_out_is_not_drawn_all_black(light):
    # On the scale of the image as it was, all that is darker than its darkest pixel was one black.
    scene = np.array([[0.1, 0.2], [0.3, 0.4]])
    before, after = scene + light, scene
    shades = [
        pixels_of(picture(one.pixels, limits=one.limits))[..., 0].ravel() for one in image_pictures(before, after)[:2]
    ]
    for shade in shades:
        assert shade == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1 / 255)


def test_signed_values_are_as_strong_on_either_side_and_zero_is_white():
    made = pixels_of(picture(np.array([[-2.0, 0.0, 1.0]]), signed=True))[0]
    assert made[1].tolist() == [1.0, 1.0, 1.0]
    assert made[0] == pytest.approx(diverging(np.array(-1.0)), abs=1 / 255)
    assert made[2] == pytest.approx(diverging(np.array(0.5)), abs=1 / 255)
    assert made[0][2] > made[0][0]  # blue below zero
    assert made[2][0] > made[2][2]  # amber above


def test_a_large_picture_is_averaged_down():
    rng = np.random.default_rng(0)
    large = pixels_of(picture(rng.uniform(size=(1080, 1920)), limits=(0.0, 1.0)))
    assert max(large.shape[:2]) <= LARGEST_SIDE
    assert large.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("shape", [(4,), (0, 3), (2, 2, 4), (1, 2, 2, 3)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(InputError, match=r"expected \(height, width\)"):
        picture(np.zeros(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1e300])
def test_strange_values_can_be_drawn(value):
    for signed in (False, True):
        assert np.isfinite(pixels_of(picture(np.array([[value, 1.0]]), signed=signed))).all()


def test_a_plot_says_what_it_shows_to_those_who_cannot_see_it():
    assert 'aria-label="a &lt; b"' in plot(new_figure(2, 1), says="a < b")
