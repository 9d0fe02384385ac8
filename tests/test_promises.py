"""The page of promises is whole: seventeen rows, each with tests that exist, a figure and a day."""

import re
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| \d+ \|.*$", PAGE, re.MULTILINE)
]


def test_there_are_seventeen_in_order():
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, 18)]
    assert {len(row) for row in ROWS} == {5}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_promise_has_words_a_test_that_exists_a_figure_and_a_day(row):
    _, promise, shown_by, figure, day = row
    assert re.match(r"\*\*[A-Z].+\*\*", promise)
    paths = re.findall(r"`((?:tests|benchmarks)/[\w./-]+)`", shown_by)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
    modules = re.findall(r"python -m ([\w.]+)", shown_by)
    assert [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []
    assert re.search(r"\d", figure), "a figure has a number"
    assert not re.search(r"[A-Z]{5,}", figure), "it is filled in"
    assert date(2026, 1, 1) < date.fromisoformat(day)


def test_every_campaign_is_run_by_make_and_has_a_slice_in_the_tests():
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    helpers = {
        "__init__",
        "worker",
        "verdict_server",
        "checkpoint_learner",
        "mutations",
        "nudges",
        "forked",
        "either_way",
    }
    campaigns = {path.stem for path in (ROOT / "tests" / "campaigns").glob("*.py")} - helpers
    campaigns = {name for name in campaigns if not name.startswith("test_")}
    assert {name for name in campaigns if f"tests.campaigns.{name}" not in make} == set()
    assert {name for name in campaigns if f"tests.campaigns.{name}" not in tests} == set()
