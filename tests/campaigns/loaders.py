"""Mutated files of every type read by a native library give rows or a clear error; never a crash or a gigabyte.

    python -m tests.campaigns.loaders [--count 500] [--seed 0]

Bytes are flipped, removed and inserted, and lengths in headers increased, in npy, npz, csv, parquet, Feather, png,
jpeg, ppm, tiff, bmp and ONNX files, each read in a worker with one gigabyte of address space and ten seconds. Videos
have their own campaign (`videos.py`), and so have model files (`benchmarks/model_file_mutations.py`).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.campaigns.worker import Worker, answer_each

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 3))
PICTURE = RNG.integers(0, 256, (16, 12, 3), dtype=np.uint8)
TABLES = (".csv", ".parquet", ".feather", ".arrow")


def table(path: Path, **writing: object) -> None:
    """Write a table in the format of its suffix."""
    import pandas

    frame = pandas.DataFrame(ROWS, columns=["a", "b", "c"]).assign(g=["x", "y", "z"] * 20)
    write = {".csv": frame.to_csv, ".parquet": frame.to_parquet}.get(path.suffix, frame.to_feather)
    write(path, **writing)


def picture(path: Path) -> None:
    """Write an image in the format of its suffix."""
    from PIL import Image

    Image.fromarray(PICTURE).save(path)


def network(path: Path) -> None:
    """Write an image model: the mean of each colour, shifted by a weight."""
    from onnx import TensorProto, helper

    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3, 1, 1])]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 1, 1], [1.0, 2.0, 3.0])
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["m"]), helper.make_node("Add", ["m", "w"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "net", inputs, outputs, [weight]), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    path.write_bytes(model.SerializeToString())


WRITERS: dict[str, Callable[[Path], None]] = {
    "t.npy": lambda path: np.save(path, ROWS),
    "t.npz": lambda path: np.savez_compressed(path, x=ROWS, y=ROWS),
    "t.csv": lambda path: table(path, index=False),
    "t.parquet": lambda path: table(path, row_group_size=20),
    "t.feather": table,
    "t.arrow": lambda path: table(path, compression="uncompressed"),
    **{f"t.{ending}": picture for ending in ("png", "jpg", "ppm", "tif", "bmp")},
}
ALL = {**WRITERS, "t.onnx": network}


def damaged(original: bytes, rng: np.random.Generator) -> bytes:
    """Flip, remove or insert bytes, truncate or increase a length; often near an end."""
    contents = bytearray(original)
    reach = len(contents) if rng.random() < 0.5 else min(len(contents), 200)
    back = rng.random() < 0.3  # archives and tables have their directory at the end
    for _ in range(rng.integers(1, 6)):
        start = int(rng.integers(reach)) % len(contents)
        contents[-1 - start if back else start] = rng.integers(256)
    start, length = int(rng.integers(reach)), int(rng.integers(1, 40))
    kind = rng.integers(6)
    if kind == 0:
        del contents[start : start + length]
    elif kind == 1:
        contents[start:start] = rng.bytes(length)
    elif kind == 2:
        del contents[start:]
    elif kind == 3:
        contents[start : start + 4] = rng.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x40\x00"])
    return bytes(contents)


def read(path: str) -> str:
    """Read a file in the format of its suffix."""
    from undistract import ReadOptions
    from undistract.features import make_extractor
    from undistract.sources import discover_sources

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.endswith(".onnx"):
            rows = make_extractor(f'network(path="{path}",size=8x8)')(PICTURE[None])
            return "read" if np.isfinite(rows).all() else "NOT FINITE"
        is_table = path.endswith(TABLES)
        where = path if is_table or ".np" in path else Path(path).parent
        pixels = make_extractor("pixels(size=4x4)")
        for source in discover_sources(where, ReadOptions(group="g" if is_table else None), extract=pixels):
            if np.isnan(source.rows).any():
                return "NOT A NUMBER"
    return "read"


def campaign(count: int, seed: int, kinds: list[str], keep: Path | None = None) -> dict[str, Counter[str]]:
    """Read `count` mutated files of each type and count the outcomes."""
    counts: dict[str, Counter[str]] = {}
    with TemporaryDirectory() as scratch:
        worker = Worker("tests.campaigns.loaders")
        for kind in kinds:
            folder = Path(scratch, kind)
            folder.mkdir()
            ALL[kind](folder / kind)
            original, counts[kind] = (folder / kind).read_bytes(), Counter()
            for number in range(count):
                (folder / kind).write_bytes(damaged(original, np.random.default_rng([seed, number])))
                outcome = worker.read(folder / kind)
                counts[kind][outcome] += 1
                if outcome[0].isupper():
                    print(f"{kind} seed {seed} number {number}: {outcome}", flush=True)
                    if keep is not None:
                        (keep / f"{number}-{kind}").write_bytes((folder / kind).read_bytes())
                if worker.process.poll() is not None:
                    worker = Worker("tests.campaigns.loaders")
        worker.end()
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="mutations of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=list(ALL), choices=ALL)
    parser.add_argument("--keep", type=Path, help="keep the files that went wrong here")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        answer_each(read)
        return 0
    started = time.time()
    counts = campaign(options.count, options.seed, options.kinds, options.keep)
    for kind, outcomes in counts.items():
        print(kind, ", ".join(f"{outcome}: {count}" for outcome, count in outcomes.most_common()))
    print(f"{time.time() - started:.0f} s")
    return int(any(outcome[0].isupper() for outcomes in counts.values() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
