"""Measure speed, print the tables, save the results and the picture.

    python -m benchmarks.speed.run [--full] [--cases A B] [--rounds 3] [--patience 10] [--save out/speed.csv] [--keep]
                                   [--plot out/speed.png]

Minutes at reduced sizes; with --full the sizes of every case as they are arguments for, and more patience with rivals.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.speed import cases, growth
from benchmarks.speed.fits import fits
from benchmarks.speed.picture import draw
from benchmarks.speed.results import Result, read, write
from benchmarks.speed.steps import TRANSFORMS, transforms, updates
from benchmarks.speed.table import plain, tables

OTHERS = ("transform", "update", "growth")
FITS = ("fit", "parts")
ORDER = (FITS[0], *OTHERS[:2], "rows", "features", "groups", "memory")
# CPU seconds after which a rival is stopped.
PATIENCE = {False: 10.0, True: 150.0}


def measure(
    wanted: list[str], *, full: bool, rounds: int, patience: float = PATIENCE[False], say: Callable[[str], None] = print
) -> Iterator[Result]:
    """Measure the cases and the other parts that are wanted, in order."""
    sizes = cases.FULL if full else cases.REDUCED
    for name in wanted:
        say(f"{name} …")
        if name in sizes:
            yield from fits(sizes[name], rounds, patience, say)
        elif name == "growth":
            yield from growth.grown(growth.FULL if full else growth.REDUCED, rounds)
        else:
            for case in TRANSFORMS:
                yield from {"transform": transforms, "update": updates}[name](case, rounds)


def joined(before: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """Put what is new in the place of what was known of the same case; the order is that of a whole run."""
    measured_again = {_group(result) for result in new}
    both = [result for result in before if _group(result) not in measured_again] + list(new)
    return sorted(both, key=lambda one: (ORDER.index(_group(one)[0]), one.case if one.part in FITS else ""))


def _group(one: Result) -> tuple[str, str]:
    """Our fit and its parts are measured together."""
    return (FITS[0] if one.part in FITS else one.part), one.case


def main() -> None:
    everything = [*cases.FULL, *OTHERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="no smaller sizes")
    parser.add_argument("--cases", nargs="+", choices=everything, default=everything, metavar="CASE",
                        help=f"some of {', '.join(everything)}")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, help="CPU seconds after which a rival is stopped")
    parser.add_argument("--save", type=Path, default=Path("out/speed.csv"))
    parser.add_argument("--keep", action="store_true", help="keep what the file holds of other cases")
    parser.add_argument("--plot", type=Path, help="draw how cost grows; needs growth among the cases")
    arguments = parser.parse_args()
    if arguments.plot and "growth" not in arguments.cases:
        parser.error("--plot draws growth, which is not among the cases")
    begun = time.monotonic()
    before = read(arguments.save) if arguments.keep and arguments.save.exists() else []
    results: list[Result] = []
    for one in measure(
        arguments.cases,
        full=arguments.full,
        rounds=arguments.rounds,
        patience=arguments.patience or PATIENCE[arguments.full],
    ):
        results.append(one)
        write(arguments.save, joined(before, results))  # a run that is stopped leaves what it found
    for table in tables(results):
        print(f"\n{plain(table)}")
    if arguments.plot:
        arguments.plot.parent.mkdir(parents=True, exist_ok=True)
        draw(results, arguments.plot)
    print(f"\nSaved {arguments.save} after {(time.monotonic() - begun) / 60:.1f} minutes.")


if __name__ == "__main__":
    main()
