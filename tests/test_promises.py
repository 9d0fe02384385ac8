"""The page of promises is complete: seventeen rows, each with existing tests, a figure and a date."""

import re
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| \d+ \|.*$", PAGE, re.MULTILINE)
]


def test_promises_are_numbered_1_to_17():
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, 18)]
    assert {len(row) for row in ROWS} == {5}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_promise_has_a_title_an_existing_test_a_figure_and_a_date(row):
    _, promise, evidence, figure, day = row
    assert re.match(r"\*\*[A-Z].+\*\*", promise)
    paths = re.findall(r"`((?:tests|benchmarks)/[\w./-]+)`", evidence)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
    modules = re.findall(r"python -m ([\w.]+)", evidence)
    assert [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []
    assert re.search(r"\d", figure), "a figure has a number"
    assert not re.search(r"[A-Z]{5,}", figure), "it is filled in"
    assert date(2026, 1, 1) < date.fromisoformat(day)


def test_every_campaign_has_a_make_target_and_a_short_test():
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
