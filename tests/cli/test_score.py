"""`undistract score`, `report`, `convert` and `info`."""

import csv
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

from tests.cli.shell import answer, run, write_day


def test_event_is_the_strongest_alarm(site, tmp_path):
    output = answer("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert output["groups"][0]["strongest"]["row"] == 77
    assert output["groups"][0]["strongest"]["time"].startswith("2026-03-01T06:25")
    assert output["groups"][0]["alarms_after"] >= 1


def test_output_has_a_table_and_the_next_command(site, tmp_path):
    result = run("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert "today.csv" in result.stdout
    assert f"undistract report {tmp_path / 'a.scores'}" in result.stdout


def test_brackets_in_a_group_name_are_not_markup(tmp_path):
    # Regression: [a] was missing in the table, and [/b] caused a traceback.
    for group, names in (("calm", [f"pump {number}" for number in range(12)]), ("today", ["pump [a]", "pump [/b]"])):
        rng = np.random.default_rng(len(names))
        rows = [f"{name},{heat:.3f},{load:.3f}" for name in names for heat, load in rng.normal(size=(30, 2))]
        (tmp_path / f"{group}.csv").write_text("\n".join(["pump,heat,load", *rows]))
    model = tmp_path / "pumps.focus"
    assert run("learn", tmp_path / "calm.csv", "--group", "pump", "--save", model).exit_code == 0
    result = run("score", tmp_path / "today.csv", "--with", model, "--save", tmp_path / "today.scores")
    assert result.exit_code == 0, result.output
    assert "pump [a]" in result.stdout
    assert "pump [/b]" in result.stdout


def test_fail_on_alarm_groups_the_exit_code(site, tmp_path):
    arguments = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert run(*arguments).exit_code == 0
    assert run(*arguments, "--fail-on-alarm").exit_code == 3
    assert run(*arguments, "--fail-on-alarm", "--adapt").exit_code == 0  # there is no alarm without a threshold


def test_adapt_compares_rows_with_their_own_group(site, tmp_path):
    arguments = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores", "--adapt")
    output = answer(*arguments)
    assert (output["threshold"], output["groups"][0]["alarms_after"]) == (None, None)
    assert output["groups"][0]["strongest"]["row"] == 77
    assert "no threshold" in run(*arguments).stdout


def test_csv_has_one_line_per_row(site, tmp_path):
    arguments = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    answer(*arguments, "--csv", tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(rows) == 120
    assert max(rows, key=lambda row: float(row["after"]))["row"] == "77"
    assert rows[77]["alarm"] == "True"
    assert all(0 <= float(row["ignored"]) <= 1 for row in rows)


def test_other_columns_are_an_error(site, tmp_path):
    other = write_day(tmp_path / "other.csv", 5)
    other.write_text(other.read_text().replace("cpu", "cores"))
    result = run("score", other, "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert result.exit_code == 1
    assert "'cores'" in result.stderr


def test_render_needs_a_video(site, tmp_path):
    arguments = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    result = run(*arguments, "--render", tmp_path / "a.mp4")
    assert result.exit_code == 1
    assert "is not a video" in result.stderr


def test_report_finds_its_model_and_data(site, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("report", site / "today.scores", "--save", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "1 of 6 directions is ignored" in page
    assert "disk" in page  # the explanation contains feature names


def test_report_does_not_use_a_file_of_the_same_name_in_another_folder(site, tmp_path, monkeypatch):
    # Regression: relative paths were stored, so a report could explain the rows of another day.
    pytest.importorskip("matplotlib")
    monday, tuesday = tmp_path / "monday", tmp_path / "tuesday"
    for folder, event in ((monday, 77), (tuesday, None)):
        write_day(folder / "day.csv", 99, event=event)
    monkeypatch.chdir(monday)
    assert run("score", "day.csv", "--with", site / "calm.focus", "--save", "day.scores").exit_code == 0
    first = run("report", "day.scores", "--save", tmp_path / "here.html")
    monkeypatch.chdir(tuesday)
    second = run("report", monday / "day.scores", "--save", tmp_path / "there.html")
    assert (first.exit_code, second.exit_code, first.stderr, second.stderr) == (0, 0, "", "")
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("here.html", "there.html")]
    assert str(monday / "day.csv") in pages[1]
    assert pages[0] == pages[1]


def test_report_finds_groups_in_several_files_or_in_an_archive(tmp_path):
    # Regression: the data was reported as missing, and alarms had no explanations.
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    rows = [f"p{number % 8},{heat:.3f},{load:.3f}" for number, (heat, load) in enumerate(rng.normal(size=(400, 2)))]
    for day in range(2):
        (tmp_path / f"{day}.csv").write_text("\n".join(["pump,heat,load", *rows[day::2], *rows[1 - day :: 2]]))
    np.savez(tmp_path / "days.npz", **{f"d{day}": rng.normal(size=(60, 3)) for day in range(9)})
    for name, names in (("pumps", ("0.csv", "1.csv")), ("days", ("days.npz",))):
        files = [tmp_path / file for file in names]
        group = ("--group", "pump") if name == "pumps" else ()
        for arguments in (
            ("learn", *files, *group, "--save", tmp_path / f"{name}.focus"),
            ("score", *files, "--with", tmp_path / f"{name}.focus", "--save", tmp_path / f"{name}.scores"),
        ):
            assert run(*arguments).exit_code == 0
        result = run("report", tmp_path / f"{name}.scores", "--save", tmp_path / "a.html")
        assert (result.exit_code, result.stderr) == (0, "")


def test_moved_model_needs_an_option(site, tmp_path):
    pytest.importorskip("matplotlib")
    moved = (site / "calm.focus").rename(tmp_path / "moved.focus")
    try:
        result = run("report", site / "today.scores", "--save", tmp_path / "a.html")
        assert result.exit_code == 1
        assert "--with MODEL" in result.stderr
        assert run("report", site / "today.scores", "--with", moved, "--save", tmp_path / "a.html").exit_code == 0
    finally:
        moved.rename(site / "calm.focus")


def test_report_of_a_model_with_a_title(site, tmp_path):
    pytest.importorskip("matplotlib")
    answer("report", site / "calm.focus", "--title", "Calm <days>", "--save", tmp_path / "a.html")
    assert "Calm &lt;days&gt;" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_convert_scores(site, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for ending in ("npz", "parquet"):
        answer("convert", site / "today.scores", "--save", tmp_path / f"a.{ending}")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["after"].argmax() == 77
        assert parquet.read_table(tmp_path / "a.parquet")["after"].to_pylist() == arrays["after"].tolist()


def test_convert_a_model(site, tmp_path):
    answer("convert", site / "calm.focus", "--save", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["components"].shape == (5, 6)
        assert arrays["feature_names"].tolist() == ["cpu", "memory", "disk", "net", "heat", "fan"]
    pytest.importorskip("onnx")
    answer("convert", site / "calm.focus", "--save", tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").stat().st_size > 100


@pytest.mark.parametrize(("file", "ending"), [("calm.focus", ".csv"), ("today.scores", ".onnx")])
def test_unsupported_conversion_is_an_error(site, tmp_path, file, ending):
    result = run("convert", site / file, "--save", tmp_path / f"a{ending}")
    assert result.exit_code == 1
    assert "must end in" in result.stderr


def test_info(site):
    result = run("info", site / "calm.focus")
    assert "kind: model" in result.stdout
    assert "bundle.detector" not in result.stdout
    assert "bundle.detector" in run("info", site / "calm.focus", "--verbose").stdout
    assert answer("info", site / "today.scores")["content"]["kind"] == "scores"


@pytest.mark.parametrize("command", ["explain", "info"])
def test_foreign_file_is_one_error_line(tmp_path, command):
    (tmp_path / "a.focus").write_bytes(b"no model")
    result = run(command, tmp_path / "a.focus")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("adapt", [(), ("--adapt",)])
def test_infinite_number_is_an_error_with_its_position(site, tmp_path, adapt):
    # Regression: this was a traceback.
    lines = (site / "today.csv").read_text().splitlines()
    lines[51] = ",".join([*lines[51].split(",")[:3], "inf", *lines[51].split(",")[4:]])
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    arguments = ("score", tmp_path / "odd.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    result = run(*arguments, *adapt)
    assert result.exit_code == 1
    assert "'odd.csv' holds inf at row 50, feature 2." in result.stderr
    assert not (tmp_path / "a.scores").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda text: re.sub(r",[-\d.]+\n", ",\n", text, count=1), "(--drop-missing)"),
        (lambda text: text.replace(",", ";").replace(".", ","), "(--decimal ,)"),
        (lambda text: text.replace("when", "day"), "(--time)"),
    ],
)
def test_hint_when_options_belong_to_learn(site, tmp_path, change, complaint):
    # Without the hint, a user would try `score --decimal ,`, which does not exist.
    (tmp_path / "odd.csv").write_text(change((site / "today.csv").read_text()))
    result = run("score", tmp_path / "odd.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert "These are options of learn: score reads data with the settings of the model." in result.stderr
    result = run("learn", tmp_path / "odd.csv", "--time", "when", "--save", tmp_path / "a.focus")
    assert complaint in result.stderr
    assert "options of learn" not in result.stderr


def test_reordered_additional_and_missing_columns(site, tmp_path):
    lines = [line.split(",") for line in (site / "today.csv").read_text().splitlines()]
    changes = {
        "finds them by name": [[*line[:5], line[6], line[5]] for line in lines],
        "Unknown: 'x'.": [[*line, "x" if line is lines[0] else "1"] for line in lines],
        "Missing: 'fan'.": [line[:6] for line in lines],
    }
    for complaint, changed in changes.items():
        (tmp_path / "odd.csv").write_text("\n".join(",".join(line) for line in changed))
        result = run("score", tmp_path / "odd.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
        assert result.exit_code == 1
        assert complaint in result.stderr


def test_numbers_are_not_cut_off_on_a_narrow_terminal(site, tmp_path, monkeypatch):
    # Regression: with 40 columns a score was "0.…", and with 80 a time "2026-03-01T06:2…".
    arguments = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    for width in ("40", "80"):
        monkeypatch.setenv("COLUMNS", width)
        table = run(*arguments).stdout
        assert "…" not in table
        assert "2026-03-01T06:25:00" in table


def test_next_command_is_quoted_for_the_shell(site, tmp_path):
    save = tmp_path / "my 'day'.scores"
    result = run("score", site / "today.csv", "--with", site / "calm.focus", "--save", save)
    line = next(line for line in result.stdout.splitlines() if line.startswith("For a report: "))
    assert shlex.split(line)[5:] == [str(save), "--save", str(save.with_suffix(".html"))]


def test_name_outside_of_the_terminal_encoding(site, tmp_path):
    write_day(tmp_path / "café.csv", 99)
    arguments = ("score", tmp_path / "café.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    line = [sys.executable, "-m", "undistract", *map(str, arguments)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(line, capture_output=True, timeout=180, env=ascii_only)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"caf?.csv" in result.stdout
