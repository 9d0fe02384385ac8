"""A run that is killed again and again learns the same to the bit as one that is left alone.

    python -m tests.campaigns.checkpoints [--kills 50] [--seed 0]

The learner is tests/campaigns/checkpoint_learner.py, a process of its own. It is killed (kill -9) after any chunk it
reads, and a little later, so that it dies while it reads, sums up, or writes its checkpoint. Then it is started again.
When it was left to finish, its model must be the file that a run without a break wrote, byte by byte. Each round begins
anew, with rows in the model and without.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.campaigns.checkpoint_learner import write_sets
from undistract import load

ROOT = Path(__file__).parents[2]


def learner(*words: object) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "tests.campaigns.checkpoint_learner", *map(str, words)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def run_until(n_chunks: int | None, delay: float, *words: object) -> tuple[bool, int]:
    """Run the learner and kill it after so many chunks and a little; say whether it finished, and what it read."""
    n_read = 0
    with learner(*words) as process:
        for _ in process.stdout:
            n_read += 1
            if n_read == n_chunks:
                time.sleep(delay)  # any moment: nothing tells when a write is half done
                process.kill()
    return process.returncode == 0, n_read


def campaign(kills: int, seed: int = 0, kills_per_round: int = 5) -> tuple[Counter[str], list[str]]:
    """Kill so many times; return what was counted, and what was wrong."""
    chance, counts, wrong = random.Random(seed), Counter(), []
    with TemporaryDirectory() as place:
        folder = Path(place, "sets")
        folder.mkdir()
        write_sets(folder, seed)
        while counts["kills"] < kills and not wrong:
            more = ["--without-rows"] if counts["rounds"] % 2 else []
            expected, model, checkpoint = (Path(place, name) for name in ("expected.focus", "model.focus", "sums"))
            finished, n_chunks = run_until(None, 0.0, folder, expected.with_suffix(".sums"), expected, *more)
            assert finished, "the run without a break failed"
            last = -1
            for _ in range(kills_per_round):
                # A third of the way at most, so that there is something left to be killed.
                after = chance.randint(1, n_chunks // 3)
                killed = not run_until(after, chance.uniform(0, 0.02), folder, checkpoint, model, *more)[0]
                counts["kills"] += killed
                counts["finished before it was killed"] += not killed
                if checkpoint.exists():
                    held = load(checkpoint)
                    far = held["n_sets"] * 1000 + held["n_chunks"]
                    counts["checkpoints inside a set"] += held["piece"] is not None
                    wrong += [f"seed {seed}: went back from {last} to {far}"] if far < last else []
                    last = far
            finished, n_read = run_until(None, 0.0, folder, checkpoint, model, *more)
            counts["chunks read again"] += n_read
            counts["rounds"] += 1
            if not finished or model.read_bytes() != expected.read_bytes():
                wrong.append(f"seed {seed}, round {counts['rounds']}: the model is not that of a run without a break")
            for path in Path(place).glob("*.*"):
                path.unlink()
            checkpoint.unlink()
    return counts, wrong


def main() -> None:
    """Run the campaign, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    counts, wrong = campaign(asked.kills, asked.seed)
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    print(*wrong or ["Every model was the same to the byte."], sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
