"""`undistract transform`: rows without what distracts."""

import numpy as np

from tests.cli.shell import NAMES, answer, run
from undistract.workflow import Model, read_sets


def test_rows_are_written_as_the_model_makes_them(site, tmp_path):
    target = tmp_path / "clean.npy"
    told = run("transform", site / "today.csv", "--with", site / "calm.focus", "--save", target)
    assert told.exit_code == 0, told.output
    model = Model.load(site / "calm.focus")
    (today,) = read_sets(site / "today.csv", model.reading)
    found = np.load(target)
    assert found.shape == (120, model.focus.projection_.n_out)
    assert np.allclose(found, model.focus.transform(today.rows), rtol=1e-12)
    assert f"Saved 120 rows of {found.shape[1]} columns, of {len(NAMES)} features" in told.stdout


def test_machines_hear_where_each_set_begins(site, tmp_path):
    words = ("transform", site / "calm", "--with", site / "calm.focus", "--save", tmp_path / "calm.npy")
    told = answer(*words, "--dtype", "float32", "--chunk-rows", 50)
    assert (told["rows"], told["dtype"]) == (2400, "float32")
    assert told["sets"][:2] == [
        {"set": "day1.csv", "first": 0, "rows": 120},
        {"set": "day2.csv", "first": 120, "rows": 120},
    ]


def test_another_ending_is_refused_in_one_line(site, tmp_path):
    told = run("transform", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "clean.csv")
    assert told.exit_code == 1
    assert "rows are written as .npy" in told.stderr
