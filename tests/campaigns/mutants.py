"""Every line of two packages is covered by a test that fails if the line is wrong.

    python -m tests.campaigns.mutants --package algebra|review [--only spectrum.py projection.py:120]
                                      [--most N] [--each 3] [--lines] [--seed 0] [--minutes T]
                                      [--save out/mutants.csv] [--again out/mutants.csv]

First all tests of the package run once, and `coverage` records which lines each of them reaches. Then one statement at
a time is changed slightly (tests/campaigns/mutations.py), and the tests that reach it run, the fastest first, until one
fails. A mutant that no test notices survives: an assertion is missing, the line is unnecessary, or both versions are
equivalent. With `--lines`, each statement is changed in different ways until a test notices; the remaining statements
are covered by smoke tests only. Statements for which no small change matters are listed in
tests/campaigns/either_way.py, with the reason.

The changed code exists only in a child process; nothing is written to the source tree.
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
    "review": "review laws pipeline",
}
# Disable numba: a change would not affect compiled code, and coverage would not see it.
SURROUNDINGS = {"NUMBA_DISABLE_JIT": "1", "UNDISTRACT_LAWS": "mutants", "OMP_NUM_THREADS": "1"}
NOTICED, MISSED = ("killed", "endless"), ("survived", "not reached")
SECONDS = 30.0  # of tests per mutant
KINDS_SEEN = 5  # after this many tests a changeable value would have occurred
Statement = tuple[Path, str, int]  # path, function and first line
PATIENCE, GRACE = 5.0, 5.0  # a mutant is endless after PATIENCE times the normal duration plus GRACE seconds


@dataclass(frozen=True)
class Outcome:
    """The outcome of a mutant: killed, endless, survived, unchanged (nothing to change) or not reached."""

    mutant: Mutant
    status: str
    by: str = ""  # the test that failed
    how: str = ""  # its error message
    seconds: float = 0.0

    def __str__(self) -> str:
        mutant = self.mutant
        return f"{os.path.relpath(mutant.path, ROOT)}:{mutant.first} in {mutant.function}: {mutant.change}"


@dataclass
class Reached:
    """Tests by the lines they reach, and their durations."""

    lines: dict[str, dict[int, list[int]]]
    seconds: dict[int, float]
    failed: list[int]

    def tests(self, mutant: Mutant, most: float) -> list[int]:
        """Return the tests that reach the statement, fastest first, limited to `most` seconds."""
        lines = self.lines.get(str(mutant.path), {})
        statement_lines = range(mutant.first, mutant.last + 1)
        if not any(line in lines for line in statement_lines):  # a jump that its condition executes
            statement_lines = range(mutant.first - 1, mutant.first)
        candidates = {test for line in statement_lines for test in lines.get(line, ())}
        chosen, total = [], 0.0
        for test in sorted(candidates - set(self.failed), key=lambda test: self.seconds[test]):
            total += self.seconds[test]
            if chosen and total > most:
                break
            chosen.append(test)
        return chosen


@dataclass(eq=False)
class Campaign:
    """A pytest plugin that runs the collected tests against mutants."""

    paths: Sequence[Path]
    plan: Callable[[Sequence[Path]], Iterator[Mutant]]
    seconds: float = SECONDS
    report: Callable[[Outcome], None] = lambda outcome: None
    outcomes: list[Outcome] = field(default_factory=list)
    reached: Reached | None = None
    folder: Path = ROOT  # working directory of the tests: wrong code may write anywhere
    _failure: tuple[str, str] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        from hypothesis import Phase, settings

        # The first failing example is enough; shrinking would take the most time.
        phases = [Phase.explicit, Phase.generate]
        settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not _is_skipped(item)]

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
            status, by, how = "not reached", "", ""
            if tests:
                result = in_a_child(lambda m=mutant, t=tests: self._run_mutant(session.items, m, t, functions))
                status, by, how = result or ("endless", "", "")
            outcome = Outcome(mutant, status, by, how, time.perf_counter() - started)
            self.outcomes.append(outcome)
            self.report(outcome)
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
        for index, item in enumerate(items):
            watch.switch_context(str(index))
            self._failure, started = None, time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=(*items, None)[index + 1])
            seconds[index] = time.perf_counter() - started
            if self._failure is not None:
                failed.append(index)
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
        for index, test in enumerate(tests):
            following = items[tests[index + 1]] if index + 1 < len(tests) else None
            # The signal ends the child if a test takes much longer than without the change.
            signal.setitimer(signal.ITIMER_REAL, PATIENCE * self.reached.seconds[test] + GRACE)
            items[test].config.hook.pytest_runtest_protocol(item=items[test], nextitem=following)
            if self._failure is not None:
                return "killed", *self._failure
            if index >= KINDS_SEEN and nudges.asked and not nudges.changed:
                break
        return ("unchanged" if nudges.met and not nudges.changed else "survived"), "", ""


def _is_skipped(item: pytest.Item) -> bool:
    """Skip tests that need PostgreSQL (too slow) and tests of memory use (not affected by mutants)."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    served = parameters.get("place") == "postgresql"
    return served or "make_database" in getattr(item, "fixturenames", ()) or item.path.name == "test_memory.py"


