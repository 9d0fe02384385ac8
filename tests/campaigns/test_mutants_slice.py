"""A short run of the mutation campaign, with known outcomes."""

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
    pytest.skip("mutants need os.fork", allow_module_level=True)

ROOT = Path(__file__).parents[2]
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
# The first test has assertions; the second only runs the same lines.
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
outcomes = run([str(folder), "--rootdir", str(folder), "-c", str(folder / "pytest.ini")], campaign).outcomes
records = []
for outcome in outcomes:
    mutant = outcome.mutant
    records.append((mutant.function, mutant.first, mutant.change, outcome.status, outcome.by))
print("records " + json.dumps(records))
"""


def test_noticed_changes_are_killed_and_others_survive(tmp_path):
    (tmp_path / "share.py").write_text(SHARE)
    (tmp_path / "test_share.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    command = [sys.executable, "-c", MEET, str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    records = json.loads(ended.stdout.partition("records ")[2])
    statuses = {(function, line, change): status for function, line, change, status, _ in records}
    assert statuses["share", 5, "part / whole → part * whole"] == "killed"
    assert statuses["share", 4, "0.0 → 0.01"] == "killed"
    assert statuses["share", 9, "return rounded → return __nudged__(rounded)"] == "killed"
    assert {status for (_, line, _), status in statuses.items() if line == 6} == {"survived"}  # unused
    assert statuses["share", 7, "while unused > 1000000000.0 → while not unused > 1000000000.0"] == "endless"
    assert {status for (name, _, _), status in statuses.items() if name == "never"} == {"not reached"}
    assert {by.rpartition("::")[2] for *_, by in records} == {"test_half_of_it_is_a_half", ""}
    assert (tmp_path / "share.py").read_text() == SHARE


@pytest.mark.parametrize("function", ["pluralize", "format_names"])
def test_every_change_of_a_small_function_is_noticed(function):
    command = [sys.executable, "-m", "tests.campaigns.mutants", "--only", f"_text.py:{function}"]
    command += ["--tests", "src/undistract/_text.py", "--each", "3"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"[1-9]\d* mutants in \d+ s: [1-9]\d* killed,$", ended.stdout, re.MULTILINE), ended.stdout


def test_skipped_statements_exist_and_have_a_reason():
    source = ROOT / "src" / "undistract"
    paths = [path for package in ("algebra", "pipeline", "review") for path in (source / package).glob("*.py")]
    written = {
        (mutant.path.name, mutant.function, mutant.statement) for path in paths for mutant, *_ in mutants_of(path)
    }
    assert set(EITHER_WAY) <= written
    assert all(EITHER_WAY.values())
