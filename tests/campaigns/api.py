"""The API equals its schema: schemathesis over the real server, with data that fits and data that does not.

    python -m tests.campaigns.api [--examples 1000] [--seed 0]

Two models are served, one that keeps rows and one of sums alone. Every check of schemathesis is on: no server error,
no status, header or body that the schema does not tell of, what fits is taken, what does not is refused, nothing works
without the token.
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
from undistract import FeatureSet, learn


def models(folder: Path) -> list[Path]:
    """Save a model that keeps rows, and one that does not."""
    rng = np.random.default_rng(0)
    days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    return [learn(days, keep_rows=kept).save(folder / f"{kept}.focus") for kept in (True, False)]


def campaign(server: Running, examples: int, seed: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Let schemathesis try so many examples of each operation; 0 is returned where it finds nothing."""
    line = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"]
    line += [f"{server.url}openapi.json", "--header", f"Authorization: Bearer {TOKEN}", "--no-color", "--checks", "all"]
    line += ["--mode", "all", "--max-examples", str(examples), "--seed", str(seed), "--generation-database", "none"]
    line += options
    with TemporaryDirectory() as folder:  # it keeps notes where it runs
        return subprocess.run(line, capture_output=True, text=True, cwd=folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1000, help="of each operation")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = 0
    with TemporaryDirectory() as folder:
        for model in models(Path(folder)):
            with serving(model) as server:
                told = campaign(server, options.examples, options.seed)
            print(told.stdout)
            found |= told.returncode
    return found


if __name__ == "__main__":
    sys.exit(main())
