"""Fuzz our own parsers: each input is read or rejected with one of our errors.

    python -m tests.campaigns.parsers [--runs 5000] [--only spec config ...]

With atheris (extra `fuzz`) the inputs are guided by code coverage; without it they are random changes of valid inputs,
with a notice. A finding is printed with its input.
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

from undistract._optional import MissingExtraError
from undistract.errors import FileError, InputError

REFUSED = (InputError, click.ClickException, MissingExtraError)
TOKENS = (
    *(b"0", b"-1", b"1e999", b"nan", b"9" * 20, b"9" * 5000, b"0x1", b"\xd9\xa3", b"\xc2\xb2", b"null", b"true"),
    *(b'"', b"'", b"(", b")", b"[", b"{", b"}", b"+", b",", b"=", b"x", b"/", b"..", b"\\", b"\n", b"\x00", b"\xff"),
    *(b"\xed\xa0\x80", b"\xe2\x80\xae", b"[" * 2000, b'{"a":' * 500),
)


def spec(data: bytes, _: Path) -> None:
    """Read a spec; the name of the extractor must recreate it."""
    from undistract.features import make_extractor

    extractor = make_extractor(data.decode("utf-8", "surrogateescape"))
    assert make_extractor(extractor.name).name == extractor.name, extractor.name


def config(data: bytes, folder: Path) -> None:
    """Read options from a file, as `undistract learn --config` does."""
    from undistract.cli.learn import learn

    (folder / "options.toml").write_bytes(data)
    arguments = ["day.npy", "--save", str(folder / "m.focus"), "--config", str(folder / "options.toml")]
    learn.make_context("learn", arguments)


def options(data: bytes, folder: Path) -> None:
    """Parse the command line of `undistract learn`, one argument per line."""
    from undistract.cli.learn import learn

    arguments = data.decode("utf-8", "surrogateescape").replace("\0", "").split("\n")
    arguments = [word for word in arguments if not word.startswith(("--config", "--save", "--help", "--version"))]
    with suppress(click.exceptions.Exit):
        learn.make_context("learn", [*arguments, "--save", str(folder / "m.focus")], obj=None)


def model_header(data: bytes, folder: Path) -> None:
    """Load a model file with this header, with a correct checksum if it is JSON."""
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
    """Read an event of a review; writing it again gives the same event."""
    from undistract.pipeline.verdicts import event_from_json

    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("no JSON") from error
    read = event_from_json(record)
    assert event_from_json(read.to_json()) == read


def table(data: bytes, folder: Path) -> None:
    """Read a text table, with groups from a column if there may be one."""
    _rows(folder, "day.csv", data, columns="numeric", group="day" if b"day" in data else None)


def array(data: bytes, folder: Path) -> None:
    """Read an array file."""
    _rows(folder, "day.npy", data)


def archive(data: bytes, folder: Path) -> None:
    """Read an archive of arrays."""
    _rows(folder, "day.npz", data)


def feather(data: bytes, folder: Path) -> None:
    """Read an Arrow table; its sizes are checked by our own code."""
    _rows(folder, "day.feather", data, group="day")


def pattern(data: bytes, folder: Path) -> None:
    """Find files by a pattern inside a folder."""
    from undistract.sources.discover import source_files

    (folder / "day1.npy").touch()
    text = data.decode("utf-8", "surrogateescape").replace("/", "").replace("..", "")
    source_files(f"{folder}/{text}", ignore=text[::-1])


def network(data: bytes, folder: Path) -> None:
    """Check that an ONNX model has no external data."""
    from undistract.features.network import _check_self_contained

    _check_self_contained("net.onnx", data)


def request(data: bytes, _: Path) -> None:
    """Send a request: target, one header per line, body. A server error is a finding."""
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
    from undistract import ReadOptions
    from undistract.sources import discover_sources

    (folder / name).write_bytes(data)
    for source in discover_sources(folder / name, ReadOptions(**reading)):
        assert not np.isnan(source.rows).any()


_APPS: list[Any] = []


def _app() -> Any:
    from undistract import Source, learn
    from undistract.web.app import make_app

    if not _APPS:
        from tests.web.asking import TOKEN

        rng = np.random.default_rng(0)
        days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
        _APPS.append(make_app(token=TOKEN, model=learn(days)))
    return _APPS[0]


def _files(name: str) -> list[bytes]:
    """Return valid files of a type."""
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
    """Return the headers of valid files without arrays."""
    from undistract import Focus, Tail, save
    from undistract.storage.container import read_container

    with TemporaryDirectory() as folder:
        objects = (Focus(cutoff=0.9), Tail(0.001), {"a": [1, 2.5, None, ("x", 1)], "b": {"c": Focus()}})
        return [json.dumps(read_container(save(item, Path(folder, "m")))[0]).encode() for item in objects]


KEY = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
VERDICT = {"kind": "verdict", "key": KEY, "group_name": "a", "start": 1, "stop": 9, "peak": 3, "answer": "false_alarm"}
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
    """Run a parser: return "read" or "refused"; any other exception is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            PARSERS[name][0](data, folder)
        except REFUSED:
            return "refused"
    return "read"


