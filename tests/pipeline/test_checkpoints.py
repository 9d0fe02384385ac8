"""Training resumes after an interruption: no row counts twice, and complete groups are not read again."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.cli.shell import run
from undistract import FileError, Focus, InputError, ReadOptions, Source, learn, load, read_sources, save
from undistract.pipeline import training as checkpoints

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
LENGTHS = [40, 9000, 60, 50, 13000, 30]  # a chunk has 4096 rows


class BreakError(Exception):
    """A simulated interruption."""


class CountedSource:
    """Groups that count the chunks that are read, and fail after `fail_after` of them."""

    def __init__(self, fail_after=None, dtype=np.float64):
        self.read, self.fail_after, self.dtype = [], fail_after, dtype
        self.groups = [self._set(number, n_rows) for number, n_rows in enumerate(LENGTHS)]

    def _set(self, number, n_rows):
        def chunks():
            rng = np.random.default_rng(number)
            for start in range(0, n_rows, 4096):
                rows = rng.normal(size=(min(4096, n_rows - start), 4)) * [20, 1, 1, 1] + number
                self.read.append((number, start))
                if len(self.read) == self.fail_after:
                    raise BreakError
                yield rows.astype(self.dtype)

        return Source.from_reader(f"day{number}", chunks)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Write a checkpoint whenever possible."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)


def file_of(model, folder):
    return model.save(folder / "model.focus").read_bytes()


@pytest.mark.parametrize(
    "how", [{"n_known": 60}, {"keep_rows": False}, {"n_known": 60, "focus": Focus(prior="by_size")}]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_interruption_anywhere_changes_no_bit(tmp_path, how, dtype):
    expected = file_of(learn(CountedSource(dtype=dtype).groups, checkpoint=tmp_path / "whole", **how), tmp_path)
    for fail_after in range(1, 12):  # each of the eleven chunks
        path = tmp_path / f"broken{fail_after}"
        with pytest.raises(BreakError):
            learn(CountedSource(fail_after, dtype).groups, checkpoint=path, **how)
        assert file_of(learn(CountedSource(dtype=dtype).groups, checkpoint=path, **how), tmp_path) == expected, (
            fail_after
        )


@pytest.mark.parametrize("how", [{"n_known": 60}, {"keep_rows": False}])
def test_checkpoint_changes_only_the_last_digits(tmp_path, how):
    with_one, without = (
        learn(CountedSource().groups, checkpoint=tmp_path / "sums", **how),
        learn(CountedSource().groups, **how),
    )
    assert with_one.focus.moments_.names == without.focus.moments_.names
    assert with_one.focus.moments_.total == pytest.approx(without.focus.moments_.total, rel=1e-12)
    assert with_one.focus.distraction_ == pytest.approx(without.focus.distraction_, rel=1e-10)
    if "n_known" in how:
        for mine, theirs in zip(with_one.detector.known_, without.detector.known_, strict=True):
            assert np.array_equal(mine, theirs)
        assert with_one.threshold.value == pytest.approx(without.threshold.value, rel=1e-8)


def test_complete_groups_are_not_read_again(tmp_path):
    path = tmp_path / "sums"
    with pytest.raises(BreakError):
        learn(CountedSource(fail_after=9).groups, checkpoint=path)  # in the fifth group, a long one
    again = CountedSource()
    learn(again.groups, checkpoint=path)
    assert {number for number, _ in again.read} == {4, 5}
    finished = CountedSource()
    learn(finished.groups, checkpoint=path)
    assert finished.read == []  # everything is in the file


def test_weights_in_order_belong_to_their_groups(tmp_path):
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    found, expected = (
        learn(CountedSource().groups, focus=Focus(prior=weights), checkpoint=path).focus.moments_
        for path in (tmp_path / "sums", None)
    )
    assert found.shares == pytest.approx(expected.shares)
    assert found.total == pytest.approx(expected.total, rel=1e-12)


@pytest.fixture
def days(tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for day in range(5):
        np.save(folder / f"day{day}.npy", rng.normal(size=(60, 3)) * [9, 1, 1] + rng.normal(size=3))
    return folder


def test_changed_file_is_named(days, tmp_path):
    path = tmp_path / "sums"
    learn(read_sources(days), checkpoint=path)
    os.utime(days / "day3.npy", ns=(1, 1))
    with pytest.raises(
        InputError, match=r"Files have changed since .*sums was written: 'day3\.npy'\. Delete the checkpoint"
    ):
        learn(read_sources(days), checkpoint=path)


def test_changed_array_is_detected(tmp_path):
    path, rows = tmp_path / "sums", np.random.default_rng(0).normal(size=(4, 50, 3))
    learn([Source(day, X) for day, X in enumerate(rows)], checkpoint=path)
    rows[2, -1] = 0.0
    with pytest.raises(InputError, match="sums was written: 2"):
        learn([Source(day, X) for day, X in enumerate(rows)], checkpoint=path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ignore": ["day4*"]}, "has 5 groups, got 4"),
        ({"n_known": 50}, "n_known=3000, got 50"),
        ({"keep_rows": False}, "n_known=3000, got None"),
        ({"focus": Focus(prior="by_size")}, "prior='uniform', got 'by_size'"),
        ({"focus": Focus(prior=[1, 2, 3, 4, 5])}, "prior='uniform', got other weights"),
        ({"reading": ReadOptions(window=2)}, r"reading=\{\}, got \{'window': 2\}"),
    ],
)
def test_other_settings_are_rejected(days, tmp_path, change, words):
    path = tmp_path / "sums"
    learn(read_sources(days), checkpoint=path)
    how = dict(change)
    groups = read_sources(days, how.get("reading"), ignore=how.pop("ignore", ()))
    with pytest.raises(InputError, match=words):
        learn(groups, checkpoint=path, **how)


def test_groups_with_other_names_are_rejected(days, tmp_path):
    path = tmp_path / "sums"
    learn(read_sources(days), checkpoint=path)
    (days / "day4.npy").rename(days / "day9.npy")
    with pytest.raises(InputError, match=r"has other groups; not in it: 'day9\.npy'"):
        learn(read_sources(days), checkpoint=path)


def test_settings_that_do_not_affect_the_sums_may_change(days, tmp_path):
    path = tmp_path / "sums"
    learn(read_sources(days), checkpoint=path)
    before = path.read_bytes()
    found = learn(read_sources(days), focus=Focus(n_remove=2), detector="mahalanobis", threshold=0.1, checkpoint=path)
    assert found.focus.n_removed_ == 2
    assert path.read_bytes() == before


def test_other_file_at_its_path_is_not_changed(days, tmp_path):
    model = learn(read_sources(days)).save(tmp_path / "street.focus")
    before = model.read_bytes()
    with pytest.raises(InputError, match="is not a checkpoint and was not changed"):
        learn(read_sources(days), checkpoint=model)
    (tmp_path / "notes").write_text("buy milk")
    with pytest.raises(FileError, match="If it is a checkpoint, delete it"):
        learn(read_sources(days), checkpoint=tmp_path / "notes")
    assert model.read_bytes() == before


@pytest.mark.parametrize(
    "change", [{"n_done": 3}, {"about": {}}, {"samples": 7}, {"samples": [[1, "float64"]]}, {"moments": None}]
)
def test_manipulated_checkpoint_is_rejected(days, tmp_path, change):
    path = tmp_path / "sums"
    learn(read_sources(days), checkpoint=path)
    save(load(path) | change, path)
    with pytest.raises(FileError, match=r"cannot be used: .* Delete it to start again"):
        learn(read_sources(days), checkpoint=path)


def test_duplicate_names_are_rejected(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InputError, match="Names must be unique, got 'a' twice"):
        learn([Source("a", rows), Source("a", rows)], checkpoint=tmp_path / "sums")


def test_empty_group_is_named(tmp_path):
    groups = [Source("a", np.ones((5, 2))), Source.from_reader("b", lambda: iter(()))]
    with pytest.raises(InputError, match=r"'b'.* no rows"):
        learn(groups, checkpoint=tmp_path / "sums")


def test_command_resumes_and_deletes_the_checkpoint_after_saving(days, tmp_path):
    path, model = tmp_path / "sums", tmp_path / "street.focus"
    words = ("learn", days, "--checkpoint", path, "--save", model)
    assert run(*words).exit_code == 0
    assert not path.exists()
    learn(read_sources(days), checkpoint=path)  # as if the model could not be saved
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert f"Resuming from {path}" in result.stdout
    assert not path.exists()
    result = run("learn", days, "--checkpoint", model, "--save", model)
    assert result.exit_code == 2
    assert "name the same file" in result.stderr
    assert Path(model).exists()
