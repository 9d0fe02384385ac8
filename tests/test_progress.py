from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

from undistract import Focus, FocusDetector, Source
from undistract import _progress as progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    # Not sys.stderr itself, because pytest replaces it between a fixture and its test.
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=Terminal()))
    return progress.sys.stderr


def run(setting):
    return list(progress.track(range(3), total=3, what="Shuffles", progress=setting))


def test_bar_is_shown_in_a_terminal(terminal):
    assert run(True) == [0, 1, 2]
    assert "Shuffles" in terminal.getvalue()


def test_long_run_shows_a_bar_automatically(terminal, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert run(None) == [0, 1, 2]
    assert "Shuffles" in terminal.getvalue()


@pytest.mark.parametrize("setting", [None, False])
def test_short_run_or_disabled_bar_prints_nothing(terminal, setting):
    assert run(setting) == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_no_bar_without_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=io.StringIO()))
    assert run(True) == [0, 1, 2]
    assert progress.sys.stderr.getvalue() == ""


def test_bar_is_removed_after_an_error(terminal):
    def failing():
        yield 1
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(progress.track(failing(), total=2, what="Shuffles", progress=True))
    assert "\x1b[?25h" in terminal.getvalue()  # the cursor is visible again


def test_result_is_counted_when_the_next_is_requested(terminal):
    counts = []
    for _ in progress.track(range(2), total=2, what="Groups", progress=True):
        counts.append(terminal.getvalue().count("1/2"))
    assert counts[0] == 0  # the first is still in use
    assert "0/2" in terminal.getvalue()


def test_fit_groups_shows_progress(terminal):
    rng = np.random.default_rng(0)
    groups = [Source(day, rng.normal(size=(50, 2))) for day in range(4)]
    FocusDetector(Focus()).fit_groups(groups, progress=True)
    assert "Learning groups" in terminal.getvalue()
