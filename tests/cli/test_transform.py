"""`undistract transform`: rows without nuisance variation."""

import numpy as np

from tests.cli.shell import NAMES, answer, run
from undistract.pipeline import Model, read_sources


def test_rows_equal_those_of_focus_transform(site, tmp_path):
    target = tmp_path / "clean.npy"
    result = run("transform", site / "today.csv", "--with", site / "calm.focus", "--save", target)
    assert result.exit_code == 0, result.output
    model = Model.load(site / "calm.focus")
    (today,) = read_sources(site / "today.csv", model.reading)
    array = np.load(target)
    assert array.shape == (120, model.focus.projection_.n_out)
    assert np.allclose(array, model.focus.transform(today.rows), rtol=1e-12)
    assert f"Saved 120 rows of {array.shape[1]} columns, from {len(NAMES)} features" in result.stdout


def test_json_lists_the_first_row_of_each_group(site, tmp_path):
    arguments = ("transform", site / "calm", "--with", site / "calm.focus", "--save", tmp_path / "calm.npy")
    result = answer(*arguments, "--dtype", "float32", "--chunk-rows", 50)
    assert (result["rows"], result["dtype"]) == (2400, "float32")
    assert result["groups"][:2] == [
        {"set": "day1.csv", "first": 0, "rows": 120},
        {"set": "day2.csv", "first": 120, "rows": 120},
    ]


def test_other_extension_is_an_error(site, tmp_path):
    result = run("transform", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "clean.csv")
    assert result.exit_code == 1
    assert "must end in .npy" in result.stderr
