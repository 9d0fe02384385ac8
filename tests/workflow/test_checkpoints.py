"""Learning goes on after a break: nothing counts twice, nothing is read that need not be, nothing is mixed up."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.cli.shell import run
from undistract import FeatureSet, FileError, Focus, InputError, Reading, learn, load, read_sets, save
from undistract.workflow import checkpoints

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
LENGTHS = [40, 9000, 60, 50, 13000, 30]  # a chunk has 4096 rows


class BreakError(Exception):
    """The power is gone."""


class Source:
    """Sets that count what is read of them, and fail after so many chunks."""

    def __init__(self, fail_after=None, dtype=np.float64):
        self.read, self.fail_after, self.dtype = [], fail_after, dtype
        self.sets = [self._set(number, n_rows) for number, n_rows in enumerate(LENGTHS)]

    def _set(self, number, n_rows):
        def chunks():
            rng = np.random.default_rng(number)
            for start in range(0, n_rows, 4096):
                rows = rng.normal(size=(min(4096, n_rows - start), 4)) * [20, 1, 1, 1] + number
                self.read.append((number, start))
                if len(self.read) == self.fail_after:
                    raise BreakError
                yield rows.astype(self.dtype)

        return FeatureSet.reading(f"day{number}", chunks)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Write down at every chance."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)


def file_of(model, folder):
    return model.save(folder / "model.focus").read_bytes()


@pytest.mark.parametrize(
    "how", [{"n_known": 60}, {"keep_rows": False}, {"n_known": 60, "focus": Focus(prior="by_size")}]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_break_anywhere_changes_no_bit(tmp_path, how, dtype):
    expected = file_of(learn(Source(dtype=dtype).sets, checkpoint=tmp_path / "whole", **how), tmp_path)
    for fail_after in range(1, 12):  # each of the eleven chunks
        path = tmp_path / f"broken{fail_after}"
        with pytest.raises(BreakError):
            learn(Source(fail_after, dtype).sets, checkpoint=path, **how)
        assert file_of(learn(Source(dtype=dtype).sets, checkpoint=path, **how), tmp_path) == expected, fail_after


@pytest.mark.parametrize("how", [{"n_known": 60}, {"keep_rows": False}])
def test_a_checkpoint_changes_nothing_but_the_last_digits(tmp_path, how):
    with_one, without = learn(Source().sets, checkpoint=tmp_path / "sums", **how), learn(Source().sets, **how)
    assert with_one.focus.moments_.names == without.focus.moments_.names
    assert with_one.focus.moments_.total == pytest.approx(without.focus.moments_.total, rel=1e-12)
    assert with_one.focus.distraction_ == pytest.approx(without.focus.distraction_, rel=1e-10)
    if "n_known" in how:
        for mine, theirs in zip(with_one.watch.known_, without.watch.known_, strict=True):
            assert np.array_equal(mine, theirs)
        assert with_one.threshold.value == pytest.approx(without.threshold.value, rel=1e-8)


def test_whole_sets_are_not_read_again(tmp_path):
    path = tmp_path / "sums"
    with pytest.raises(BreakError):
        learn(Source(fail_after=9).sets, checkpoint=path)  # in the fifth set, a long one
    again = Source()
    learn(again.sets, checkpoint=path)
    assert {number for number, _ in again.read} == {4, 5}
    finished = Source()
    learn(finished.sets, checkpoint=path)
    assert finished.read == []  # all of it is in the file


def test_weights_in_order_count_for_their_sets(tmp_path):
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    found, expected = (
        learn(Source().sets, focus=Focus(prior=weights), checkpoint=path).focus.moments_
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


def test_a_file_that_changed_is_named(days, tmp_path):
    path = tmp_path / "sums"
    learn(read_sets(days), checkpoint=path)
    os.utime(days / "day3.npy", ns=(1, 1))
    with pytest.raises(InputError, match=r"sums has changed since: 'day3\.npy'\. Delete the checkpoint"):
        learn(read_sets(days), checkpoint=path)


def test_arrays_that_changed_are_noticed(tmp_path):
    path, rows = tmp_path / "sums", np.random.default_rng(0).normal(size=(4, 50, 3))
    learn([FeatureSet(day, X) for day, X in enumerate(rows)], checkpoint=path)
    rows[2, -1] = 0.0
    with pytest.raises(InputError, match="has changed since: 2"):
        learn([FeatureSet(day, X) for day, X in enumerate(rows)], checkpoint=path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ignore": ["day4*"]}, "is of 5 sets, now there are 4"),
        ({"n_known": 50}, "n_known=3000, now it is 50"),
        ({"keep_rows": False}, "n_known=3000, now it is None"),
        ({"focus": Focus(prior="by_size")}, "prior='uniform', now it is 'by_size'"),
        ({"focus": Focus(prior=[1, 2, 3, 4, 5])}, "prior='uniform', now it is other weights"),
        ({"reading": Reading(window=2)}, r"reading=\{\}, now it is \{'window': 2\}"),
    ],
)
def test_another_question_is_refused_in_words(days, tmp_path, change, words):
    path = tmp_path / "sums"
    learn(read_sets(days), checkpoint=path)
    how = dict(change)
    sets = read_sets(days, how.get("reading"), ignore=how.pop("ignore", ()))
    with pytest.raises(InputError, match=words):
        learn(sets, checkpoint=path, **how)


def test_sets_with_other_names_are_refused(days, tmp_path):
    path = tmp_path / "sums"
    learn(read_sets(days), checkpoint=path)
    (days / "day4.npy").rename(days / "day9.npy")
    with pytest.raises(InputError, match=r"is of other sets: new are 'day9\.npy'"):
        learn(read_sets(days), checkpoint=path)


def test_what_sums_do_not_depend_on_may_change(days, tmp_path):
    path = tmp_path / "sums"
    learn(read_sets(days), checkpoint=path)
    before = path.read_bytes()
    found = learn(read_sets(days), focus=Focus(n_remove=2), detector="mahalanobis", threshold=0.1, checkpoint=path)
    assert found.focus.n_removed_ == 2
    assert path.read_bytes() == before


def test_another_file_in_its_place_is_left_alone(days, tmp_path):
    model = learn(read_sets(days)).save(tmp_path / "street.focus")
    before = model.read_bytes()
    with pytest.raises(InputError, match="is no checkpoint, and is left as it is"):
        learn(read_sets(days), checkpoint=model)
    (tmp_path / "notes").write_text("buy milk")
    with pytest.raises(FileError, match="If it is a checkpoint, delete it"):
        learn(read_sets(days), checkpoint=tmp_path / "notes")
    assert model.read_bytes() == before


@pytest.mark.parametrize("change", [{"n_sets": 3}, {"about": {}}, {"known": 7}, {"piece": "none"}, {"total": None}])
def test_a_checkpoint_that_was_tampered_with_is_refused(days, tmp_path, change):
    path = tmp_path / "sums"
    learn(read_sets(days), checkpoint=path)
    save(load(path) | change, path)
    with pytest.raises(FileError, match=r"cannot be used: .* Delete it to begin anew"):
        learn(read_sets(days), checkpoint=path)


def test_two_sets_with_one_name_are_refused(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InputError, match="Set 'a' comes twice"):
        learn([FeatureSet("a", rows), FeatureSet("a", rows)], checkpoint=tmp_path / "sums")


def test_an_empty_set_is_named(tmp_path):
    sets = [FeatureSet("a", np.ones((5, 2))), FeatureSet.reading("b", lambda: iter(()))]
    with pytest.raises(InputError, match="Set 'b' is empty"):
        learn(sets, checkpoint=tmp_path / "sums")


def test_the_shell_goes_on_too_and_clears_up_when_the_model_is_saved(days, tmp_path):
    path, model = tmp_path / "sums", tmp_path / "street.focus"
    words = ("learn", days, "--checkpoint", path, "--save", model)
    assert run(*words).exit_code == 0
    assert not path.exists()
    learn(read_sets(days), checkpoint=path)  # as if the model could not be saved
    told = run(*words)
    assert told.exit_code == 0, told.output
    assert f"Going on from {path}" in told.stdout
    assert not path.exists()
    told = run("learn", days, "--checkpoint", model, "--save", model)
    assert told.exit_code == 2
    assert "name one file" in told.stderr
    assert Path(model).exists()