def _reached(record: dict[str, Any] | None, items: Sequence[pytest.Item]) -> Reached:
    assert record is not None, "the test run did not finish"
    lines = {path: {int(line): tests for line, tests in by_line.items()} for path, by_line in record["lines"].items()}
    names = [items[test].nodeid for test in record["failed"]]
    reached = Reached(lines, {int(test): duration for test, duration in record["seconds"].items()}, record["failed"])
    print(
        f"{len(reached.seconds)} tests in {sum(reached.seconds.values()):.0f} s, {len(reached.failed)} fail already",
        *names,
    )
    return reached


def in_rounds(
    paths: Sequence[Path], each: int, seed: int, only: Sequence[str] = (), settled: Container[Statement] = ()
) -> Iterator[Mutant]:
    """Yield one mutant of every statement, then a second one, and so on; skip settled statements."""
    statements = [mutants for path in paths for mutants in mutants_of(path, seed)]
    if only:
        statements = [mutants for mutants in statements if any(_is_selected(mutants[0], word) for word in only)]
    random.Random(seed).shuffle(statements)
    for index in range(each):
        for mutants in statements:
            yield from (mutant for mutant in mutants[index : index + 1] if _statement(mutant) not in settled)


def _is_selected(mutant: Mutant, word: str) -> bool:
    name, _, where = word.partition(":")
    in_range = not where or (mutant.first <= int(where) <= mutant.last if where.isdigit() else mutant.function == where)
    return in_range and mutant.path.name == name


def _statement(mutant: Mutant) -> Statement:
    return mutant.path, mutant.function, mutant.first


def _name(mutant: Mutant) -> tuple[str, str, str]:
    """Return an identifier that does not depend on line numbers."""
    return mutant.path.name, mutant.function, mutant.change


def unnoticed_in(table: Path, lines: bool) -> Callable[[Mutant], bool]:
    """Return a filter for the mutants (or lines) of a saved table that no test noticed."""
    with table.open(encoding="utf-8", newline="") as rows:
        rows_read = list(csv.DictReader(rows))
    if lines:
        noticed = {(row["module"], row["line"]) for row in rows_read if row["outcome"] in NOTICED}
        tried = {(row["module"], row["line"]) for row in rows_read}
        return lambda mutant: (mutant.path.name, str(mutant.first)) in tried - noticed
    unnoticed = {(row["module"], row["function"], row["change"]) for row in rows_read if row["outcome"] in MISSED}
    return lambda mutant: _name(mutant) in unnoticed


