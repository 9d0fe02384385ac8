"""The API equals its schema: schemathesis against the real server, with valid and invalid data.

    python -m tests.campaigns.api [--examples 1000] [--seed 0]

Two models are served, one with rows and one with sums only. Every check of schemathesis is enabled: no server error, no
status, header or body that the schema does not document, valid data is accepted, invalid data is rejected, and nothing
works without the token.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.web.asking import TOKEN
from tests.web.running import Running, serving
from undistract import Source, learn


def models(folder: Path) -> list[Path]:
    """Save a model with rows and one without."""
    rng = np.random.default_rng(0)
    days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    return [learn(days, keep_rows=keep_rows).save(folder / f"{keep_rows}.focus") for keep_rows in (True, False)]


def campaign(server: Running, examples: int, seed: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Run schemathesis with this many examples of each operation; the return code is 0 if it finds nothing."""
    line = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"]
    line += [f"{server.url}openapi.json", "--header", f"Authorization: Bearer {TOKEN}", "--no-color", "--checks", "all"]
    line += ["--mode", "all", "--max-examples", str(examples), "--seed", str(seed), "--generation-database", "none"]
    line += options
    with TemporaryDirectory() as folder:  # it writes files into its working directory
        return subprocess.run(line, capture_output=True, text=True, cwd=folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1000, help="of each operation")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    exit_code = 0
    with TemporaryDirectory() as folder:
        for model in models(Path(folder)):
            with serving(model) as server:
                result = campaign(server, options.examples, options.seed)
            print(result.stdout)
            exit_code |= result.returncode
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
