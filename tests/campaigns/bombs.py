"""Decompression bombs: each is rejected with a clear error in under a second and a hundred megabytes.

    python -m tests.campaigns.bombs

Each bomb is read in a separate process, after a harmless file of the same type, so that only the bomb is measured: CPU
seconds, and the increase of memory use.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

SECONDS, MEGABYTES = 1.0, 100.0

READ = """
import sys, time, warnings
from undistract.errors import InputError
from undistract.sources import discover_sources
from undistract.sources.videos import video_source

warnings.simplefilter("ignore")

def rows(frames):
    return frames.reshape(len(frames), -1)[:, :1]

def read(path):
    for one in discover_sources(path, extract=rows):
        for chunk in one.chunks():
            pass

def highest():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

read(sys.argv[1])
with open("/proc/self/clear_refs", "w") as forget:
    forget.write("5")  # the peak so far, which importing made
before, started = highest(), time.process_time()
try:
    read(sys.argv[2])
    words = "READ"
except InputError as error:
    words = " ".join(str(error).split())
print(time.process_time() - started, highest() - before, words)
"""


class Cost(NamedTuple):
    """CPU time and memory that a bomb needed, and the error message."""

    seconds: float
    megabytes: float
    words: str

    @property
    def complaint(self) -> str:
        """The problem; empty if the bomb was rejected cheaply."""
        if self.seconds >= SECONDS or self.megabytes >= MEGABYTES:
            return "too expensive"
        outcome = self.words.split()[0]
        if outcome in ("READ", "CRASH"):
            return outcome
        return ""


def npy(shape: tuple[int, ...], content: bytes = b"") -> bytes:
    """Return an array file whose header declares this shape of doubles."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + content


def zeros_in_zip(path: Path, megabytes: int, *, members: int = 1, declared: int | None = None) -> None:
    """Write a .npz whose members decompress to this many megabytes of zeros; `declared` is the size in its header."""
    megabyte = bytes(2**20)
    head = npy((megabytes * 2**17, 1))
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    repeated = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = repeated.compress(megabyte) + repeated.flush(
        zlib.Z_FULL_FLUSH
    )  # independent of the previous block, so that it can be repeated
    last = zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    check = zlib.crc32(head)
    for _ in range(megabytes):
        check = zlib.crc32(megabyte, check)
    data = first + block * megabytes + last
    size = len(head) + megabytes * 2**20 if declared is None else declared
    common = struct.pack("<HHHHHIII", 20, 0, 8, 0, 33, check, len(data), size)
    with path.open("wb") as file:
        directory = b""
        for number in range(members):
            name, offset = f"x{number}.npy".encode(), file.tell()
            file.write(b"PK\x03\x04" + common + struct.pack("<HH", len(name), 0) + name + data)
            directory += b"PK\x01\x02" + struct.pack("<H", 20) + common
            directory += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, offset) + name
        offset = file.tell()
        file.write(
            directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, members, members, len(directory), offset, 0)
        )


def many_members(path: Path) -> None:
    """Write a .npz with 60 000 members that all have the same offset."""
    data, names = npy((1, 1), bytes(8)), [f"x{number}.npy".encode() for number in range(60_000)]
    common = struct.pack("<HHHHHIII", 20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data))
    local = b"PK\x03\x04" + common + struct.pack("<HH", len(names[0]), 0) + names[0] + data
    directory = b"".join(
        b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
        for name in names
    )
    end = struct.pack("<HHHHIIH", 0, 0, len(names), len(names), len(directory), len(local), 0)
    path.write_bytes(local + directory + b"PK\x05\x06" + end)


