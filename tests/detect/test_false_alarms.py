"""What is promised on paper, observed on real data: a slice of `benchmarks/false_alarms.py`."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from undistract.detect.conformal import Conformal
from undistract.detect.thresholds import Quantile

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
def near(bench, request):
    return bench.Neighbours.of(bench.read(request.param))


def false_alarms(bench, near, rule, way):
    """Give the share of rows that alarm, over all new sets of 40 splits."""
    found = [bench.Contender("", rule).observe(calm, new) for calm, new in bench.splits(near, way, 40)]
    return np.mean(found)


@pytest.mark.parametrize("way", ["split", "cross"])
def test_conformal_keeps_one_percent_on_new_contexts(bench, near, way):
    # The share varies by about 0.01 from split to split, so 40 splits know its mean to 0.002.
    assert 0.005 <= false_alarms(bench, near, Conformal(0.01), way) <= 0.015


def test_a_fixed_value_does_not_when_little_is_known(bench, near):
    # All three break the promise by more than half, and none breaks the guarantee.
    assert 0.015 < false_alarms(bench, near, Quantile(0.01), "split") < 0.2
