"""What a verdict would change: words and numbers known by hand."""

import numpy as np
import pytest

from undistract import Focus
from undistract.review.preview import Preview, compare


def preview(vanish=(), appear=(), weaken=(), removed=(1, 1)):
    places = (np.array(some, dtype=int) for some in (vanish, appear, weaken))
    return Preview(*places, np.ones(9), *removed, np.zeros(2))


@pytest.mark.parametrize(
    ("found", "words"),
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
def test_it_is_said_in_words(found, words):
    assert found.words == words


def test_every_place_is_told_once_in_the_list_it_belongs_to():
    sets = [np.random.default_rng(m).normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)]
    focuses = Focus(n_remove=1).fit_sets(sets), Focus(n_remove=0).fit_sets(sets)
    now = np.array([5.0, 5.0, 1.0, 5.0, 5.0]), np.array([True, True, False, False, True])
    then = np.array([5.0 * (1 - 1e-12), 1.0, 6.0, 1.0, 4.9]), np.array([True, False, True, False, True])
    confirmed = np.array([True, False, False, True, True])
    found = compare(now, then, confirmed, focuses, np.array([0.0, 5.0, 0.0, 1.0]))
    assert [some.tolist() for some in found.places] == [
        [1],
        [2],
        [3, 4],
    ]  # item 0 fell by rounding
    assert found.then.tolist() == then[0].tolist()
    assert (found.removed, found.removed_then) == (1, 0)
    np.testing.assert_allclose(found.direction, [0.0, -5.0, 0.0, 0.0], atol=0.3)  # it would come back
