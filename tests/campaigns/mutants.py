"""Every line of two rooms is covered by a test that would notice if it were wrong, not merely run.

    python -m tests.campaigns.mutants --room algebra|review [--only cutoff.py projection.py:120 words.py:describe]
                                      [--most N] [--each 3] [--lines] [--seed 0] [--minutes T]
                                      [--save out/mutants.csv] [--again out/mutants.csv]

First all tests of the room run once, and `coverage` tells which lines each of them reaches. Then one statement at a
time is made a little wrong (tests/campaigns/mutations.py) and the tests that reach it run, the fastest first, until
one fails. A mutant that no test notices survives: a statement about the world is missing, the line is needless, or
both ways are the same in the end. `--lines` asks of every statement whether it is more than run: it is changed in one
way after the other until a test notices, and what is left at the end is covered by smoke tests alone. Statements of
which no small change can matter are named in tests/campaigns/either_way.py, with the reason.

The wrong code lives in a child process alone, in place of that of the functions; nothing is written to the tree.
"""

from __future__ import annotations

import argparse
import builtins
import csv
import gc
import importlib
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

import pytest

from tests.campaigns.either_way import EITHER_WAY
from tests.campaigns.forked import functions_of, in_a_child, replace_code
from tests.campaigns.mutations import Mutant, mutants_of
from tests.campaigns.nudges import Nudges

ROOT = Path(__file__).parents[2]
TESTS = {
    "algebra": "algebra laws test_estimators.py test_elsewhere.py test_array_api.py test_streaming.py test_wide.py",
    "review": "review laws/test_verdict_laws.py laws/test_taught_laws.py workflow",
}
# The compiled passes run as they are written: a change would not reach what is compiled, nor would coverage see it.
SURROUNDINGS = {"NUMBA_DISABLE_JIT": "1", "UNDISTRACT_LAWS": "mutants", "OMP_NUM_THREADS": "1"}
NOTICED, MISSED = ("killed", "endless"), ("survived", "not reached")
SECONDS = 30.0  # of tests for one mutant
KINDS_SEEN = 5  # in so many tests a value of a kind that can be changed would have come by
Statement = tuple[Path, str, int]  # the function it is in, and its first line
PATIENCE, GRACE = 5.0, 5.0  # times as long as a test takes without it, and seconds, until it is taken for endless


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: killed, endless, survived, unchanged (there was nothing to change) or not reached."""

    mutant: Mutant
    what: str
    by: str = ""  # the test that noticed
    how: str = ""  # what it said: AssertionError, or what was raised
    seconds: float = 0.0

    def __str__(self) -> str:
        mutant = self.mutant
        return f"{os.path.relpath(mutant.path, ROOT)}:{mutant.first} in {mutant.function}: {mutant.change}"


@dataclass
class Reached:
    """Which tests reach which line, and how long each takes."""

    lines: dict[str, dict[int, list[int]]]
    seconds: dict[int, float]
    failed: list[int]

    def tests(self, mutant: Mutant, most: float) -> list[int]:
        """Return the tests that reach the statement, the fastest first, as many as fit in so many seconds."""
        lines = self.lines.get(str(mutant.path), {})
        here = range(mutant.first, mutant.last + 1)
        if not any(line in lines for line in here):  # a jump, that its condition makes itself
            here = range(mutant.first - 1, mutant.first)
        found = {test for line in here for test in lines.get(line, ())}
        chosen, total = [], 0.0
        for test in sorted(found - set(self.failed), key=lambda test: self.seconds[test]):
            total += self.seconds[test]
            if chosen and total > most:
                break
            chosen.append(test)
        return chosen


@dataclass(eq=False)
class Campaign:
    """A plugin of pytest that lets the collected tests meet the mutants, instead of running them once."""

    paths: Sequence[Path]
    plan: Callable[[Sequence[Path]], Iterator[Mutant]]
    seconds: float = SECONDS
    told: Callable[[Outcome], None] = lambda outcome: None
    outcomes: list[Outcome] = field(default_factory=list)
    reached: Reached | None = None
    folder: Path = ROOT  # where the tests run: wrong code may write anywhere
    _failure: tuple[str, str] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        from hypothesis import Phase, settings

        # The first example that fails is enough; to find the smallest would take longest of all.
        phases = [Phase.explicit, Phase.generate]
        settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not _is_left_out(item)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("some tests cannot be collected")
        functions = functions_of(self.paths)
        gc.collect()
        gc.freeze()
        self.reached = _reached(in_a_child(lambda: self._run_all(session.items)), session.items)
        for mutant in self.plan(self.paths):
            started = time.perf_counter()
            tests = self.reached.tests(mutant, self.seconds)
            what, by, how = "not reached", "", ""
            if tests:
                found = in_a_child(lambda m=mutant, t=tests: self._run_mutant(session.items, m, t, functions))
                what, by, how = found or ("endless", "", "")
            outcome = Outcome(mutant, what, by, how, time.perf_counter() - started)
            self.outcomes.append(outcome)
            self.told(outcome)
        return True

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._failure is None:
            crash = getattr(report.longrepr, "reprcrash", None)
            self._failure = (
                report.nodeid,
                " ".join((str(crash.message) if crash else report.longreprtext[-300:]).split())[:300],
            )

    def _run_all(self, items: Sequence[pytest.Item]) -> dict[str, Any]:
        """Run every test once, with coverage."""
        os.chdir(self.folder)
        coverage = importlib.import_module("coverage")
        watch = coverage.Coverage(data_file=None, config_file=False, include=[str(path) for path in self.paths])
        watch.start()
        seconds, failed = {}, []
        for place, item in enumerate(items):
            watch.switch_context(str(place))
            self._failure, started = None, time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=(*items, None)[place + 1])
            seconds[place] = time.perf_counter() - started
            if self._failure is not None:
                failed.append(place)
        watch.stop()
        data = watch.get_data()
        lines = {
            path: {line: [int(test) for test in tests if test] for line, tests in data.contexts_by_lineno(path).items()}
            for path in data.measured_files()
        }
        return {"lines": lines, "seconds": seconds, "failed": failed}

    def _run_mutant(
        self, items: Sequence[pytest.Item], mutant: Mutant, tests: Sequence[int], functions: list[FunctionType]
    ) -> tuple[str, str, str]:
        assert self.reached is not None
        os.chdir(self.folder)
        nudges = Nudges()
        builtins.__nudged__, builtins.__without_first__ = nudges.nudged, nudges.without_first  # type: ignore[attr-defined]
        replace_code(mutant.code(), functions)
        self._failure = None
        for place, test in enumerate(tests):
            following = items[tests[place + 1]] if place + 1 < len(tests) else None
            # Its signal ends the child: no test may take so much longer than it does without the change.
            signal.setitimer(signal.ITIMER_REAL, PATIENCE * self.reached.seconds[test] + GRACE)
            items[test].config.hook.pytest_runtest_protocol(item=items[test], nextitem=following)
            if self._failure is not None:
                return "killed", *self._failure
            if place >= KINDS_SEEN and nudges.asked and not nudges.changed:
                break
        return ("unchanged" if nudges.met and not nudges.changed else "survived"), "", ""


def _is_left_out(item: pytest.Item) -> bool:
    """A server of PostgreSQL for each mutant would take longer than all the rest; memory is not what one changes."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    served = given.get("place") == "postgresql"
    return served or "make_database" in getattr(item, "fixturenames", ()) or item.path.name == "test_memory.py"


