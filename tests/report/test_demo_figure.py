"""The figure of the demo."""

import numpy as np
import pytest

from undistract.demo import NEIGHBOURS, run_demo, save_demo_figure
from undistract.errors import InputError

pytest.importorskip("matplotlib")

from undistract.report.demo_figure import demo_figure


@pytest.fixture(scope="module")
def demo():
    return run_demo(seed=2)


def picture_of(demo, **changes):
    comparison = demo.comparison(NEIGHBOURS)
    arguments = {
        "focus": demo.focus,
        "digits": demo.digits,
        "before": comparison.raw.scores,
        "after": comparison.focus.scores,
        "normal": "fives",
        "odd": "fours",
    }
    return demo_figure(**arguments | changes)


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]


def test_every_panel_has_a_title(demo):
    figure = picture_of(demo)
    start = [title.split("  ")[0] for title in titles(figure)]
    n_lit = int((demo.digits.is_lit & ~demo.digits.is_anomaly).sum())
    assert start[:3] == ["①", "②", "③"]
    assert titles(figure)[3:6] == [f"{182 - n_lit} plain fives", f"{n_lit} fives under light", "8 hidden fours"]
    assert start[6:] == ["⑤", "⑥"]
    assert any(text.get_text().startswith("④") for text in figure.texts)


def test_titles_contain_the_number_of_correct_alarms(demo):
    truth = demo.digits.is_anomaly
    figure = picture_of(demo, before=1.0 + ~truth, after=1.0 + truth)
    assert titles(figure)[-2:] == [
        "⑤  Before: 0 of the 8 strongest alarms are correct.",
        "⑥  After: 8 of the 8 strongest alarms are correct.",
    ]


def test_removed_patterns_are_drawn(demo):
    patterns = next(axes for axes in picture_of(demo).axes if axes.get_title(loc="left").startswith("③"))
    drawn = np.array([image.get_array() for image in patterns.get_images()])
    assert np.array_equal(drawn.reshape(2, 64), demo.focus.patterns_[:, :2].T)


def test_texts_do_not_overlap(demo):
    figure = picture_of(demo)
    figure.canvas.draw()
    heads = [axes.title if axes.get_title() else axes._left_title for axes in figure.axes] + list(figure.texts)
    texts = heads + [text for axes in figure.axes for text in axes.texts]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def test_focus_that_removes_nothing(demo):
    from sklearn.base import clone

    nothing = clone(demo.focus).set_params(n_remove=0).fit_moments
    figure = picture_of(demo, focus=nothing(demo.focus.moments_))
    assert "③  FOCUS removes no direction." in titles(figure)


def test_saved_figure_is_1400_pixels_wide(demo, tmp_path):
    from matplotlib.image import imread

    save_demo_figure(demo, tmp_path / "demo.png")
    assert imread(tmp_path / "demo.png").shape[1] == 1400


def test_unwritable_file_is_an_error(demo, tmp_path):
    with pytest.raises(InputError, match=r"Cannot write .*no-folder.*demo.png"):
        save_demo_figure(demo, tmp_path / "no-folder" / "demo.png")
