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


def test_the_event_is_the_strongest_alarm(site, tmp_path):
    found = answer("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert found["sets"][0]["strongest"]["row"] == 77
    assert found["sets"][0]["strongest"]["time"].startswith("2026-03-01T06:25")
    assert found["sets"][0]["alarms_after"] >= 1


def test_people_get_a_table_and_the_next_step(site, tmp_path):
    told = run("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert "today.csv" in told.stdout
    assert f"undistract report {tmp_path / 'a.scores'}" in told.stdout


def test_brackets_in_the_name_of_a_set_stay_in_it(tmp_path):
    # [a] was lost from the table, and [/b] ended the command with a traceback after all was scored.
    for group, names in (("calm", [f"pump {number}" for number in range(12)]), ("today", ["pump [a]", "pump [/b]"])):
        rng = np.random.default_rng(len(names))
        rows = [f"{name},{heat:.3f},{load:.3f}" for name in names for heat, load in rng.normal(size=(30, 2))]
        (tmp_path / f"{group}.csv").write_text("\n".join(["pump,heat,load", *rows]))
    model = tmp_path / "pumps.focus"
    assert run("learn", tmp_path / "calm.csv", "--group", "pump", "--save", model).exit_code == 0
    told = run("score", tmp_path / "today.csv", "--with", model, "--save", tmp_path / "today.scores")
    assert told.exit_code == 0, told.output
    assert "pump [a]" in told.stdout
    assert "pump [/b]" in told.stdout


def test_an_alarm_can_be_an_exit_code(site, tmp_path):
    words = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert run(*words).exit_code == 0
    assert run(*words, "--fail-on-alarm").exit_code == 3
    assert run(*words, "--fail-on-alarm", "--adapt").exit_code == 0  # without a threshold nothing alarms


def test_adapt_judges_a_set_by_its_own_rows(site, tmp_path):
    words = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores", "--adapt")
    found = answer(*words)
    assert (found["threshold"], found["sets"][0]["alarms_after"]) == (None, None)
    assert found["sets"][0]["strongest"]["row"] == 77
    assert "no threshold" in run(*words).stdout


def test_rows_are_written_as_a_table(site, tmp_path):
    words = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    answer(*words, "--csv", tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(rows) == 120
    assert max(rows, key=lambda row: float(row["after"]))["row"] == "77"
    assert rows[77]["alarm"] == "True"
    assert all(0 <= float(row["ignored"]) <= 1 for row in rows)


def test_other_columns_are_refused_by_name(site, tmp_path):
    other = write_day(tmp_path / "other.csv", 5)
    other.write_text(other.read_text().replace("cpu", "cores"))
    told = run("score", other, "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert told.exit_code == 1
    assert "'cores'" in told.stderr


def test_only_one_video_can_be_drawn(site, tmp_path):
    words = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    told = run(*words, "--render", tmp_path / "a.mp4")
    assert told.exit_code == 1
    assert "is not a video" in told.stderr


def test_a_report_finds_its_model_and_its_data_by_itself(site, tmp_path):
    pytest.importorskip("matplotlib")
    told = run("report", site / "today.scores", "--save", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert (told.exit_code, told.stderr) == (0, "")
    assert "1 of 6 directions is ignored" in page
    assert "disk" in page  # the reason of the alarm has the names of features


def test_a_report_takes_no_file_of_the_same_name_in_another_folder_for_its_data(site, tmp_path, monkeypatch):
    # Paths were kept as typed: a report made elsewhere told reasons of another day's rows, without a word.
    pytest.importorskip("matplotlib")
    monday, tuesday = tmp_path / "monday", tmp_path / "tuesday"
    for folder, event in ((monday, 77), (tuesday, None)):
        write_day(folder / "day.csv", 99, event=event)
    monkeypatch.chdir(monday)
    assert run("score", "day.csv", "--with", site / "calm.focus", "--save", "day.scores").exit_code == 0
    here = run("report", "day.scores", "--save", tmp_path / "here.html")
    monkeypatch.chdir(tuesday)
    there = run("report", monday / "day.scores", "--save", tmp_path / "there.html")
    assert (here.exit_code, there.exit_code, here.stderr, there.stderr) == (0, 0, "", "")
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("here.html", "there.html")]
    assert str(monday / "day.csv") in pages[1]
    assert pages[0] == pages[1]


def test_a_report_finds_sets_that_lie_in_several_files_or_in_an_archive(tmp_path):
    # Both were said to be "not where it was", and alarms had no reasons.
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    rows = [f"p{number % 8},{heat:.3f},{load:.3f}" for number, (heat, load) in enumerate(rng.normal(size=(400, 2)))]
    for day in range(2):
        (tmp_path / f"{day}.csv").write_text("\n".join(["pump,heat,load", *rows[day::2], *rows[1 - day :: 2]]))
    np.savez(tmp_path / "days.npz", **{f"d{day}": rng.normal(size=(60, 3)) for day in range(9)})
    for name, given in (("pumps", ("0.csv", "1.csv")), ("days", ("days.npz",))):
        files = [tmp_path / file for file in given]
        group = ("--group", "pump") if name == "pumps" else ()
        for words in (
            ("learn", *files, *group, "--save", tmp_path / f"{name}.focus"),
            ("score", *files, "--with", tmp_path / f"{name}.focus", "--save", tmp_path / f"{name}.scores"),
        ):
            assert run(*words).exit_code == 0
        told = run("report", tmp_path / f"{name}.scores", "--save", tmp_path / "a.html")
        assert (told.exit_code, told.stderr) == (0, "")


def test_a_model_that_has_moved_is_asked_for(site, tmp_path):
    pytest.importorskip("matplotlib")
    moved = (site / "calm.focus").rename(tmp_path / "moved.focus")
    try:
        told = run("report", site / "today.scores", "--save", tmp_path / "a.html")
        assert told.exit_code == 1
        assert "--with MODEL" in told.stderr
        assert run("report", site / "today.scores", "--with", moved, "--save", tmp_path / "a.html").exit_code == 0
    finally:
        moved.rename(site / "calm.focus")


def test_a_model_alone_makes_a_report_with_a_title(site, tmp_path):
    pytest.importorskip("matplotlib")
    answer("report", site / "calm.focus", "--title", "Calm <days>", "--save", tmp_path / "a.html")
    assert "Calm &lt;days&gt;" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_scores_become_tables(site, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for ending in ("npz", "parquet"):
        answer("convert", site / "today.scores", "--save", tmp_path / f"a.{ending}")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["after"].argmax() == 77
        assert parquet.read_table(tmp_path / "a.parquet")["after"].to_pylist() == arrays["after"].tolist()


def test_a_model_becomes_onnx_and_arrays(site, tmp_path):
    answer("convert", site / "calm.focus", "--save", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["components"].shape == (5, 6)
        assert arrays["feature_names"].tolist() == ["cpu", "memory", "disk", "net", "heat", "fan"]
    pytest.importorskip("onnx")
    answer("convert", site / "calm.focus", "--save", tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").stat().st_size > 100


@pytest.mark.parametrize(("file", "ending"), [("calm.focus", ".csv"), ("today.scores", ".onnx")])
def test_what_cannot_be_converted_is_refused_with_what_can(site, tmp_path, file, ending):
    told = run("convert", site / file, "--save", tmp_path / f"a{ending}")
    assert told.exit_code == 1
    assert "end the name in" in told.stderr


def test_info_reads_the_header_for_people_and_for_machines(site):
    told = run("info", site / "calm.focus")
    assert "kind: model" in told.stdout
    assert "bundle.watch" not in told.stdout
    assert "bundle.watch" in run("info", site / "calm.focus", "--verbose").stdout
    assert answer("info", site / "today.scores")["content"]["kind"] == "scores"


@pytest.mark.parametrize("command", ["explain", "info"])
def test_a_file_that_is_none_of_ours_is_refused_in_one_line(tmp_path, command):
    (tmp_path / "a.focus").write_bytes(b"no model")
    told = run(command, tmp_path / "a.focus")
    assert told.exit_code == 1
    assert told.stderr.startswith("Error: ")
    assert len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize("adapt", [(), ("--adapt",)])
def test_a_number_without_end_is_refused_with_its_place(site, tmp_path, adapt):
    # A traceback, where learning from the same file had words.
    lines = (site / "today.csv").read_text().splitlines()
    lines[51] = ",".join([*lines[51].split(",")[:3], "inf", *lines[51].split(",")[4:]])
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    words = ("score", tmp_path / "odd.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    told = run(*words, *adapt)
    assert told.exit_code == 1
    assert "Set 'odd.csv' holds inf at row 50, feature 2." in told.stderr
    assert not (tmp_path / "a.scores").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda text: re.sub(r",[-\d.]+\n", ",\n", text, count=1), "(--drop-missing)"),
        (lambda text: text.replace(",", ";").replace(".", ","), "(--decimal ,)"),
        (lambda text: text.replace("when", "day"), "(--time)"),
    ],
)
def test_advice_of_the_reader_says_whose_options_it_names(site, tmp_path, change, complaint):
    # The next try was `score --decimal ,`, and there is no such option.
    (tmp_path / "odd.csv").write_text(change((site / "today.csv").read_text()))
    told = run("score", tmp_path / "odd.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    assert told.exit_code == 1
    assert complaint in told.stderr
    assert "Such options belong to learn: score reads as the model says." in told.stderr
    told = run("learn", tmp_path / "odd.csv", "--time", "when", "--save", tmp_path / "a.focus")
    assert complaint in told.stderr
    assert "belong to learn" not in told.stderr


def test_columns_in_another_order_more_and_fewer_are_told_apart(site, tmp_path):
    lines = [line.split(",") for line in (site / "today.csv").read_text().splitlines()]
    changes = {
        "finds them by name": [[*line[:5], line[6], line[5]] for line in lines],
        "New to it: 'x'.": [[*line, "x" if line is lines[0] else "1"] for line in lines],
        "It lacks 'fan'.": [line[:6] for line in lines],
    }
    for complaint, changed in changes.items():
        (tmp_path / "odd.csv").write_text("\n".join(",".join(line) for line in changed))
        told = run("score", tmp_path / "odd.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
        assert told.exit_code == 1
        assert complaint in told.stderr


def test_numbers_and_times_are_whole_on_a_narrow_terminal(site, tmp_path, monkeypatch):
    # With 40 columns a score read "0.…", and with 80 a time "2026-03-01T06:2…".
    words = ("score", site / "today.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    for width in ("40", "80"):
        monkeypatch.setenv("COLUMNS", width)
        shown = run(*words).stdout
        assert "…" not in shown
        assert "2026-03-01T06:25:00" in shown


def test_the_next_step_can_be_copied_into_a_shell(site, tmp_path):
    save = tmp_path / "my 'day'.scores"
    told = run("score", site / "today.csv", "--with", site / "calm.focus", "--save", save)
    line = next(line for line in told.stdout.splitlines() if line.startswith("See it: "))
    assert shlex.split(line)[4:] == [str(save), "--save", str(save.with_suffix(".html"))]


def test_a_name_that_the_terminal_cannot_write_ends_in_no_traceback(site, tmp_path):
    write_day(tmp_path / "café.csv", 99)
    words = ("score", tmp_path / "café.csv", "--with", site / "calm.focus", "--save", tmp_path / "a.scores")
    line = [sys.executable, "-m", "undistract", *map(str, words)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    told = subprocess.run(line, capture_output=True, timeout=180, env=ascii_only)
    assert (told.returncode, told.stderr) == (0, b"")
    assert b"caf?.csv" in told.stdout