def _reached(found: dict[str, Any] | None, items: Sequence[pytest.Item]) -> Reached:
    assert found is not None, "the tests ended before their end"
    lines = {path: {int(line): tests for line, tests in known.items()} for path, known in found["lines"].items()}
    names = [items[test].nodeid for test in found["failed"]]
    reached = Reached(lines, {int(test): taken for test, taken in found["seconds"].items()}, found["failed"])
    print(
        f"{len(reached.seconds)} tests in {sum(reached.seconds.values()):.0f} s, {len(reached.failed)} fail already",
        *names,
    )
    return reached


def in_rounds(
    paths: Sequence[Path], each: int, seed: int, only: Sequence[str] = (), settled: Container[Statement] = ()
) -> Iterator[Mutant]:
    """Take one mutant of every statement, then a second one of each, and so on, but none of what is settled by then."""
    statements = [one for path in paths for one in mutants_of(path, seed)]
    if only:
        statements = [one for one in statements if any(_is_meant(one[0], word) for word in only)]
    random.Random(seed).shuffle(statements)
    for place in range(each):
        for mutants in statements:
            yield from (one for one in mutants[place : place + 1] if _statement(one) not in settled)


def _is_meant(mutant: Mutant, word: str) -> bool:
    name, _, where = word.partition(":")
    here = not where or (mutant.first <= int(where) <= mutant.last if where.isdigit() else mutant.function == where)
    return here and mutant.path.name == name


def _statement(mutant: Mutant) -> Statement:
    return mutant.path, mutant.function, mutant.first


def _name(mutant: Mutant) -> tuple[str, str, str]:
    """What stays the same while lines move."""
    return mutant.path.name, mutant.function, mutant.change


def left_of(table: Path, lines: bool) -> Callable[[Mutant], bool]:
    """Tell, of a table that was saved, which mutants no test noticed, or which are of lines where none was noticed."""
    with table.open(encoding="utf-8", newline="") as rows:
        told = list(csv.DictReader(rows))
    if lines:
        noticed = {(row["module"], row["line"]) for row in told if row["outcome"] in NOTICED}
        tried = {(row["module"], row["line"]) for row in told}
        return lambda mutant: (mutant.path.name, str(mutant.first)) in tried - noticed
    left = {(row["module"], row["function"], row["change"]) for row in told if row["outcome"] in MISSED}
    return lambda mutant: _name(mutant) in left


