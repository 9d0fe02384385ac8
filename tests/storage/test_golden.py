"""PROMISES 16: files of every released format load and give the same results as when they were written.

Format 1 is the first. Its files are frozen: a change that no longer reads them needs a new format version.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from tests.golden.make import KINDS, rows
from undistract import Focus, Model, Moments, SketchedMoments, load
from undistract._schema import REGISTRY
from undistract.storage.container import FORMAT_VERSION, read_container

GOLDEN = Path(__file__).parents[1] / "golden"
FORMATS = [pytest.param(GOLDEN / f"format-{number}", id=f"format {number}") for number in range(1, FORMAT_VERSION + 1)]
# Other machines may multiply in another order.
same = pytest.approx


@pytest.mark.parametrize("folder", FORMATS)
def test_old_moments_load_and_add(folder):
    golden = load(folder / "moments")
    moments = golden["moments"]
    assert moments.names == tuple(("day", day) for day in range(6))
    assert moments.within == same(golden["within"], rel=1e-12)
    assert moments.mean == same(golden["mean"], rel=1e-12)
    assert (moments + Moments.of({"new": golden["within"]}, "by_size")).n_groups == 7


@pytest.mark.parametrize("folder", FORMATS)
def test_old_focus_loads_and_projects(folder):
    golden = load(folder / "focus")
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-12)
    assert golden["focus"].n_removed_ == 1
    assert isinstance(golden["focus"].partial_fit(golden["rows"], groups=[9] * 5), Focus)


@pytest.mark.parametrize("folder", FORMATS)
def test_old_scores_load(folder):
    golden = load(folder / "scores")
    assert golden["scores"].name == ("camera", 3)
    assert (golden["scores"].values == golden["values"]).all()
    assert golden["scores"].times.dtype == np.dtype("M8[ms]")
    assert (golden["scores"].times == golden["times"]).all()


@pytest.mark.parametrize("folder", FORMATS)
def test_old_detector_and_threshold_load(folder):
    golden = load(folder / "detector")
    assert golden["detector"].anomaly_score(golden["rows"]) == same(golden["scores"], rel=1e-12)
    assert (golden["threshold"].alarms(golden["detector"].scores_) == golden["alarms"]).all()
    assert golden["alarms"].any()


@pytest.mark.parametrize("folder", FORMATS)
def test_old_soft_focus_gives_same_output(folder):
    golden = load(folder / "soft")
    assert golden["focus"].strength == 25.0
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-12)
    assert golden["focus"].inverse_transform(golden["projected"]) == same(golden["rows"], rel=1e-9)


@pytest.mark.parametrize("folder", FORMATS)
@pytest.mark.parametrize("kind", ["penalised", "watch"])
def test_old_detectors_give_same_scores(folder, kind):
    golden = load(folder / kind)
    assert golden["detector"].anomaly_score(golden["rows"]) == same(golden["scores"], rel=1e-9)


@pytest.mark.parametrize("folder", FORMATS)
def test_old_sketch_loads_and_adds(folder):
    golden = load(folder / "sketch")
    sketch = golden["moments"]
    assert sketch.mean == same(golden["mean"], rel=1e-12)
    assert sketch.rows_within == same(golden["inside"], rel=1e-12)
    assert sketch.dropped == same(golden["dropped"], rel=1e-12)
    more = SketchedMoments.of({"new": np.random.default_rng(3).normal(size=(9, 12))}, size=4)
    assert (sketch + more).n_groups == 7


@pytest.mark.parametrize("folder", FORMATS)
def test_old_neural_focus_loads_and_encodes(folder):
    golden = load(folder / "neural")
    assert "6 groups" in str(golden["focus"].summary())
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    # The network uses float32.
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-4)


@pytest.mark.parametrize("folder", FORMATS)
def test_old_kernels_load_and_project(folder):
    golden = load(folder / "kernel")
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-9)
    assert golden["waves"].transform(golden["rows"]) == same(golden["by_waves"], abs=1e-9)


@pytest.mark.parametrize("folder", FORMATS)
def test_old_recogniser_predicts_the_same(folder):
    golden = load(folder / "few_shot")
    assert golden["few_shot"].predict_proba(golden["rows"]) == same(golden["probable"], abs=1e-9)
    assert golden["few_shot"].predict(golden["rows"][:1]).tolist() == ["left"]
    assert golden["few"].predict_proba(golden["wide"]) == same(golden["among_rows"], abs=1e-9)
    assert golden["few"].classes_.tolist() == [3, 7, 11]


@pytest.mark.parametrize("folder", FORMATS)
def test_old_command_line_model_loads(folder):
    model = Model.load(folder / "model")
    assert (model.focus.n_removed_, model.focus.moments_.n_groups) == (1, 6)
    assert np.isfinite(model.detector.anomaly_score(rows())).all()
    assert model.threshold.n_groups == 6


@pytest.mark.parametrize("folder", FORMATS)
def test_other_types_give_same_results(folder):
    golden = load(folder / "others")
    for name, item in golden["detectors"].items():
        assert item.anomaly_score(golden["rows"]) == same(golden["scores"][name], rel=1e-9), name
    for name, item in golden["thresholds"].items():
        assert item.p_values([0.1, 1.0, 9.0]) == same(golden["p_values"][name], rel=1e-9), name
    assert golden["set"].scatter == same(golden["within"], rel=1e-12)
    assert golden["spectrum"].distraction.shape == (4,)


def types_in(node):
    """Yield every type name in a header."""
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from types_in(part)
    if isinstance(node, dict) and isinstance(node.get("type"), str):
        yield node["type"]


def test_every_public_type_is_in_a_golden_file():
    folder = GOLDEN / f"format-{FORMAT_VERSION}"
    types = {kind for name in KINDS if name != "review" for kind in types_in(read_container(folder / name)[0])}
    assert {name for name, record in REGISTRY.items() if record.public} - types == set()


def test_old_review_is_read_and_extended(tmp_path):
    pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "undistract[web]"')
    from tests.review.making import random_events, verdict
    from undistract.review import ReviewStore

    copy = tmp_path / "old.review"
    copy.write_bytes((GOLDEN / "format-1" / "review").read_bytes())
    with ReviewStore.open(copy) as store:
        assert [event for _, event in store.events()] == random_events(1, 12)
        assert store.record(verdict(99)) == 13


# Checksums of the files as first written. They never change.
FROZEN = {
    "format-1/detector": "3c6fbe28b4dbd039",
    "format-1/few_shot": "ba80b3fea4bc8d7f",
    "format-1/focus": "4feb64348d0fa585",
    "format-1/kernel": "c8802ac15825ccd0",
    "format-1/model": "4b91bdab842e2cbf",
    "format-1/moments": "19f5e08e9e6c49e6",
    "format-1/neural": "36180b2ec0eff746",
    "format-1/others": "321bc7fb46b1c9b9",
    "format-1/penalised": "c1b4e58c7102f20c",
    "format-1/review": "b2b55d99f91d6935",
    "format-1/scores": "76eb35b9b00f78bb",
    "format-1/sketch": "9227b3cf7714da51",
    "format-1/soft": "bef661ad0b7cdaca",
    "format-1/watch": "3e69daa04f7a216f",
}


def test_golden_files_are_complete_and_unchanged():
    checksums = {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in GOLDEN.glob("format-*/*")
    }
    assert checksums == FROZEN
    assert {f"format-{FORMAT_VERSION}/{kind}" for kind in KINDS} <= set(FROZEN)
