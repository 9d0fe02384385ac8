"""`undistract learn`, `explain` and `merge`."""

import subprocess
import sys

import numpy as np
import pytest

from tests.cli.shell import answer, run, write_days
from undistract.detect.registry import SAVEABLE_DETECTORS, THRESHOLDS
from undistract.pipeline import Model


def test_model_is_learned_from_files(site, tmp_path):
    result = run("learn", site / "calm", "--time", "when", "--save", tmp_path / "a.focus")
    assert result.exit_code == 0
    assert "Removed: 1 of 6 directions" in result.stdout
    assert f"Saved the model: {tmp_path / 'a.focus'}" in result.stdout
    assert Model.load(tmp_path / "a.focus").reading.time == "when"


def test_options_reach_the_model(site, tmp_path):
    arguments = ("--columns", "cpu, heat,fan", "--window", 3, "--stride", 2, "--n-remove", 2, "--rate", 0.05)
    output = answer("learn", site / "calm", *arguments, "--save", tmp_path / "a.focus")
    assert (output["features"], output["removed"], output["threshold"]["rate"]) == (9, 2, 0.05)
    assert output["reading"] == {"columns": ["cpu", "heat", "fan"], "window": 3, "stride": 2}


def test_command_line_overrides_the_config_file(site, tmp_path):
    config = tmp_path / "options.toml"
    config.write_text('columns = ["cpu", "heat", "fan"]\nwindow = 4\nignore = "day1?.csv"\nwithout-rows = true\n')
    output = answer("learn", site / "calm", "--config", config, "--window", 2, "--save", tmp_path / "a.focus")
    assert output["reading"] == {"columns": ["cpu", "heat", "fan"], "window": 2}
    assert (output["groups"], output["threshold"]) == (
        10,
        None,
    )  # day10 to day19 are ignored, and the model has no rows


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("windw = 3", "'windw'"), ("window = ", "is not TOML"), ("[window]\na = 1", "window is a table")],
)
def test_wrong_config_is_a_usage_error(site, tmp_path, text, complaint):
    config = tmp_path / "options.toml"
    config.write_text(text)
    result = run("learn", site / "calm", "--config", config, "--save", tmp_path / "a.focus")
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_delimiter_decimal_and_missing_header(tmp_path):
    rng = np.random.default_rng(0)
    for day in range(6):
        lines = [";".join(f"{value:.3f}".replace(".", ",") for value in row) for row in rng.normal(size=(30, 3))]
        (tmp_path / f"{day}.csv").write_text("\n".join(lines))
    arguments = ("--delimiter", ";", "--decimal", ",", "--no-header")
    output = answer("learn", tmp_path, *arguments, "--save", tmp_path / "a.focus")
    assert (output["rows"], output["features"]) == (180, 3)
    assert output["reading"] == {"delimiter": ";", "decimal": ",", "header": False}


def test_weak_evidence_is_in_the_summary_and_no_warning(site, tmp_path):
    paths = [site / "calm" / f"day{day}.csv" for day in (1, 2, 3)]
    result = run("learn", *paths, "--time", "when", "--save", tmp_path / "a.focus")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Evidence: 3 groups can show differences in 2 of 6 directions" in result.stdout


def test_quiet_prints_nothing_and_verbose_lists_the_groups(site, tmp_path):
    arguments = ("learn", site / "calm" / "day[123].csv", "--time", "when", "--save", tmp_path / "a.focus")
    assert run(*arguments, "--quiet").output == ""
    assert "Group day2.csv from" in run(*arguments, "--verbose").stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["no-such.csv"], 1, "no-such.csv: there is no such file"),
        (["{calm}"], 1, "--time"),
        (["{calm}", "--time", "when", "--drop-missing", "--impute"], 2, "exclude each other"),
        (["{calm}", "--resize", "48"], 2, "'48' is not a size"),
        (["{calm}", "--cutoff", "high"], 2, "neither a number nor 'auto'"),
        (["{calm}", "--time", "when", "--cutoff", "7"], 1, "cutoff"),
        (["{calm}", "--removal", "hard"], 2, "'hard' is not one of"),
        (["{calm}", "--time", "when", "--removal", "soft", "--strength", "-1"], 1, "non-negative number, got -1"),
        ([], 2, "Missing argument"),
    ],
)
def test_error_is_one_line(site, tmp_path, arguments, code, complaint):
    arguments = [word.format(calm=site / "calm") for word in arguments]
    result = run("learn", *arguments, "--save", tmp_path / "a.focus")
    assert result.exit_code == code
    assert complaint in result.stderr
    assert [line for line in result.stderr.splitlines() if "Error" in line] == result.stderr.splitlines()[-1:]
    assert not (tmp_path / "a.focus").exists()