def run(arguments: Sequence[str], campaign: Campaign) -> Campaign:
    """Let the tests that pytest finds by such arguments meet the mutants."""
    os.environ.update(SURROUNDINGS)
    with TemporaryDirectory() as scratch:
        campaign.folder = Path(scratch)
        quiet = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={scratch}/tests"]
        quiet += ["-o", "addopts=--doctest-modules --import-mode=importlib"]
        code = pytest.main([*quiet, *arguments], plugins=[campaign])
    if campaign.reached is None or code == pytest.ExitCode.INTERNAL_ERROR:
        raise SystemExit(f"The tests could not meet them (pytest ended with {code!s}): python -m pytest {arguments}")
    return campaign


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", choices=sorted(TESTS), required=True)
    parser.add_argument(
        "--only", nargs="*", default=(), help="modules, lines as cutoff.py:77, functions as cutoff.py:cut"
    )
    parser.add_argument("--again", type=Path, help="of a table that was saved, what no test noticed: changes, or lines")
    parser.add_argument("--tests", nargs="*", help="other tests than those of the room")
    parser.add_argument("--most", type=int, default=10**6, help="so many mutants, spread over all modules")
    parser.add_argument("--each", type=int, default=3, help="at most so many of one statement")
    parser.add_argument("--lines", action="store_true", help="a statement is settled by its first noticed change")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of tests for one mutant")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--least", type=float, default=0.9, help="it fails where a smaller share is noticed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="a table of all mutants, csv")
    asked = parser.parse_args()
    try:
        importlib.import_module("coverage")
    except ImportError:
        parser.error('which test reaches which line is told by coverage: pip install "undistract[mutants]"')
    paths = sorted((ROOT / "src" / "undistract" / asked.room).glob("*.py"))
    again = left_of(asked.again, asked.lines) if asked.again else lambda mutant: True
    started = time.monotonic()
    noticed: set[Statement] = set()

    def plan(paths: Sequence[Path]) -> Iterator[Mutant]:
        chosen = in_rounds(paths, asked.each, asked.seed, asked.only, noticed if asked.lines else ())
        if asked.lines:
            chosen = (one for one in chosen if (one.path.name, one.function, one.statement) not in EITHER_WAY)
        for number, mutant in enumerate(filter(again, chosen)):
            if number >= asked.most or time.monotonic() - started > 60 * asked.minutes:
                return
            yield mutant

    def told(outcome: Outcome) -> None:
        if outcome.what in NOTICED:
            noticed.add(_statement(outcome.mutant))
        elif outcome.what == "survived":
            print("survived", outcome, flush=True)
        if asked.save:
            with asked.save.open("a", encoding="utf-8", newline="") as table:
                cells = outcome.mutant.first, outcome.what, outcome.by, outcome.how, f"{outcome.seconds:.2f}"
                csv.writer(table).writerow([*_name(outcome.mutant), *cells])

    if asked.save:
        asked.save.parent.mkdir(parents=True, exist_ok=True)
        asked.save.write_text("module,function,change,line,outcome,by,how,seconds\n", encoding="utf-8")
    chosen = asked.tests or [f"tests/{name}" for name in TESTS[asked.room].split()] + [f"src/undistract/{asked.room}"]
    os.chdir(ROOT)
    found = run(chosen, Campaign(paths, plan, asked.seconds, told)).outcomes
    counts = Counter(outcome.what for outcome in found)
    for what in MISSED:
        print(f"{what}:", *(f"  {one}" for one in found if one.what == what), sep="\n")
    print(
        f"{len(found)} mutants in {time.monotonic() - started:.0f} s:", *(f"{n} {what}," for what, n in counts.items())
    )
    if asked.lines:
        places = {_statement(one.mutant): str(one).partition(": ")[0] for one in found}
        survived = {_statement(one.mutant) for one in found if one.what in MISSED}
        smoke = sorted(where for statement, where in places.items() if statement in survived - noticed)
        opaque = sorted(where for statement, where in places.items() if statement not in survived | noticed)
        print(f"{len(opaque)} hand on what cannot be a little off:", *opaque, sep="\n  ")
        print(f"Of {len(places)} statements {len(smoke)} are covered by smoke tests alone:", *smoke, sep="\n  ")
        return int(bool(smoke))
    share = sum(counts[what] for what in NOTICED) / max(len(found) - counts["unchanged"], 1)
    print(f"{share:.1%} of what was changed was noticed.")
    return int(share < asked.least)


if __name__ == "__main__":
    sys.exit(main())
