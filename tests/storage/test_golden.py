"""PROMISES 16: files of every released format load, and do what they did when they were written."""

from pathlib import Path

import numpy as np
import pytest

from undistract import Focus, Moments, load
from undistract.storage.container import FORMAT_VERSION

GOLDEN = Path(__file__).parents[1] / "golden"
FORMATS = [pytest.param(GOLDEN / f"format-{number}", id=f"format {number}") for number in range(1, FORMAT_VERSION + 1)]
# Other machines multiply in another order.
same = pytest.approx


@pytest.mark.parametrize("folder", FORMATS)
def test_old_moments_load_and_join(folder):
    golden = load(folder / "moments")
    moments = golden["moments"]
    assert moments.names == tuple(("day", day) for day in range(6))
    assert moments.within == same(golden["within"], rel=1e-12)
    assert moments.mean == same(golden["mean"], rel=1e-12)
    assert (moments + Moments.of({"new": golden["within"]}, "by_size")).n_sets == 7


@pytest.mark.parametrize("folder", FORMATS)
def test_an_old_focus_loads_and_projects(folder):
    golden = load(folder / "focus")
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-12)
    assert golden["focus"].n_removed_ == 1
    assert isinstance(golden["focus"].partial_fit(golden["rows"], sets=[9] * 5), Focus)


@pytest.mark.parametrize("folder", FORMATS)
def test_old_scores_load(folder):
    golden = load(folder / "scores")
    assert golden["scores"].name == ("camera", 3)
    assert (golden["scores"].values == golden["values"]).all()
    assert golden["scores"].times.dtype == np.dtype("M8[ms]")
    assert (golden["scores"].times == golden["times"]).all()


@pytest.mark.parametrize("folder", FORMATS)
def test_an_old_detector_and_its_threshold_load(folder):
    golden = load(folder / "detector")
    assert golden["detector"].anomaly_score(golden["rows"]) == same(golden["scores"], rel=1e-12)
    assert (golden["threshold"].alarms(golden["detector"].scores_) == golden["alarms"]).all()
    assert golden["alarms"].any()
