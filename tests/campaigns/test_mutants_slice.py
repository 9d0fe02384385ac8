"""A slice of the campaign of mutants, so that it stays runnable and says of a change what is true of it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns.either_way import EITHER_WAY
from tests.campaigns.mutations import mutants_of

pytest.importorskip("coverage", reason='needs coverage: pip install "undistract[mutants]"')
if not hasattr(os, "fork"):
    pytest.skip("mutants live in forked processes", allow_module_level=True)

ROOT = Path(__file__).parents[2]
EXPIRED = "test_an_expired_answer_lets_the_one_before_it_stand"
SHARE = """
def share(part, whole):
    if whole == 0:
        return 0.0
    rounded = round(part / whole, 6)
    unused = part + whole
    while unused > 1e9:
        unused = 0
    return rounded


def never(part):
    return part + 1
"""
# The first test states something true; the second runs the same lines and says nothing.
TESTS = """
from share import share


def test_half_of_it_is_a_half():
    assert share(2, 4) == 0.5
    assert share(0, 0) == 0.0


def test_it_runs():
    share(2, 4)
"""
MEET = """
import json, sys
from pathlib import Path
from tests.campaigns import mutants
from tests.campaigns.mutants import Campaign, in_rounds, run

mutants.GRACE = 1.0
folder = Path(sys.argv[1])
campaign = Campaign([folder / "share.py"], lambda paths: in_rounds(paths, each=9, seed=0))
found = run([str(folder), "--rootdir", str(folder), "-c", str(folder / "pytest.ini")], campaign).outcomes
told = [(one.mutant.function, one.mutant.first, one.mutant.change, one.what, one.by) for one in found]
print("told " + json.dumps(told))
"""


def test_a_change_that_a_test_notices_is_killed_and_one_that_nobody_notices_survives(tmp_path):
    (tmp_path / "share.py").write_text(SHARE)
    (tmp_path / "test_share.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    words = [sys.executable, "-c", MEET, str(tmp_path)]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.partition("told ")[2])
    became = {(function, line, change): what for function, line, change, what, _ in told}
    assert became["share", 5, "part / whole → part * whole"] == "killed"
    assert became["share", 4, "0.0 → 0.01"] == "killed"
    assert became["share", 9, "return rounded → return __nudged__(rounded)"] == "killed"
    assert {what for (_, line, _), what in became.items() if line == 6} == {"survived"}  # nothing asks for it
    assert became["share", 7, "while unused > 1000000000.0 → while not unused > 1000000000.0"] == "endless"
    assert {what for (name, _, _), what in became.items() if name == "never"} == {"not reached"}
    assert {by.rpartition("::")[2] for *_, by in told} == {"test_half_of_it_is_a_half", ""}
    assert (tmp_path / "share.py").read_text() == SHARE


@pytest.mark.parametrize(
    ("room", "function", "test"),
    [
        ("algebra", "words.py:_count", "src/undistract/algebra/words.py"),
        ("review", "verdicts.py:Verdict.counts", "tests/review/test_verdicts.py::" + EXPIRED),
    ],
)
def test_no_change_of_a_small_function_stays_unnoticed(room, function, test):
    words = [sys.executable, "-m", "tests.campaigns.mutants", "--room", room, "--only", function, "--tests", test]
    ended = subprocess.run([*words, "--each", "3"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"[1-9]\d* mutants in \d+ s: [1-9]\d* killed,$", ended.stdout, re.MULTILINE), ended.stdout


def test_what_may_be_written_either_way_is_still_written_and_has_a_reason():
    rooms = [path for room in ("algebra", "review") for path in (ROOT / "src" / "undistract" / room).glob("*.py")]
    written = {(one.path.name, one.function, one.statement) for path in rooms for one, *_ in mutants_of(path)}
    assert set(EITHER_WAY) <= written
    assert all(EITHER_WAY.values())
