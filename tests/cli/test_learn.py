"""`undistract learn`, `explain` and `merge`."""

import numpy as np
import pytest

from tests.cli.shell import answer, run, write_days
from undistract.cli.options import DETECTORS
from undistract.detect.adapters import BY_NAME
from undistract.workflow import Model


def test_a_model_is_learned_from_files_and_says_what_it_ignores(site, tmp_path):
    told = run("learn", site / "calm", "--time", "when", "--save", tmp_path / "a.focus")
    assert told.exit_code == 0
    assert "Removed: 1 of 6 directions" in told.stdout
    assert f"Saved the model: {tmp_path / 'a.focus'}" in told.stdout
    assert Model.load(tmp_path / "a.focus").reading.time == "when"


def test_options_reach_the_model(site, tmp_path):
    words = ("--columns", "cpu, heat,fan", "--window", 3, "--stride", 2, "--n-remove", 2, "--rate", 0.05)
    found = answer("learn", site / "calm", *words, "--save", tmp_path / "a.focus")
    assert (found["features"], found["removed"], found["threshold"]["rate"]) == (9, 2, 0.05)
    assert found["reading"] == {"columns": ["cpu", "heat", "fan"], "window": 3, "stride": 2}


def test_options_come_from_a_file_and_the_command_line_wins(site, tmp_path):
    config = tmp_path / "options.toml"
    config.write_text('columns = ["cpu", "heat", "fan"]\nwindow = 4\nignore = "day1?.csv"\nwithout-rows = true\n')
    found = answer("learn", site / "calm", "--config", config, "--window", 2, "--save", tmp_path / "a.focus")
    assert found["reading"] == {"columns": ["cpu", "heat", "fan"], "window": 2}
    assert (found["sets"], found["threshold"]) == (10, None)  # day10 to day19 are left out, and no rows are kept


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("windw = 3", "'windw'"), ("window = ", "is not TOML"), ("[window]\na = 1", "window is a table")],
)
def test_a_wrong_config_is_a_usage_error_that_names_it(site, tmp_path, text, complaint):
    config = tmp_path / "options.toml"
    config.write_text(text)
    told = run("learn", site / "calm", "--config", config, "--save", tmp_path / "a.focus")
    assert told.exit_code == 2
    assert complaint in told.stderr


def test_tables_are_read_as_they_are_written(tmp_path):
    rng = np.random.default_rng(0)
    for day in range(6):
        lines = [";".join(f"{value:.3f}".replace(".", ",") for value in row) for row in rng.normal(size=(30, 3))]
        (tmp_path / f"{day}.csv").write_text("\n".join(lines))
    words = ("--delimiter", ";", "--decimal", ",", "--no-header")
    found = answer("learn", tmp_path, *words, "--save", tmp_path / "a.focus")
    assert (found["rows"], found["features"]) == (180, 3)
    assert found["reading"] == {"delimiter": ";", "decimal": ",", "header": False}


def test_thin_evidence_is_a_note_once_and_not_a_python_warning(site, tmp_path):
    paths = [site / "calm" / f"day{day}.csv" for day in (1, 2, 3)]
    told = run("learn", *paths, "--time", "when", "--save", tmp_path / "a.focus")
    notes = told.stderr.splitlines()
    assert told.exit_code == 0
    assert any(note.startswith("Note: 3 sets can describe at most 2 directions") for note in notes)
    assert len(set(notes)) == len(notes)
    assert "Warning" not in told.stderr


