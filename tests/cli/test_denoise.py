"""`undistract denoise`: data in its original features, without nuisance variation."""

import numpy as np
import pytest

from tests.cli.shell import LOAD, NAMES, answer, run
from undistract.pipeline import Model, read_sources


def test_table_is_written_without_the_load(site, tmp_path):
    target = tmp_path / "clean.csv"
    result = run("denoise", site / "today.csv", "--with", site / "calm.focus", "--save", target)
    assert result.exit_code == 0, result.output
    model = Model.load(site / "calm.focus")
    (today,), (clean,) = (read_sources(path, model.reading) for path in (site / "today.csv", target))
    assert clean.feature_names == NAMES
    assert np.array_equal(clean.times, today.times)
    assert clean.rows == pytest.approx(model.focus.denoise(today.rows), rel=1e-9)
    along = LOAD / np.linalg.norm(LOAD)
    assert (clean.rows @ along).std() < 0.25 * (today.rows @ along).std()
    assert f"Saved 120 rows without {model.focus.n_removed_} of {len(NAMES)} directions" in result.stdout


def test_json_lists_the_first_row_of_each_group(site, tmp_path):
    arguments = ("denoise", site / "calm", "--with", site / "calm.focus", "--save", tmp_path / "calm.npy")
    result = answer(*arguments, "--dtype", "float32", "--chunk-rows", 50, "--removal", "orthogonal")
    assert (result["rows"], result["columns"], result["cut_off"]) == (2400, len(NAMES), None)
    assert result["groups"][1] == {"set": "day2.csv", "first": 120, "rows": 120}
    assert np.load(tmp_path / "calm.npy").dtype == np.float32


def test_rows_of_a_table_cannot_be_written_as_images(site, tmp_path):
    result = run("denoise", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "clean")
    assert result.exit_code == 1
    assert "trained on rows of numbers. End the name in .npy" in result.stderr
    assert not list(tmp_path.iterdir())


def test_frames_of_a_clip_are_written_as_images(tmp_path):
    for library in ("av", "PIL.Image"):
        pytest.importorskip(library, reason=f"needs {library}: pip install 'undistract[video,images]'")
    demo = run("demo", "--part", "clip", "--folder", tmp_path / "dots", "--quiet")
    assert demo.exit_code == 0, demo.output
    model = tmp_path / "calm.focus"
    learn = ("learn", tmp_path / "dots" / "calm", "--features", "pixels(size=12x8)", "--save", model, "--no-cache")
    assert run(*learn).exit_code == 0
    clip = tmp_path / "dots" / "match.mp4"
    result = answer("denoise", clip, "--with", model, "--save", tmp_path / "frames", "--no-cache")
    names = sorted(path.name for path in (tmp_path / "frames").iterdir())
    assert (names[0], names[-1], result["rows"]) == ("000000.png", "000149.png", 150)
    assert result["cut_off"] < 0.2
