"""Our own parsers under bytes that nobody meant: each is read, or refused with one of our errors; nothing else.

    python -m tests.campaigns.parsers [--runs 5000] [--only spec config ...]

With atheris (extra `fuzz`) the bytes are led by what they reach in the code; without it they are random changes of good
ones, and that is said. A finding is printed with the bytes that made it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from undistract.errors import FileError, InputError
from undistract.extras import MissingExtraError

REFUSED = (InputError, click.ClickException, MissingExtraError)
TOKENS = (
    *(b"0", b"-1", b"1e999", b"nan", b"9" * 20, b"9" * 5000, b"0x1", b"\xd9\xa3", b"\xc2\xb2", b"null", b"true"),
    *(b'"', b"'", b"(", b")", b"[", b"{", b"}", b"+", b",", b"=", b"x", b"/", b"..", b"\\", b"\n", b"\x00", b"\xff"),
    *(b"\xed\xa0\x80", b"\xe2\x80\xae", b"[" * 2000, b'{"a":' * 500),
)


def spec(data: bytes, _: Path) -> None:
    """Read a spec; what it made must say how to make it again."""
    from undistract.features import make_extractor

    made = make_extractor(data.decode("utf-8", "surrogateescape"))
    assert make_extractor(made.name).name == made.name, made.name


def config(data: bytes, folder: Path) -> None:
    """Read options from a file, as `undistract learn --config` does."""
    from undistract.cli.learn import learn

    (folder / "options.toml").write_bytes(data)
    words = ["day.npy", "--save", str(folder / "m.focus"), "--config", str(folder / "options.toml")]
    learn.make_context("learn", words)


def options(data: bytes, folder: Path) -> None:
    """Read the command line of `undistract learn`, a word in each line."""
    from undistract.cli.learn import learn

    words = data.decode("utf-8", "surrogateescape").replace("\0", "").split("\n")
    words = [word for word in words if not word.startswith(("--config", "--save", "--help", "--version"))]
    with suppress(click.exceptions.Exit):
        learn.make_context("learn", [*words, "--save", str(folder / "m.focus")], obj=None)


def model_header(data: bytes, folder: Path) -> None:
    """Load a model file whose header is these words, correctly signed where they are JSON."""
    from safetensors.numpy import save as to_safetensors

    from undistract import describe_file, load
    from undistract.storage.container import FORMAT, digest_of

    text = data.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError, TypeError):
        header = json.loads(text)
        text = json.dumps({**header, "sha256": digest_of(header, {})})
    path = folder / "m.focus"
    path.write_bytes(to_safetensors({}, metadata={FORMAT: text}))
    with suppress(FileError):
        describe_file(path)
    load(path)


def event(data: bytes, _: Path) -> None:
    """Read an event of a review; what was read is written as it was."""
    from undistract.review.verdicts import event_from_json

    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("no JSON") from error
    read = event_from_json(record)
    assert event_from_json(read.to_json()) == read


def table(data: bytes, folder: Path) -> None:
    """Read a text table; sets by a column, where there may be one."""
    _rows(folder, "day.csv", data, columns="numeric", group="day" if b"day" in data else None)


def array(data: bytes, folder: Path) -> None:
    """Read an array file."""
    _rows(folder, "day.npy", data)


def archive(data: bytes, folder: Path) -> None:
    """Read an archive of arrays."""
    _rows(folder, "day.npz", data)


def feather(data: bytes, folder: Path) -> None:
    """Read an Arrow table, whose sizes we look at ourselves."""
    _rows(folder, "day.feather", data, group="day")


def pattern(data: bytes, folder: Path) -> None:
    """Look for files by a pattern, inside of one folder."""
    from undistract.sets.paths import set_paths

    (folder / "day1.npy").touch()
    words = data.decode("utf-8", "surrogateescape").replace("/", "").replace("..", "")
    set_paths(f"{folder}/{words}", ignore=words[::-1])


def network(data: bytes, folder: Path) -> None:
    """Look whether an ONNX model stands alone."""
    from undistract.features.network import _check_self_contained

    _check_self_contained("net.onnx", data)


def request(data: bytes, _: Path) -> None:
    """Send a request: its target, then a header in each line, then a body. No answer is an accident."""
    from tests.web.asking import OURS, ask

    head, _, body = data.partition(b"\n\n")
    target, *lines = head.decode("latin-1").split("\n")
    method, _, target = target.partition(" ")
    pairs = [tuple(line.split(":", 1)) for line in lines if ":" in line]
    reply = ask(_app(), method, target, [*OURS.items(), *pairs], [body])
    assert reply.status < 500, (reply.status, reply.body)
    if reply.status >= 400:
        raise InputError(str(reply.status))


def _rows(folder: Path, name: str, data: bytes, **reading: Any) -> None:
    from undistract.sets import find_sets

    (folder / name).write_bytes(data)
    for one in find_sets(folder / name, **reading):
        assert not np.isnan(one.rows).any()


_APPS: list[Any] = []


def _app() -> Any:
    from undistract import FeatureSet, learn
    from undistract.web.app import make_app

    if not _APPS:
        from tests.web.asking import TOKEN

        rng = np.random.default_rng(0)
        days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
        _APPS.append(make_app(token=TOKEN, model=learn(days)))
    return _APPS[0]


def _files(name: str) -> list[bytes]:
    """Return a good file or two of a kind."""
    rows = np.random.default_rng(0).normal(size=(6, 2))
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        if name.endswith("npy"):
            np.save(path, rows)
        elif name.endswith("npz"):
            np.savez_compressed(path, x=rows, y=rows)
        elif name.endswith("feather"):
            import pandas

            pandas.DataFrame({"a": rows[:, 0], "day": list("xyxyxy")}).to_feather(path, compression="zstd")
        else:
            from onnx import TensorProto, helper

            info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy"]
            graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", info[:1], info[1:])
            path.write_bytes(helper.make_model(graph).SerializeToString())
        return [path.read_bytes()]


def _headers() -> list[bytes]:
    """Return the headers of good files without arrays."""
    from undistract import Focus, Tail, save
    from undistract.storage.container import read_container

    with TemporaryDirectory() as folder:
        things = (Focus(cutoff=0.9), Tail(0.001), {"a": [1, 2.5, None, ("x", 1)], "b": {"c": Focus()}})
        return [json.dumps(read_container(save(thing, Path(folder, "m")))[0]).encode() for thing in things]


KEY = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
VERDICT = {"kind": "verdict", "key": KEY, "set_name": "a", "start": 1, "stop": 9, "peak": 3, "answer": "familiar"}
PARSERS: dict[str, tuple[Callable[[bytes, Path], None], Callable[[], list[bytes]]]] = {
    "spec": (
        spec,
        lambda: [b"pixels", b"flow(cells=4x3,bins=8)+pixels(size=12x8)", b'network(path="a,b.onnx",mean=0.5/0.5/0.5)'],
    ),
    "config": (
        config,
        lambda: [b'window = 5\ncolumns = ["a", "b"]\nignore = ["*.bak"]\ncutoff = "auto"\nimpute = true'],
    ),
    "options": (
        options,
        lambda: [b"day.npy\n--cutoff\n0.9\n--resize\n4x3\n--window\n5", b"a.csv\n--columns\na,b\n--impute"],
    ),
    "model header": (model_header, _headers),
    "event": (event, lambda: [json.dumps({**VERDICT, "when": 1.5, "note": "n", "who": "w"}).encode()]),
    "table": (table, lambda: [b"day,a,b\nx,1,2\ny,3,4.5\n", b'"a";"b"\n1,5;2\n', b"a\tb\n2024-01-01\t1\n"]),
    "array": (array, lambda: _files("a.npy")),
    "archive": (archive, lambda: _files("a.npz")),
    "feather": (feather, lambda: _files("a.feather")),
    "pattern": (pattern, lambda: [b"day*.npy", b"[a-d]ay?.n[!x]y", b"**"]),
    "network": (network, lambda: _files("a.onnx")),
    "request": (
        request,
        lambda: [
            b"GET /model\nsec-fetch-site: none\ncookie: a=b",
            b'POST /score\ncontent-type: application/json\n\n{"rows": [[1, 2, 3]], "explain": true}',
        ],
    ),
}


def attempt(name: str, data: bytes, folder: Path) -> str:
    """Let a parser read some bytes: "read" or "refused"; anything else it raises is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            PARSERS[name][0](data, folder)
        except REFUSED:
            return "refused"
    return "read"


