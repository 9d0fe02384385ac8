"""A slice of the campaign of checkpoints, so that it stays runnable and its findings stay mended."""

from tests.campaigns.checkpoints import campaign


def test_a_learner_that_is_killed_again_and_again_learns_the_same_to_the_byte():
    counts, wrong = campaign(kills=4, seed=1, kills_per_round=4)
    assert wrong == []
    assert counts["kills"] >= 3
    assert counts["checkpoints inside a set"] >= 1