def changed(data: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return a copy with bytes changed, removed or repeated, and with tokens that are difficult for parsers."""
    content = bytearray(data)
    for _ in range(rng.integers(1, 3)):
        start, length = int(rng.integers(len(content) + 1)), int(rng.integers(1, 12))
        match rng.integers(6):
            case 0:
                content[start : start + 1] = rng.bytes(1)
            case 1:
                del content[start : start + length]
            case 2:
                content[start:start] = content[start : start + length]
            case 3 | 4:
                content[start : start + int(rng.integers(4))] = TOKENS[rng.integers(len(TOKENS))]
            case 5:
                other = others[rng.integers(len(others))]
                content[start:] = other[int(rng.integers(len(other) + 1)) :]
    return bytes(content)


def random_runs(name: str, runs: int, seed: int = 0) -> dict[str, int]:
    """Change valid input at random `runs` times and count the outcomes."""
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
    """Run atheris; it ends the process, with an error if it finds something."""
    import atheris

    with TemporaryDirectory() as corpus, TemporaryDirectory() as folder:
        for number, data in enumerate(PARSERS[name][1]()):
            Path(corpus, str(number)).write_bytes(data)
        dictionary = Path(folder, "words")
        dictionary.write_text(
            "".join(f'"{"".join(f"{chr(92)}x{byte:02x}" for byte in token[:60])}"\n' for token in TOKENS)
        )
        for number in range(50):  # trigger late imports before fuzzing
            with suppress(*REFUSED):
                attempt(name, changed(b"a" * (number % 7), TOKENS, np.random.default_rng(number)), Path(folder))

        @atheris.instrument_func
        def tried(data: bytes) -> None:
            attempt(name, data, Path(folder))

        options = ["-seed=1", "-max_len=4000", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
        options += [f"-runs={runs}", f"-dict={dictionary}", f"-artifact_prefix={Path.cwd()}/finding-"]
        atheris.Setup([sys.argv[0], *options, corpus], tried)
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000, help="of each parser")
    parser.add_argument("--only", nargs="*", default=list(PARSERS), choices=PARSERS)
    parser.add_argument("--led", choices=PARSERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.led:
        import atheris

        with atheris.instrument_imports(include=["undistract"]):
            import undistract.cli.learn
            import undistract.features
            import undistract.pipeline.verdicts
            import undistract.sources
            import undistract.storage
            import undistract.web.app  # noqa: F401
        led_runs(options.led, options.runs)
        return 0
    led = find_spec("atheris") is not None
    if not led:
        print('Without atheris (pip install "undistract[fuzz]") the changes are random.')
    exit_code = 0
    for name in options.only:
        if not led:
            print(name, random_runs(name, options.runs), flush=True)
            continue
        line = [sys.executable, "-m", "tests.campaigns.parsers", "--led", name, "--runs", str(options.runs)]
        with TemporaryDirectory() as scratch:
            result = subprocess.run(line, capture_output=True, text=True, cwd=scratch)
        exit_code |= result.returncode
        numbers = [text for text in result.stderr.splitlines() if text.startswith(("Done ", "stat::peak", "#"))][-2:]
        print(
            f"{name}: {'; '.join(numbers) if not result.returncode else result.stdout[-1500:] + result.stderr[-3000:]}",
            flush=True,
        )
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
