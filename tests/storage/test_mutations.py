"""PROMISES 7: a mutated model file is refused in words, or is a model that works; it never becomes code."""

import pytest

from benchmarks.model_file_mutations import Campaign

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


@pytest.mark.parametrize(
    "code", ["exec('1')", "__import__('this_module_does_not_exist')", "__import__('os').system('')"]
)
def test_code_that_runs_while_a_file_is_loaded_would_be_noticed(campaign, monkeypatch, code):
    compiled = compile(code, "planted", "exec")
    monkeypatch.setattr("benchmarks.model_file_mutations.load", lambda path: exec(compiled))
    assert all(found.startswith("ran ") for found in campaign.run(3, how="forged", seed=0))
    campaign.surprises.clear()
