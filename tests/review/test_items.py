"""Review items: small cases with known answers."""

import numpy as np
import pytest

from undistract.detect import Quantile, Scores
from undistract.review import items
from undistract.review.items import Item, UnknownItemError, find_items, parse_item_id

NAN = float("nan")
THRESHOLD = Quantile(rate=0.25)([[2.0, 3.0, 4.0, 5.0]])  # above 4 it alarms


def ids(found):
    return [item.id for item in found]


def test_peak_is_the_row_with_the_highest_score_and_never_nan():
    scores = [np.array([9.0, 1.0, NAN, 3.0, 2.99]), np.array([NAN, NAN])]
    assert parse_item_id("0-1-5", scores) == Item(0, 1, 5, 3)
    assert parse_item_id("0-0-5", scores) == Item(0, 0, 5, 0)
    assert parse_item_id("1-0-2", scores) == Item(1, 0, 2, 0)


@pytest.mark.parametrize(
    "name", ["0-0-6", "0-2-2", "0-3-2", "1-0-1", "0-0", "0-0-1-2", "a-0-1", "-1-0-1", "0-0-1\n", ""]
)
def test_unknown_item_raises(name):
    with pytest.raises(UnknownItemError, match="There is no item"):
        parse_item_id(name, [np.zeros(5)])


def test_alarms_come_first_then_the_strongest_other_rows():
    scores = [Scores("day", [1.0, 5.0, 6.0, 2.0, NAN]), Scores("night", [9.0, 4.0, 3.0])]
    assert ids(find_items(scores, THRESHOLD)) == ["1-0-1", "0-1-3", "1-1-2", "1-2-3", "0-3-4", "0-0-1"]
    assert find_items(scores, THRESHOLD)[1].peak == 2


def test_without_threshold_items_are_the_strongest_rows():
    scores = [Scores("day", [1.0, 5.0, 6.0]), Scores("night", [5.0])]
    assert ids(find_items(scores, None)) == ["0-2-3", "0-1-2", "1-0-1", "0-0-1"]  # ties: the earlier source first


def test_new_items_do_not_overlap_existing_ones():
    scores = [Scores("day", [1.0, 5.0, 6.0, 2.0, 8.0])]
    found = find_items(scores, THRESHOLD, existing=[Item(0, 2, 4, 2)])
    assert ids(found) == ["0-4-5", "0-1-2", "0-0-1"]  # the alarm of rows 1 and 2 is known in part; row 1 alone is not


def test_few_alarms_are_filled_up_with_rows_and_existing_items_count():
    scores = [Scores("day", [9.0, *np.linspace(0.0, 3.0, 40)])]
    assert len(find_items(scores, THRESHOLD)) == items.LEAST_ITEMS
    assert len(find_items(scores, THRESHOLD, existing=[Item(0, row, row + 1, row) for row in range(1, 6)])) == 15
    known = [Item(0, row, row + 1, row) for row in range(1, 21)]
    assert ids(find_items(scores, None, known[:19])) == ["0-0-1"]  # one is missing, and one is found
    assert ids(find_items(scores, THRESHOLD, known)) == ["0-0-1"]  # enough items: only the alarm is new


def test_number_of_items_is_limited(monkeypatch):
    monkeypatch.setattr(items, "MOST_ITEMS", 3)
    monkeypatch.setattr(items, "LEAST_ITEMS", 1)
    scores = [Scores("day", [9.0, 0.0, 8.0, 0.0, 7.0, 0.0, 6.0])]
    assert ids(find_items(scores, THRESHOLD)) == ["0-0-1", "0-2-3", "0-4-5"]
    assert ids(find_items(scores, THRESHOLD, existing=[Item(0, 1, 2, 1)] * 2)) == ["0-0-1"]
    assert ids(find_items(scores, THRESHOLD, existing=[Item(0, 1, 2, 1)] * 4)) == []
