"""Record the contract with the code as it is now: python -m tests.contract.write [--signatures] [--commands] …

Run it with the extras of the tests installed, and with real data in place (UNDISTRACT_DATA); parts whose needs are
missing keep their old record. Add a line to CHANGES.md for each intended change.
"""

from __future__ import annotations

import argparse

from threadpoolctl import threadpool_limits

from tests.contract import interfaces, numbers

WRITERS = {
    "signatures": interfaces.write_signatures,
    "commands": interfaces.write_commands,
    "openapi": interfaces.write_openapi,
    "numbers": numbers.write,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in WRITERS:
        parser.add_argument(f"--{name}", action="store_true")
    chosen = vars(parser.parse_args())
    if not any(chosen.values()):
        parser.error("Choose at least one part to record.")
    # The tests run with one thread too, see tests/conftest.py.
    with threadpool_limits(1):
        for name, write in WRITERS.items():
            if chosen[name]:
                write()


if __name__ == "__main__":
    main()