def png(path: Path, side: int, *, text: int = 0) -> None:
    """Write a grey PNG of side x side with compressible pixels; `text` is the size of a comment in megabytes."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    comment = chunk(b"zTXt", b"note\0\0" + zlib.compress(bytes(text * 2**20), 9)) if text else b""
    pixels = zlib.compress(bytes(min(side * (side + 1), 2**24)), 9)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + comment + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def parquet(path: Path, megabytes: int) -> None:
    """Write a table whose one page decompresses to this many megabytes of zeros."""
    import pyarrow as arrow
    import pyarrow.parquet as tables

    table = arrow.table({"a": np.zeros(megabytes * 2**17), "b": np.zeros(megabytes * 2**17)})
    tables.write_table(
        table, path, compression="zstd", use_dictionary=False, data_page_size=2**31 - 1, row_group_size=len(table)
    )


def feather(path: Path, megabytes: int) -> None:
    """Write a table whose one batch decompresses to this many megabytes of zeros."""
    import pyarrow as arrow
    import pyarrow.feather as tables

    table = arrow.table({"a": np.zeros(megabytes * 2**17), "b": np.zeros(megabytes * 2**17)})
    tables.write_feather(table, path, compression="zstd", chunksize=len(table))


def video(path: Path, side: int) -> None:
    """Write a clip whose header declares frames of side x side."""
    from tests.clips import dots, write_clip

    write_clip(path, dots(5), codec="rawvideo")
    small, giant = struct.pack("<ii", 96, 64), struct.pack("<ii", side, side)
    content = path.read_bytes()
    assert small in content
    path.write_bytes(content.replace(small, giant))


BOMBS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "npz, 2 MB to 2 GB": ("bomb.npz", lambda path: zeros_in_zip(path, 2048)),
    "npz, 1000 to one in ten members": ("bomb.npz", lambda path: zeros_in_zip(path, 100, members=10)),
    "npz that understates its size": ("bomb.npz", lambda path: zeros_in_zip(path, 1000, declared=1000)),
    "npz with 60 000 members": ("bomb.npz", many_members),
    "npy that declares a terabyte": ("bomb.npy", lambda path: path.write_bytes(npy((2**37, 1)))),
    "png of 900 megapixels": ("bomb.png", lambda path: png(path, 30_000)),
    "png with a comment of 1 GB": ("bomb.png", lambda path: png(path, 64, text=1000)),
    "png larger than we read": ("bomb.png", lambda path: png(path, 9000)),
    "bmp of 900 megapixels": (
        "bomb.bmp",
        lambda path: path.write_bytes(
            b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 30000, 30000, 1, 24, 0, 0, 0, 0, 0, 0)
        ),
    ),
    "ppm of 900 megapixels": ("bomb.ppm", lambda path: path.write_bytes(b"P6 30000 30000 255\n")),
    "parquet, 1000 to one": ("bomb.parquet", lambda path: parquet(path, 500)),
    "feather, 1000 to one": ("bomb.feather", lambda path: feather(path, 500)),
    "csv of two million columns": (
        "bomb.csv",
        lambda path: path.write_text(",".join(map(str, range(2 * 10**6))) + "\n"),
    ),
    "avi with frames of 60 000 x 60 000": ("bomb.avi", lambda path: video(path, 60_000)),
    "avi with frames of 30 000 x 30 000": ("bomb.avi", lambda path: video(path, 30_000)),
}


def harmless(path: Path) -> None:
    """Write a small file of the same kind."""
    rows = np.random.default_rng(0).normal(size=(20, 3))
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".npz":
        np.savez(path, rows)
    elif path.suffix == ".avi":
        from tests.clips import dots, write_clip

        write_clip(path, dots(5), codec="rawvideo")
    elif path.suffix == ".csv":
        path.write_text("a,b\n1,2\n")
    elif path.suffix in (".parquet", ".feather"):
        import pandas

        frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_feather(path)
    else:
        from PIL import Image

        Image.fromarray(np.zeros((8, 8), np.uint8)).save(path)


def cost_of(name: str, folder: Path) -> Cost:
    """Create a bomb, read it, and return its cost."""
    file, make = BOMBS[name]
    (folder / "good").mkdir(parents=True)
    (folder / "bad").mkdir()
    harmless(folder / "good" / file)
    make(folder / "bad" / file)
    line = [sys.executable, "-c", READ, str(folder / "good"), str(folder / "bad")]
    result = subprocess.run(line, capture_output=True, text=True, timeout=300)
    if result.returncode:
        return Cost(0.0, 0.0, f"CRASH {result.returncode}: {result.stderr[-300:]}")
    seconds, megabytes, words = result.stdout.split(maxsplit=2)
    return Cost(float(seconds), float(megabytes), words.strip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(BOMBS), choices=BOMBS)
    wrong = 0
    for name in parser.parse_args().only:
        with TemporaryDirectory() as scratch:
            cost = cost_of(name, Path(scratch))
            size = next(Path(scratch, "bad").iterdir()).stat().st_size / 1e6
        wrong += bool(cost.complaint)
        print(f"{name} ({size:.3g} MB): {cost.seconds:.2f} s, {cost.megabytes:.0f} MB, {cost.complaint or 'rejected'}")
        print(f"    {cost.words[:200]}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
