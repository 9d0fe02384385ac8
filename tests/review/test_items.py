"""What people are asked about: small cases known by hand."""

import numpy as np
import pytest

from undistract.detect import Quantile, Scores
from undistract.review import items
from undistract.review.items import Item, UnknownItemError, find_items, item_of

NAN = float("nan")
THRESHOLD = Quantile(rate=0.25)([[2.0, 3.0, 4.0, 5.0]])  # above 4 it alarms


def ids(found):
    return [item.id for item in found]


def test_the_peak_is_the_strongest_row_of_the_stretch_and_never_one_without_a_score():
    scores = [np.array([9.0, 1.0, NAN, 3.0, 2.99]), np.array([NAN, NAN])]
    assert item_of("0-1-5", scores) == Item(0, 1, 5, 3)
    assert item_of("0-0-5", scores) == Item(0, 0, 5, 0)
    assert item_of("1-0-2", scores) == Item(1, 0, 2, 0)


@pytest.mark.parametrize(
    "name", ["0-0-6", "0-2-2", "0-3-2", "1-0-1", "0-0", "0-0-1-2", "a-0-1", "-1-0-1", "0-0-1\n", ""]
)
def test_a_stretch_that_is_not_there_is_told(name):
    with pytest.raises(UnknownItemError, match="There is no item") as refusal:
        item_of(name, [np.zeros(5)])
    assert refusal.value.status == 404


def test_alarms_come_first_by_their_strength_then_the_strongest_rows_that_are_in_none():
    scores = [Scores("day", [1.0, 5.0, 6.0, 2.0, NAN]), Scores("night", [9.0, 4.0, 3.0])]
    assert ids(find_items(scores, THRESHOLD)) == ["1-0-1", "0-1-3", "1-1-2", "1-2-3", "0-3-4", "0-0-1"]
    assert find_items(scores, THRESHOLD)[1].peak == 2


def test_without_a_threshold_the_strongest_rows_are_asked_about_one_by_one():
    scores = [Scores("day", [1.0, 5.0, 6.0]), Scores("night", [5.0])]
    assert ids(find_items(scores, None)) == ["0-2-3", "0-1-2", "1-0-1", "0-0-1"]  # the earlier set first where equal


def test_what_is_known_is_not_asked_about_again_nor_what_overlaps_it():
    scores = [Scores("day", [1.0, 5.0, 6.0, 2.0, 8.0])]
    found = find_items(scores, THRESHOLD, known=[Item(0, 2, 4, 2)])
    assert ids(found) == ["0-4-5", "0-1-2", "0-0-1"]  # the alarm of rows 1 and 2 is known in part; row 1 alone is not


def test_few_alarms_are_filled_up_with_rows_and_what_is_known_counts():
    scores = [Scores("day", [9.0, *np.linspace(0.0, 3.0, 40)])]
    assert len(find_items(scores, THRESHOLD)) == items.LEAST_ITEMS
    assert len(find_items(scores, THRESHOLD, known=[Item(0, row, row + 1, row) for row in range(1, 6)])) == 15
    known = [Item(0, row, row + 1, row) for row in range(1, 21)]
    assert ids(find_items(scores, None, known[:19])) == ["0-0-1"]  # one is missing, and one is found
    assert ids(find_items(scores, THRESHOLD, known)) == ["0-0-1"]  # enough to look at: the alarm alone is new


def test_nobody_is_asked_about_more_than_can_be_looked_at(monkeypatch):
    monkeypatch.setattr(items, "MOST_ITEMS", 3)
    monkeypatch.setattr(items, "LEAST_ITEMS", 1)
    scores = [Scores("day", [9.0, 0.0, 8.0, 0.0, 7.0, 0.0, 6.0])]
    assert ids(find_items(scores, THRESHOLD)) == ["0-0-1", "0-2-3", "0-4-5"]
    assert ids(find_items(scores, THRESHOLD, known=[Item(0, 1, 2, 1)] * 2)) == ["0-0-1"]
    assert ids(find_items(scores, THRESHOLD, known=[Item(0, 1, 2, 1)] * 4)) == []
