"""False-alarm rates on real data: a part of `benchmarks/false_alarms.py`."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from undistract.detect.thresholds import Conformal, Quantile

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "false_alarms.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("false_alarms", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    sys.modules["false_alarms"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    if not module.DATA.is_dir():
        pytest.skip(f"no real data at {module.DATA}")
    yield module
    del sys.modules["false_alarms"]


@pytest.fixture(scope="module", params=["Yale", "Ped1", "MVTec"])
def neighbours(bench, request):
    return bench.Neighbours.of(bench.read(request.param))


def false_alarms(bench, neighbours, rule, splitting):
    """Return the share of rows that raise alarms, over all new groups of 40 splits."""
    rates = [bench.Contender("", rule).observe(calm, new) for calm, new in bench.splits(neighbours, splitting, 40)]
    return np.mean(rates)


@pytest.mark.parametrize("splitting", ["split", "cross"])
def test_conformal_keeps_one_percent_in_new_contexts(bench, neighbours, splitting):
    # The share varies by about 0.01 between splits, so the mean of 40 splits has an error of 0.002.
    assert 0.005 <= false_alarms(bench, neighbours, Conformal(0.01), splitting) <= 0.015


def test_quantile_exceeds_its_rate_with_few_groups(bench, neighbours):
    # All three exceed the rate by more than half, and none exceeds the guarantee.
    assert 0.015 < false_alarms(bench, neighbours, Quantile(0.01), "split") < 0.2
