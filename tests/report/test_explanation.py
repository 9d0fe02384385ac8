"""The figure of an explanation."""

import numpy as np
import pytest

from undistract.detect import Explanation
from undistract.report.figures import explanation_figure

pytest.importorskip("matplotlib")


def draw(contributions, **options):
    names = tuple(f"sensor {number}" for number in range(len(contributions)))
    values = np.array(contributions)
    return explanation_figure(Explanation(3, values.sum(), values, True, values, 0.93, names), **options)


def labels_of(figure):
    return [label.get_text() for label in figure.axes[1].get_yticklabels()]


def test_largest_contributions_have_bars_and_the_others_one():
    figure = draw([1.0, 5.0, -2.0, 0.1, 0.2], n_features=2)
    assert labels_of(figure) == ["sensor 1", "sensor 2", "3 others together"]
    lengths = [bar.get_width() for bar in figure.axes[1].patches]
    assert lengths == pytest.approx([5.0, -2.0, 1.3])


def test_few_features_all_have_bars():
    assert labels_of(draw([1.0, 2.0])) == ["sensor 1", "sensor 0"]


def test_split_has_labels():
    labels = [text.get_text() for text in draw([1.0, 2.0]).axes[0].texts]
    assert labels == ["93 % of the deviation is ignored", "7 % is scored"]


def test_row_with_score_zero():
    draw([0.0, 0.0, 0.0]).canvas.draw()
