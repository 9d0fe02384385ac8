"""Previews of verdicts: small cases with known answers."""

import numpy as np
import pytest

from undistract import Focus
from undistract.review.preview import Preview, compare


def preview(vanish=(), appear=(), weaken=(), removed=(1, 1)):
    indices = (np.array(items, dtype=int) for items in (vanish, appear, weaken))
    return Preview(*indices, np.ones(9), *removed, np.zeros(2))


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (preview(), "Nothing would change."),
        (preview(vanish=[1, 2]), "2 alarms would vanish."),
        (preview(appear=[0]), "1 alarm would appear."),
        (preview(weaken=[4]), "1 confirmed anomaly would weaken."),
        (preview(weaken=[4, 5, 6]), "3 confirmed anomalies would weaken."),
        (preview(removed=(1, 3)), "2 directions more would be ignored."),
        (preview(removed=(2, 1)), "1 direction fewer would be ignored."),
        (
            preview([0], [1], removed=(0, 1)),
            "1 alarm would vanish. 1 alarm would appear. 1 direction more would be ignored.",
        ),
    ],
)
def test_preview_has_a_sentence(effect, text):
    assert str(effect) == text


def test_each_item_is_in_the_right_list_once():
    groups = [np.random.default_rng(m).normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)]
    focuses = Focus(n_remove=1).fit_groups(groups), Focus(n_remove=0).fit_groups(groups)
    now = np.array([5.0, 5.0, 1.0, 5.0, 5.0]), np.array([True, True, False, False, True])
    then = np.array([5.0 * (1 - 1e-12), 1.0, 6.0, 1.0, 4.9]), np.array([True, False, True, False, True])
    confirmed = np.array([True, False, False, True, True])
    found = compare(now, then, confirmed, *focuses, np.array([0.0, 5.0, 0.0, 1.0]))
    assert [found.resolved.tolist(), found.new.tolist(), found.weakened.tolist()] == [
        [1],
        [2],
        [3, 4],
    ]  # item 0 fell by rounding
    assert found.scores.tolist() == then[0].tolist()
    assert (found.n_removed_before, found.n_removed_after) == (1, 0)
    np.testing.assert_allclose(found.direction, [0.0, -5.0, 0.0, 0.0], atol=0.3)  # it would come back
