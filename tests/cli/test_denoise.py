"""`undistract denoise`: data in its own features, without what distracts."""

import numpy as np
import pytest

from tests.cli.shell import LOAD, NAMES, answer, run
from undistract.workflow import Model, read_sets


def test_a_table_comes_back_as_a_table_without_its_load(site, tmp_path):
    target = tmp_path / "clean.csv"
    told = run("denoise", site / "today.csv", "--with", site / "calm.focus", "--save", target)
    assert told.exit_code == 0, told.output
    model = Model.load(site / "calm.focus")
    (today,), (clean,) = (read_sets(path, model.reading) for path in (site / "today.csv", target))
    assert clean.feature_names == NAMES
    assert np.array_equal(clean.times, today.times)
    assert clean.rows == pytest.approx(model.focus.denoise(today.rows), rel=1e-9)
    along = LOAD / np.linalg.norm(LOAD)
    assert (clean.rows @ along).std() < 0.25 * (today.rows @ along).std()
    assert f"Saved 120 rows without {model.focus.n_removed_} of {len(NAMES)} directions" in told.stdout


def test_machines_hear_where_each_set_begins(site, tmp_path):
    words = ("denoise", site / "calm", "--with", site / "calm.focus", "--save", tmp_path / "calm.npy")
    told = answer(*words, "--dtype", "float32", "--chunk-rows", 50, "--removal", "kept_span")
    assert (told["rows"], told["columns"], told["cut_off"]) == (2400, len(NAMES), None)
    assert told["sets"][1] == {"set": "day2.csv", "first": 120, "rows": 120}
    assert np.load(tmp_path / "calm.npy").dtype == np.float32


def test_rows_of_a_table_are_no_pictures_and_that_is_said_in_one_line(site, tmp_path):
    told = run("denoise", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "clean")
    assert told.exit_code == 1
    assert "learned from rows of numbers. End the name in .npy" in told.stderr
    assert not list(tmp_path.iterdir())


def test_frames_of_a_clip_become_pictures(tmp_path):
    for needed in ("av", "PIL.Image"):
        pytest.importorskip(needed, reason=f"needs {needed}: pip install 'undistract[video,images]'")
    made = run("demo", "--part", "clip", "--folder", tmp_path / "dots", "--quiet")
    assert made.exit_code == 0, made.output
    model = tmp_path / "calm.focus"
    learn = ("learn", tmp_path / "dots" / "calm", "--features", "pixels(size=12x8)", "--save", model, "--no-cache")
    assert run(*learn).exit_code == 0
    clip = tmp_path / "dots" / "match.mp4"
    told = answer("denoise", clip, "--with", model, "--save", tmp_path / "frames", "--no-cache")
    names = sorted(path.name for path in (tmp_path / "frames").iterdir())
    assert (names[0], names[-1], told["rows"]) == ("000000.png", "000149.png", 150)
    assert told["cut_off"] < 0.2
