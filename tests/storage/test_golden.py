"""PROMISES 16: files of every released format load, and do what they did when they were written.

Format 1 is the first. Its files are frozen: a change that no longer reads them needs a format of its own.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from tests.golden.make import KINDS, rows
from undistract import Focus, Model, Moments, SketchedMoments, load
from undistract.storage.container import FORMAT_VERSION, read_container
from undistract.storage.model_file import RECORDS

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


@pytest.mark.parametrize("folder", FORMATS)
def test_an_old_soft_focus_shrinks_as_it_did(folder):
    golden = load(folder / "soft")
    assert golden["focus"].strength == 25.0
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-12)
    assert golden["focus"].inverse_transform(golden["projected"]) == same(golden["rows"], rel=1e-9)


@pytest.mark.parametrize("folder", FORMATS)
@pytest.mark.parametrize("kind", ["penalised", "watch"])
def test_old_detectors_score_as_they_did(folder, kind):
    golden = load(folder / kind)
    assert golden["detector"].anomaly_score(golden["rows"]) == same(golden["scores"], rel=1e-9)


@pytest.mark.parametrize("folder", FORMATS)
def test_an_old_sketch_loads_and_joins(folder):
    golden = load(folder / "sketch")
    sketch = golden["moments"]
    assert sketch.mean == same(golden["mean"], rel=1e-12)
    assert sketch.rows_inside == same(golden["inside"], rel=1e-12)
    assert sketch.dropped == same(golden["dropped"], rel=1e-12)
    more = SketchedMoments.of({"new": np.random.default_rng(3).normal(size=(9, 12))}, size=4)
    assert (sketch + more).n_sets == 7


@pytest.mark.parametrize("folder", FORMATS)
def test_an_old_neural_focus_loads_and_encodes(folder):
    golden = load(folder / "neural")
    assert "6 sets" in golden["focus"].describe()
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    # Its network works in float32.
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-4)


@pytest.mark.parametrize("folder", FORMATS)
def test_old_kernels_load_and_project(folder):
    golden = load(folder / "kernel")
    assert golden["focus"].transform(golden["rows"]) == same(golden["projected"], abs=1e-9)
    assert golden["waves"].transform(golden["rows"]) == same(golden["by_waves"], abs=1e-9)


@pytest.mark.parametrize("folder", FORMATS)
def test_an_old_recogniser_names_what_it_named(folder):
    golden = load(folder / "recogniser")
    assert golden["recogniser"].predict_proba(golden["rows"]) == same(golden["probable"], abs=1e-9)
    assert golden["recogniser"].predict(golden["rows"][:1]).tolist() == ["left"]
    assert golden["few"].predict_proba(golden["wide"]) == same(golden["among_rows"], abs=1e-9)
    assert golden["few"].classes_.tolist() == [3, 7, 11]


@pytest.mark.parametrize("folder", FORMATS)
def test_an_old_model_of_the_shell_loads(folder):
    model = Model.load(folder / "model")
    assert (model.focus.n_removed_, model.focus.moments_.n_sets) == (1, 6)
    assert np.isfinite(model.watch.anomaly_score(rows())).all()
    assert model.threshold.n_sets == 6


@pytest.mark.parametrize("folder", FORMATS)
def test_one_of_every_other_kind_does_what_it_did(folder):
    golden = load(folder / "others")
    for name, one in golden["detectors"].items():
        assert one.anomaly_score(golden["rows"]) == same(golden["scores"][name], rel=1e-9), name
    for name, one in golden["thresholds"].items():
        assert one.p_values([0.1, 1.0, 9.0]) == same(golden["p_values"][name], rel=1e-9), name
    assert golden["set"].scatter == same(golden["within"], rel=1e-12)
    assert golden["spectrum"].distraction.shape == (4,)


def types_in(node):
    """Walk what a file's header says, and name every type in it."""
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from types_in(part)
    if isinstance(node, dict) and isinstance(node.get("type"), str):
        yield node["type"]


def test_every_kind_that_can_be_saved_is_in_a_golden_file():
    folder = GOLDEN / f"format-{FORMAT_VERSION}"
    held = {kind for name in KINDS if name != "review" for kind in types_in(read_container(folder / name)[0])}
    assert {name for name, record in RECORDS.items() if record.public} - held == set()


def test_an_old_review_is_read_and_goes_on(tmp_path):
    pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "undistract[web]"')
    from tests.review.making import random_events, verdict
    from undistract.review import ReviewStore

    copy = tmp_path / "old.review"
    copy.write_bytes((GOLDEN / "format-1" / "review").read_bytes())
    with ReviewStore.open(copy) as store:
        assert [event for _, event in store.events()] == random_events(1, 12)
        assert store.record(verdict(99)) == 13


# The sum of each file as it was first written: who changes one changes the past.
FROZEN = {
    "format-1/detector": "b3965957087700e9",
    "format-1/focus": "f125b25d5c741486",
    "format-1/kernel": "2e550f6994a65087",
    "format-1/model": "efae6ecf6d4061ed",
    "format-1/moments": "e3bc367e785185dc",
    "format-1/neural": "e0d72423006bb14c",
    "format-1/others": "5da24eeda7b9c0c2",
    "format-1/penalised": "0052a64d3ba7f944",
    "format-1/recogniser": "854efa2541e5d677",
    "format-1/review": "692139e765fb362c",
    "format-1/scores": "de1d97ff137c8fae",
    "format-1/sketch": "6e6b6ab6c9b45d63",
    "format-1/soft": "f87b2adfcb1c1a3e",
    "format-1/watch": "ecc10d3a47f77ae4",
}


def test_every_kind_of_every_format_has_its_file_and_none_was_changed():
    found = {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in GOLDEN.glob("format-*/*")
    }
    assert found == FROZEN
    assert {f"format-{FORMAT_VERSION}/{kind}" for kind in KINDS} <= set(FROZEN)
