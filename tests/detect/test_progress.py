from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from undistract.detect import progress


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
