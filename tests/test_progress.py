from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

from undistract import FeatureSet, Focus, FocusDetector, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    # Not sys.stderr itself, which pytest exchanges between a fixture and its test.
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=Terminal()))
    return progress.sys.stderr


def run(wanted):
    return list(progress.watched(range(3), total=3, what="Shuffles", progress=wanted))


def test_a_bar_is_shown_on_a_terminal_when_asked_for(terminal):
    assert run(True) == [0, 1, 2]
    assert "Shuffles" in terminal.getvalue()


def test_a_long_run_shows_a_bar_by_itself(terminal, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert run(None) == [0, 1, 2]
    assert "Shuffles" in terminal.getvalue()


@pytest.mark.parametrize("wanted", [None, False])
def test_a_short_run_and_an_unwanted_bar_are_quiet(terminal, wanted):
    assert run(wanted) == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_without_a_terminal_there_is_no_bar(monkeypatch):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=io.StringIO()))
    assert run(True) == [0, 1, 2]
    assert progress.sys.stderr.getvalue() == ""


def test_the_bar_is_put_away_when_a_result_fails(terminal):
    def failing():
        yield 1
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(progress.watched(failing(), total=2, what="Shuffles", progress=True))
    assert "\x1b[?25h" in terminal.getvalue()  # the cursor is back


def test_a_result_counts_when_the_next_is_asked_for(terminal):
    seen = []
    for _ in progress.watched(range(2), total=2, what="Sets", progress=True):
        seen.append(terminal.getvalue().count("1/2"))
    assert seen[0] == 0  # the first is still being worked on
    assert "0/2" in terminal.getvalue()


def test_sets_are_counted_while_they_are_learned(terminal):
    rng = np.random.default_rng(0)
    sets = [FeatureSet(day, rng.normal(size=(50, 2))) for day in range(4)]
    FocusDetector(Focus()).fit_sets(sets, progress=True)
    assert "Learning sets" in terminal.getvalue()