def run(arguments: Sequence[str], campaign: Campaign) -> Campaign:
    """Run the tests selected by the pytest arguments against the mutants."""
    os.environ.update(SURROUNDINGS)
    with TemporaryDirectory() as scratch:
        campaign.folder = Path(scratch)
        quiet = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={scratch}/tests"]
        quiet += ["-o", "addopts=--doctest-modules --import-mode=importlib"]
        code = pytest.main([*quiet, *arguments], plugins=[campaign])
    if campaign.reached is None or code == pytest.ExitCode.INTERNAL_ERROR:
        raise SystemExit(f"The tests could not run (pytest ended with {code!s}): python -m pytest {arguments}")
    return campaign


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", default=".", help="a folder of src/undistract; its own modules by default")
    parser.add_argument(
        "--only", nargs="*", default=(), help="modules, lines as cutoff.py:77, functions as cutoff.py:cut"
    )
    parser.add_argument("--again", type=Path, help="rerun the unnoticed changes or lines of a saved table")
    parser.add_argument("--tests", nargs="*", help="tests instead of those of the package")
    parser.add_argument("--most", type=int, default=10**6, help="maximum number of mutants, spread over all modules")
    parser.add_argument("--each", type=int, default=3, help="maximum number per statement")
    parser.add_argument("--lines", action="store_true", help="a statement is settled after its first noticed change")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="seconds of tests per mutant")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--least", type=float, default=0.9, help="fail if a smaller share is noticed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="write a csv table of all mutants")
    options = parser.parse_args()
    try:
        importlib.import_module("coverage")
    except ImportError:
        parser.error('needs coverage: pip install "undistract[mutants]"')
    paths = sorted((ROOT / "src" / "undistract" / options.package).glob("*.py"))
    again = unnoticed_in(options.again, options.lines) if options.again else lambda mutant: True
    started = time.monotonic()
    noticed: set[Statement] = set()

    def plan(paths: Sequence[Path]) -> Iterator[Mutant]:
        chosen = in_rounds(paths, options.each, options.seed, options.only, noticed if options.lines else ())
        if options.lines:
            chosen = (
                mutant for mutant in chosen if (mutant.path.name, mutant.function, mutant.statement) not in EITHER_WAY
            )
        for number, mutant in enumerate(filter(again, chosen)):
            if number >= options.most or time.monotonic() - started > 60 * options.minutes:
                return
            yield mutant

    def report(outcome: Outcome) -> None:
        if outcome.status in NOTICED:
            noticed.add(_statement(outcome.mutant))
        elif outcome.status == "survived":
            print("survived", outcome, flush=True)
        if options.save:
            with options.save.open("a", encoding="utf-8", newline="") as table:
                cells = outcome.mutant.first, outcome.status, outcome.by, outcome.how, f"{outcome.seconds:.2f}"
                csv.writer(table).writerow([*_name(outcome.mutant), *cells])

    if options.save:
        options.save.parent.mkdir(parents=True, exist_ok=True)
        options.save.write_text("module,function,change,line,outcome,by,how,seconds\n", encoding="utf-8")
    default_tests = [f"tests/{name}" for name in TESTS.get(options.package, "").split()]
    chosen = options.tests or [*default_tests, f"src/undistract/{options.package}"]
    os.chdir(ROOT)
    outcomes = run(chosen, Campaign(paths, plan, options.seconds, report)).outcomes
    counts = Counter(outcome.status for outcome in outcomes)
    for status in MISSED:
        print(f"{status}:", *(f"  {outcome}" for outcome in outcomes if outcome.status == status), sep="\n")
    print(
        f"{len(outcomes)} mutants in {time.monotonic() - started:.0f} s:",
        *(f"{n} {status}," for status, n in counts.items()),
    )
    if options.lines:
        locations = {_statement(outcome.mutant): str(outcome).partition(": ")[0] for outcome in outcomes}
        survived = {_statement(outcome.mutant) for outcome in outcomes if outcome.status in MISSED}
        smoke = sorted(where for statement, where in locations.items() if statement in survived - noticed)
        opaque = sorted(where for statement, where in locations.items() if statement not in survived | noticed)
        print(f"{len(opaque)} have no value that can be changed:", *opaque, sep="\n  ")
        print(f"Of {len(locations)} statements {len(smoke)} are covered by smoke tests only:", *smoke, sep="\n  ")
        return int(bool(smoke))
    share = sum(counts[status] for status in NOTICED) / max(len(outcomes) - counts["unchanged"], 1)
    print(f"{share:.1%} of the changes were noticed.")
    return int(share < options.least)


if __name__ == "__main__":
    sys.exit(main())
