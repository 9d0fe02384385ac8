"""A short run of the checkpoint campaign."""

from tests.campaigns.checkpoints import campaign


def test_killed_learner_resumes_to_the_same_bytes():
    counts, wrong = campaign(kills=4, seed=1, kills_per_round=4)
    assert wrong == []
    assert counts["kills"] >= 3
    assert counts["checkpoints"] >= 1
