"""PROMISES 7: a mutated model file is refused in words, or is a model that works; it never becomes code."""

import numpy as np
import pytest

from benchmarks.model_file_mutations import Campaign

from .mutations import damaged
from .things import things


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return Campaign(things(), tmp_path_factory.mktemp("mutations"))


@pytest.mark.parametrize("how", ["damaged", "forged"])
def test_a_mutated_file_is_refused_or_works(campaign, how):
    counts = campaign.run(300, how=how, seed=0)
    assert sum(counts.values()) == 300
    assert set(counts) <= {"refused", "works", "refused in use"}, campaign.surprises
    assert counts["refused"] >= 150  # the files are really damaged
    if how == "damaged":
        assert counts["refused"] >= 290  # spaces in the header do no harm


def test_damage_is_damage_also_where_it_writes_zeros_over_zeros():
    """One file in ten thousand came out as it was, and was counted as one that was not refused."""
    rng, zeros = np.random.default_rng(0), bytes(200)
    assert all(damaged(zeros, rng) != zeros for _ in range(1000))


@pytest.mark.parametrize(
    "code", ["exec('1')", "__import__('this_module_does_not_exist')", "__import__('os').system('')"]
)
def test_code_that_runs_while_a_file_is_loaded_would_be_noticed(campaign, monkeypatch, code):
    compiled = compile(code, "planted", "exec")
    monkeypatch.setattr("benchmarks.model_file_mutations.load", lambda path: exec(compiled))
    assert all(found.startswith("ran ") for found in campaign.run(3, how="forged", seed=0))
    campaign.surprises.clear()
