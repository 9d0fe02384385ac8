"""Plots draw their data into the given axes."""

import sys

import numpy as np
import pytest

from undistract._optional import MissingExtraError

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex

from undistract.report.demo_figure import RowGroup, draw_ranked_scores
from undistract.report.figures import (
    AMBER,
    BLUE,
    GREY,
    draw_images,
    draw_spectrum,
    draw_title,
    new_figure,
)


@pytest.fixture
def axes():
    return new_figure(6, 4).add_subplot()


def labels(axes):
    return {text.get_text() for text in axes.texts}


def bars(axes):
    """Return the height and colour of each bar, from left to right."""
    ordered = sorted(axes.patches, key=lambda bar: bar.get_x())
    return [(bar.get_height(), to_hex(bar.get_facecolor()).upper()) for bar in ordered]


def test_spectrum_has_one_bar_per_direction(axes):
    draw_spectrum(axes, np.array([0.98, 0.97, 0.5, 0.1]), n_removed=2, cutoff=0.95)
    assert bars(axes) == [(0.98, AMBER[0]), (0.97, AMBER[0]), (0.5, GREY[0]), (0.1, GREY[0])]
    assert {"removed", "cut-off 0.95"} <= labels(axes)
    assert [line.get_ydata()[0] for line in axes.lines] == [0.95]


def test_spectrum_without_removed_directions(axes):
    draw_spectrum(axes, np.array([0.5, 0.1]), n_removed=0, cutoff=0.95)
    assert "removed" not in labels(axes)


def test_ranked_scores_are_sorted_and_coloured(axes):
    scores = np.array([1.0, 5.0, 3.0, 2.0])
    odd = np.array([False, True, False, True])
    groups = [RowGroup("plain", ~odd, GREY), RowGroup("odd", odd, BLUE, marked=True)]
    draw_ranked_scores(axes, scores, groups, n_strongest=2)
    assert bars(axes) == [(5.0, BLUE[0]), (3.0, GREY[0]), (2.0, BLUE[0]), (1.0, GREY[0])]
    assert {"plain", "odd", "2 strongest"} <= labels(axes)
    marks = next(line for line in axes.lines if line.get_marker() == "^")
    assert marks.get_xdata().tolist() == [1, 3]


def test_images_are_a_grid_with_one_brightness_scale(axes):
    images = np.arange(3 * 4).reshape(3, 2, 2) / 10
    draw_images(axes, images, n_columns=2, limits=(0.0, 1.0), frames=["red", "blue", "red"], row_labels=["up", "down"])
    drawn = axes.get_images()
    assert [image.get_array().tolist() for image in drawn] == images.tolist()
    assert {image.get_clim() for image in drawn} == {(0.0, 1.0)}
    left, top = zip(*[(image.get_extent()[0], image.get_extent()[3]) for image in drawn], strict=True)
    assert left[0] == left[2] < left[1]
    assert top[0] == top[1] < top[2]
    assert labels(axes) == {"up", "down"}
    assert [line.get_color() for line in axes.lines] == ["red", "blue", "red"]


def test_title(axes):
    draw_title(axes, "A title.")
    assert axes.get_title(loc="left") == "A title."


def test_global_state_of_matplotlib_is_unchanged():
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure = new_figure(6, 4)
    draw_spectrum(figure.add_subplot(), np.array([0.9, 0.1]), n_removed=1, cutoff=0.5)
    figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_missing_matplotlib_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'Drawing plots needs matplotlib: pip install "undistract\[plot\]"'):
        new_figure(6, 4)
