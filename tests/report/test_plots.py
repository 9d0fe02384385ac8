"""Plots draw what they are given, into the axes they are given."""

import sys

import numpy as np
import pytest

from undistract.extras import MissingExtraError

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex

from undistract.report.plots import (
    AMBER,
    BLUE,
    GREY,
    Group,
    draw_images,
    draw_ranked_scores,
    draw_spectrum,
    draw_title,
    new_figure,
)


@pytest.fixture
def axes():
    return new_figure(6, 4).add_subplot()


def words(axes):
    return {text.get_text() for text in axes.texts}


def bars(axes):
    """Height and colour of each bar, from left to right."""
    ordered = sorted(axes.patches, key=lambda bar: bar.get_x())
    return [(bar.get_height(), to_hex(bar.get_facecolor()).upper()) for bar in ordered]


def test_the_spectrum_shows_every_direction_and_colours_the_removed_ones(axes):
    draw_spectrum(axes, np.array([0.98, 0.97, 0.5, 0.1]), n_removed=2, cutoff=0.95)
    assert bars(axes) == [(0.98, AMBER[0]), (0.97, AMBER[0]), (0.5, GREY[0]), (0.1, GREY[0])]
    assert {"removed", "cut-off 0.95"} <= words(axes)
    assert [line.get_ydata()[0] for line in axes.lines] == [0.95]


def test_a_spectrum_without_removed_directions_does_not_say_removed(axes):
    draw_spectrum(axes, np.array([0.5, 0.1]), n_removed=0, cutoff=0.95)
    assert "removed" not in words(axes)


def test_ranked_scores_fall_and_keep_their_groups(axes):
    scores = np.array([1.0, 5.0, 3.0, 2.0])
    odd = np.array([False, True, False, True])
    groups = [Group("plain", ~odd, GREY), Group("odd", odd, BLUE, marked=True)]
    draw_ranked_scores(axes, scores, groups, n_strongest=2)
    assert bars(axes) == [(5.0, BLUE[0]), (3.0, GREY[0]), (2.0, BLUE[0]), (1.0, GREY[0])]
    assert {"plain", "odd", "2 strongest"} <= words(axes)
    marks = next(line for line in axes.lines if line.get_marker() == "^")
    assert marks.get_xdata().tolist() == [1, 3]


def test_images_are_laid_out_row_by_row_on_one_scale_of_brightness(axes):
    images = np.arange(3 * 4).reshape(3, 2, 2) / 10
    draw_images(axes, images, n_columns=2, limits=(0.0, 1.0), frames=["red", "blue", "red"], row_labels=["up", "down"])
    drawn = axes.get_images()
    assert [image.get_array().tolist() for image in drawn] == images.tolist()
    assert {image.get_clim() for image in drawn} == {(0.0, 1.0)}
    left, top = zip(*[(image.get_extent()[0], image.get_extent()[3]) for image in drawn], strict=True)
    assert left[0] == left[2] < left[1]
    assert top[0] == top[1] < top[2]
    assert words(axes) == {"up", "down"}
    assert [line.get_color() for line in axes.lines] == ["red", "blue", "red"]


def test_a_title_is_a_sentence_above_the_panel(axes):
    draw_title(axes, "This is so.")
    assert axes.get_title(loc="left") == "This is so."


def test_no_global_state_of_matplotlib_is_touched():
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure = new_figure(6, 4)
    draw_spectrum(figure.add_subplot(), np.array([0.9, 0.1]), n_removed=1, cutoff=0.5)
    figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'Drawing plots needs matplotlib: pip install "undistract\[plot\]"'):
        new_figure(6, 4)