def test_soft_removal(site, tmp_path):
    arguments = ("--time", "when", "--removal", "soft", "--strength", 100, "--save", tmp_path / "a.focus")
    result = run("learn", site / "calm", *arguments)
    assert "soft, strength 100: 0.1 of the length is kept" in result.stdout
    focus = Model.load(tmp_path / "a.focus").focus
    assert (focus.removal, focus.strength) == ("soft", 100.0)
    assert focus.transform(np.ones((1, focus.n_features_in_))).shape == (1, focus.n_features_in_)


def test_debug_keeps_the_traceback(tmp_path):
    result = run("learn", "no-such.csv", "--save", tmp_path / "a.focus", "--debug")
    assert "no such file" in str(result.exception)
    assert not isinstance(result.exception, SystemExit)


def test_offered_detectors_can_be_saved(tmp_path, site):
    help_text = run("learn", "--help").stdout
    assert f"[{'|'.join(SAVEABLE_DETECTORS)}]" in "".join(help_text.split())
    for detector in ("mahalanobis", "sparse_combination"):
        arguments = ("--time", "when", "--detector", detector, "--reference-rows", 100, "--save", tmp_path / "a.focus")
        assert answer("learn", site / "calm" / "day[1-9].csv", *arguments)["groups"] == 9


@pytest.mark.parametrize("name", [name for name in THRESHOLDS if name != "alarm_budget"])
def test_threshold_rules(site, tmp_path, name):
    output = answer("learn", site / "calm", "--time", "when", "--threshold", name, "--save", tmp_path / "a.focus")
    assert output["threshold"]["rule"].startswith(THRESHOLDS[name].__name__)


def test_alarm_budget_takes_alarms_per_day(site, tmp_path):
    arguments = ("--time", "when", "--threshold", "alarm_budget", "--rate", 20, "--save", tmp_path / "a.focus")
    output = answer("learn", site / "calm", *arguments, "--rows-per-day", 288)
    assert output["threshold"]["rule"].startswith("AlarmBudget(alarms=20")
    result = run("learn", site / "calm", "--rows-per-day", 288, "--save", tmp_path / "b.focus")
    assert "--rows-per-day does not apply to --threshold quantile" in result.stderr


def test_explain_lists_the_strongest_features(site, tmp_path):
    output = answer("explain", site / "calm.focus", "--features", 2)
    assert list(output["ignored"][0]["steps"]) == ["heat", "cpu"]  # the load has its largest values there
    result = run("explain", site / "calm.focus")
    assert "Ignored direction 1 (distraction 0.9" in result.stdout


def test_explain_saves_a_figure(site, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("explain", site / "calm.focus", "--save", tmp_path / "a.png").exit_code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "ends in .png" in run("explain", site / "calm.focus", "--save", tmp_path / "a.txt").stderr


def test_merged_model_equals_a_model_of_all_groups(tmp_path):
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
    merged, direct = (Model.load(tmp_path / name).focus for name in ("both.focus", "one.focus"))
    assert merged.cutoff == direct.cutoff == 0.9
    assert merged.n_removed_ == direct.n_removed_ == 1
    assert set(merged.moments_.names) == set(direct.moments_.names)
    # The order of the sums differs, so the results differ by rounding.
    np.testing.assert_allclose(merged.distraction_, direct.distraction_, rtol=1e-10)


def test_models_with_different_columns_cannot_be_merged(site, tmp_path):
    answer("learn", site / "calm", "--columns", "cpu,heat", "--without-rows", "--save", tmp_path / "a.focus")
    result = run("merge", tmp_path / "a.focus", site / "calm.focus", "--save", tmp_path / "b.focus")
    assert result.exit_code == 1
    assert "different features" in result.stderr


def test_csv_needs_no_extra(tmp_path):
    write_days(tmp_path / "calm", range(1, 6))
    code = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.partition('.')[0] in ('pyarrow', 'pandas', 'polars'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "from undistract.cli import main\n"
        f"main(['learn', {str(tmp_path / 'calm')!r}, '--time', 'when', '--save', {str(tmp_path / 'a.focus')!r}])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "Saved the model" in result.stdout, result.stderr
