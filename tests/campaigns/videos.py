"""Mutated video clips give frames or a clear error; never a crash, a hang or a gigabyte.

    python -m tests.campaigns.videos [--count 500] [--seed 0]

Bits are flipped, bytes overwritten, files truncated, parts of a file (atoms, chunks) swapped, repeated or removed, and
sizes in headers increased, in mp4, avi and mkv. Each clip is read, and a part of it is rendered, in a worker with one
gigabyte of address space and ten seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.campaigns.worker import Worker, answer_each
from tests.clips import dots, write_clip
from undistract.errors import InputError

CONTAINERS = {"mp4": "libx264", "avi": "mpeg4", "mkv": "libx264"}


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a damaged copy."""
    data = bytearray(content)
    kind = rng.choice(["flip", "overwrite", "cut", "swap", "double", "drop", "blow up", "header"])
    start, stop = np.sort(rng.integers(0, len(data), size=2)).tolist()
    if kind == "flip":
        for offset in rng.integers(0, len(data), size=rng.integers(1, 200)).tolist():
            data[offset] ^= 1 << int(rng.integers(8))
    elif kind == "header":
        for offset in rng.integers(0, min(len(data), 1000), size=rng.integers(1, 20)).tolist():
            data[offset] = int(rng.integers(256))
    elif kind == "overwrite":
        data[start:stop] = rng.bytes(stop - start)
    elif kind == "cut":
        del data[start:]
    elif kind == "swap":
        half = (start + stop) // 2
        data[start:stop] = data[half:stop] + data[start:half]
    elif kind == "double":
        data[start:start] = data[start:stop]
    elif kind == "drop":
        del data[start:stop]
    else:  # increase a length, a width or a count
        offset = start // 4 * 4
        data[offset : offset + 4] = rng.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x40\x00"])
    return bytes(data)


def work() -> None:
    """Read clips named on stdin and print the outcomes."""
    from undistract.features import make_extractor
    from undistract.report.video import write_stretch
    from undistract.sources.videos import video_rows

    extract = make_extractor("pixels(size=6x4)")

    def render(path: str, chunks: list) -> str:
        times = np.concatenate([times for _, times in chunks])
        middle = len(times) // 2
        try:
            write_stretch(path, times, middle, middle + 1, middle, save=f"{path}.stretch.mp4")
        except InputError:
            return ", not shown"
        finally:
            Path(f"{path}.stretch.mp4").unlink(missing_ok=True)
        return ""

    def read(path: str) -> str:
        reports = []
        chunks = list(video_rows(path, extract, on_report=reports.append))
        if not all(np.isfinite(rows).all() and np.isfinite(times).all() for rows, times in chunks):
            return "NOT FINITE"
        return ("read, something lost" if reports[0].lost else "read") + render(path, chunks)

    answer_each(read)


def campaign(count: int, seed: int, containers: list[str], keep: Path | None = None) -> dict[str, Counter[str]]:
    """Read `count` mutated clips of each container and count the outcomes."""
    counts: dict[str, Counter[str]] = {}
    with TemporaryDirectory() as scratch:
        worker = Worker(__spec__.name)
        for container in containers:
            codec = CONTAINERS[container]
            clip = write_clip(Path(scratch, f"clip.{container}"), dots(30, noise=20), codec=codec).read_bytes()
            counts[container] = Counter()
            for number in range(count):
                damaged = Path(scratch, f"{number}.{container}")
                damaged.write_bytes(mutated(clip, np.random.default_rng([seed, number])))
                outcome = worker.read(damaged)
                counts[container][outcome] += 1
                if outcome[0].isupper():
                    print(f"{container} seed {seed} number {number}: {outcome}", flush=True)
                    if keep is not None:
                        damaged.rename(keep / damaged.name)
                if worker.process.poll() is not None:
                    worker = Worker(__spec__.name)
                damaged.unlink(missing_ok=True)
        worker.end()
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="mutations of each container")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--containers", nargs="*", default=list(CONTAINERS), choices=CONTAINERS)
    parser.add_argument("--keep", type=Path, help="keep the clips that went wrong here")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return 0
    started = time.time()
    counts = campaign(options.count, options.seed, options.containers, options.keep)
    for container, outcomes in counts.items():
        print(container, ", ".join(f"{outcome}: {count}" for outcome, count in outcomes.most_common()))
    print(f"{time.time() - started:.0f} s")
    return int(any(outcome[0].isupper() for outcomes in counts.values() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
