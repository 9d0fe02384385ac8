"""The picture of an explanation."""

import numpy as np
import pytest

from undistract.detect import Explanation
from undistract.report.explanation import explanation_figure

pytest.importorskip("matplotlib")


def draw(contributions, **options):
    names = tuple(f"sensor {place}" for place in range(len(contributions)))
    values = np.array(contributions)
    return explanation_figure(Explanation(3, values.sum(), values, True, values, 0.93, names), **options)


def labels_of(figure):
    return [label.get_text() for label in figure.axes[1].get_yticklabels()]


def test_the_strongest_features_are_named_and_the_others_stand_together():
    figure = draw([1.0, 5.0, -2.0, 0.1, 0.2], n_features=2)
    assert labels_of(figure) == ["sensor 1", "sensor 2", "3 others together"]
    lengths = [bar.get_width() for bar in figure.axes[1].patches]
    assert lengths == pytest.approx([5.0, -2.0, 1.3])


def test_all_features_are_named_where_they_are_few():
    assert labels_of(draw([1.0, 2.0])) == ["sensor 1", "sensor 0"]


def test_the_split_says_in_words_what_it_shows():
    words = [text.get_text() for text in draw([1.0, 2.0]).axes[0].texts]
    assert words == ["93% of its deviation was ignored", "7% was seen"]


def test_a_row_that_scores_nothing_can_be_drawn():
    draw([0.0, 0.0, 0.0]).canvas.draw()
