"""A run that is killed repeatedly learns the same model, bit by bit, as an undisturbed one.

    python -m tests.campaigns.checkpoints [--kills 50] [--seed 0]

The learner is tests/campaigns/checkpoint_learner.py, a separate process. It is killed (kill -9) at a random time after
a random chunk, while it reads, sums or writes its checkpoint, and then restarted. When it finishes, its model must
equal, byte by byte, the file of a run without a break. Rounds alternate between models with and without rows.
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

from tests.campaigns.checkpoint_learner import write_groups
from undistract import load

ROOT = Path(__file__).parents[2]


def learner(*arguments: object) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "tests.campaigns.checkpoint_learner", *map(str, arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def run_until(n_chunks: int | None, delay: float, *arguments: object) -> tuple[bool, int]:
    """Run the learner; kill it `delay` seconds after `n_chunks` chunks. Return if it finished, and the chunks read."""
    n_read = 0
    with learner(*arguments) as process:
        for _ in process.stdout:
            n_read += 1
            if n_read == n_chunks:
                time.sleep(delay)  # a random delay, to hit writes as well
                process.kill()
    return process.returncode == 0, n_read


def campaign(kills: int, seed: int = 0, kills_per_round: int = 5) -> tuple[Counter[str], list[str]]:
    """Kill the learner `kills` times; return counts and complaints."""
    chance, counts, wrong = random.Random(seed), Counter(), []
    with TemporaryDirectory() as scratch:
        folder = Path(scratch, "groups")
        folder.mkdir()
        write_groups(folder, seed)
        while counts["kills"] < kills and not wrong:
            more = ["--without-rows"] if counts["rounds"] % 2 else []
            expected, model, checkpoint = (Path(scratch, name) for name in ("expected.focus", "model.focus", "sums"))
            finished, n_chunks = run_until(None, 0.0, folder, expected.with_suffix(".sums"), expected, *more)
            assert finished, "the run without a break failed"
            last = -1
            for _ in range(kills_per_round):
                # After a third of the chunks at most, so that the run can be killed again.
                after = chance.randint(1, n_chunks // 3)
                killed = not run_until(after, chance.uniform(0, 0.02), folder, checkpoint, model, *more)[0]
                counts["kills"] += killed
                counts["finished before it was killed"] += not killed
                if checkpoint.exists():
                    state = load(checkpoint)
                    progress = state["n_done"]
                    counts["checkpoints"] += 1
                    wrong += [f"seed {seed}: progress decreased from {last} to {progress}"] if progress < last else []
                    last = progress
            finished, n_read = run_until(None, 0.0, folder, checkpoint, model, *more)
            counts["chunks read again"] += n_read
            counts["rounds"] += 1
            if not finished or model.read_bytes() != expected.read_bytes():
                wrong.append(f"seed {seed}, round {counts['rounds']}: the model is not that of a run without a break")
            for path in Path(scratch).glob("*.*"):
                path.unlink()
            checkpoint.unlink()
    return counts, wrong


def main() -> None:
    """Run the campaign and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts, wrong = campaign(options.kills, options.seed)
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    print(*wrong or ["Every model was identical."], sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