def test_quiet_says_nothing_and_verbose_names_the_sets(site, tmp_path):
    words = ("learn", site / "calm" / "day[123].csv", "--time", "when", "--save", tmp_path / "a.focus")
    assert run(*words, "--quiet").output == ""
    assert "Set day2.csv from" in run(*words, "--verbose").stderr


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["no-such.csv"], 1, "no-such.csv: there is no such file"),
        (["{calm}"], 1, "--time"),
        (["{calm}", "--time", "when", "--drop-missing", "--impute"], 2, "Give one."),
        (["{calm}", "--resize", "48"], 2, "'48' is no size"),
        (["{calm}", "--cutoff", "high"], 2, "neither a number nor 'auto'"),
        (["{calm}", "--time", "when", "--cutoff", "7"], 1, "cutoff"),
        (["{calm}", "--removal", "hard"], 2, "'hard' is not one of"),
        (["{calm}", "--time", "when", "--removal", "soft", "--strength", "-1"], 1, "strength is -1"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(site, tmp_path, words, code, complaint):
    words = [word.format(calm=site / "calm") for word in words]
    told = run("learn", *words, "--save", tmp_path / "a.focus")
    assert told.exit_code == code
    assert complaint in told.stderr
    assert [line for line in told.stderr.splitlines() if "Error" in line] == told.stderr.splitlines()[-1:]
    assert not (tmp_path / "a.focus").exists()


def test_what_is_ignored_can_be_shrunk_and_not_cut(site, tmp_path):
    words = ("--time", "when", "--removal", "soft", "--strength", 100, "--save", tmp_path / "a.focus")
    told = run("learn", site / "calm", *words)
    assert "soft, strength 100: 0.1 of their length is left" in told.stdout
    focus = Model.load(tmp_path / "a.focus").focus
    assert (focus.removal, focus.strength) == ("soft", 100.0)
    assert focus.transform(np.ones((1, focus.n_features_in_))).shape == (1, focus.n_features_in_)


def test_debug_shows_where_an_error_came_from(tmp_path):
    told = run("learn", "no-such.csv", "--save", tmp_path / "a.focus", "--debug")
    assert "no such file" in str(told.exception)
    assert not isinstance(told.exception, SystemExit)


def test_the_detectors_that_are_offered_are_those_a_file_can_hold(tmp_path, site):
    assert set(DETECTORS) < set(BY_NAME)
    for detector in ("mahalanobis", "sparse_combination"):
        words = ("--time", "when", "--detector", detector, "--known", 100, "--save", tmp_path / "a.focus")
        assert answer("learn", site / "calm" / "day[1-9].csv", *words)["sets"] == 9


def test_explain_names_the_features_that_move(site, tmp_path):
    found = answer("explain", site / "calm.focus", "--features", 2)
    assert list(found["ignored"][0]["steps"]) == ["heat", "cpu"]  # load moves these most
    told = run("explain", site / "calm.focus")
    assert "Ignored direction 1 (distraction 0.9" in told.stdout


def test_explain_saves_a_picture(site, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("explain", site / "calm.focus", "--save", tmp_path / "a.png").exit_code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "end the name in .png" in run("explain", site / "calm.focus", "--save", tmp_path / "a.txt").stderr


def test_merging_two_sites_equals_learning_in_one_place(tmp_path):
    pytest.importorskip("pyarrow")
    write_days(tmp_path / "here", range(1, 8))
    write_days(tmp_path / "there", range(8, 15))
    settings = ("--time", "when", "--without-rows", "--cutoff", 0.9)
    for site in ("here", "there"):
        answer("learn", tmp_path / site, *settings, "--save", tmp_path / f"{site}.focus")
    everything = [*(tmp_path / "here").iterdir(), *(tmp_path / "there").iterdir()]
    answer("merge", tmp_path / "here.focus", tmp_path / "there.focus", "--save", tmp_path / "both.focus")
    for path in everything:
        path.rename(tmp_path / path.name)
    answer("learn", tmp_path / "day*.csv", *settings, "--save", tmp_path / "one.focus")
    both, one = (Model.load(tmp_path / name).focus for name in ("both.focus", "one.focus"))
    assert both.cutoff == one.cutoff == 0.9
    assert both.n_removed_ == one.n_removed_ == 1
    assert set(both.moments_.names) == set(one.moments_.names)
    # Sums in another order: equal but for rounding.
    np.testing.assert_allclose(both.distraction_, one.distraction_, rtol=1e-10)


def test_models_of_different_columns_are_not_merged(site, tmp_path):
    answer("learn", site / "calm", "--columns", "cpu,heat", "--without-rows", "--save", tmp_path / "a.focus")
    told = run("merge", tmp_path / "a.focus", site / "calm.focus", "--save", tmp_path / "b.focus")
    assert told.exit_code == 1
    assert "different features" in told.stderr