def changed(data: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return a copy with some bytes changed, dropped or doubled, and words put in that parsers stumble over."""
    content = bytearray(data)
    for _ in range(rng.integers(1, 3)):
        place, length = int(rng.integers(len(content) + 1)), int(rng.integers(1, 12))
        match rng.integers(6):
            case 0:
                content[place : place + 1] = rng.bytes(1)
            case 1:
                del content[place : place + length]
            case 2:
                content[place:place] = content[place : place + length]
            case 3 | 4:
                content[place : place + int(rng.integers(4))] = TOKENS[rng.integers(len(TOKENS))]
            case 5:
                other = others[rng.integers(len(others))]
                content[place:] = other[int(rng.integers(len(other) + 1)) :]
    return bytes(content)


def random_runs(name: str, runs: int, seed: int = 0) -> dict[str, int]:
    """Change good input at random, so many times; count how it went."""
    seeds, counts = PARSERS[name][1](), {"read": 0, "refused": 0}
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as folder:
        for number in range(runs):
            data = changed(seeds[number % len(seeds)], seeds, rng)
            try:
                counts[attempt(name, data, Path(folder))] += 1
            except BaseException as error:
                error.add_note(f"{name}, run {number} of seed {seed}: {data[:2000]!r}")
                raise
    return counts


def led_runs(name: str, runs: int) -> None:
    """Let atheris find bytes; it ends the process, with an error where it found something."""
    import atheris

    with TemporaryDirectory() as corpus, TemporaryDirectory() as folder:
        for number, data in enumerate(PARSERS[name][1]()):
            Path(corpus, str(number)).write_bytes(data)
        words = Path(folder, "words")
        words.write_text("".join(f'"{"".join(f"{chr(92)}x{one:02x}" for one in token[:60])}"\n' for token in TOKENS))
        for number in range(50):  # whatever is imported late is imported now
            with suppress(*REFUSED):
                attempt(name, changed(b"a" * (number % 7), TOKENS, np.random.default_rng(number)), Path(folder))

        @atheris.instrument_func
        def tried(data: bytes) -> None:
            attempt(name, data, Path(folder))

        options = ["-seed=1", "-max_len=4000", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
        options += [f"-runs={runs}", f"-dict={words}", f"-artifact_prefix={Path.cwd()}/finding-"]
        atheris.Setup([sys.argv[0], *options, corpus], tried)
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000, help="of each parser")
    parser.add_argument("--only", nargs="*", default=list(PARSERS), choices=PARSERS)
    parser.add_argument("--led", choices=PARSERS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.led:
        import atheris

        with atheris.instrument_imports(include=["undistract"]):
            import undistract.cli.learn
            import undistract.features
            import undistract.review.verdicts
            import undistract.sets
            import undistract.storage
            import undistract.web.app  # noqa: F401
        led_runs(asked.led, asked.runs)
        return 0
    led = find_spec("atheris") is not None
    if not led:
        print('Without atheris (pip install "undistract[fuzz]") the changes are random.')
    found = 0
    for name in asked.only:
        if not led:
            print(name, random_runs(name, asked.runs), flush=True)
            continue
        line = [sys.executable, "-m", "tests.campaigns.parsers", "--led", name, "--runs", str(asked.runs)]
        with TemporaryDirectory() as scratch:
            told = subprocess.run(line, capture_output=True, text=True, cwd=scratch)
        found |= told.returncode
        numbers = [one for one in told.stderr.splitlines() if one.startswith(("Done ", "stat::peak", "#"))][-2:]
        print(
            f"{name}: {'; '.join(numbers) if not told.returncode else told.stdout[-1500:] + told.stderr[-3000:]}",
            flush=True,
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
