"""Describe what users call: signatures of public names, help and JSON of commands, schemas of the web apps."""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.contract import calls

FOLDER = Path(__file__).parent
SIGNATURES = FOLDER / "signatures.txt"
COMMANDS = FOLDER / "commands.txt"
OPENAPI = FOLDER / "openapi.json"


def difference(recorded: Path, text: str) -> str:
    """Return the difference to a recorded file and how to record it again; empty if there is none."""
    expected = recorded.read_text(encoding="utf-8")
    if expected == text:
        return ""
    lines = difflib.unified_diff(
        expected.splitlines(), text.splitlines(), f"recorded {recorded.name}", "now", lineterm="", n=1
    )
    advice = f"python -m tests.contract.write --{recorded.stem}"
    return "\n".join(
        [*lines, "", f"If the change is intended, add a line to tests/contract/CHANGES.md and run {advice}"]
    )


# Signatures


def signatures() -> str:
    """Return one line per public name and public method, sorted."""
    package = calls.public_package()
    lines: set[str] = set()
    for name in package.__all__:
        lines.update(_lines_of(name, getattr(package, name)))
    return "\n".join(sorted(lines)) + "\n"


def _lines_of(name: str, member: Any) -> Iterator[str]:
    if not inspect.isclass(member):
        yield f"{name}{_signature(member)}" if callable(member) else f"{name}: {type(member).__name__}"
        return
    yield f"{name}{_signature(member)}"
    # Names in the instance dictionary of dataclasses are in the signature of the class already.
    for attribute in dir(member):
        if attribute.startswith("_"):
            continue
        value = inspect.getattr_static(member, attribute)
        if _is_inherited_from_elsewhere(member, attribute):
            continue
        if isinstance(value, property | cached_property):
            yield f"{name}.{attribute}: property"
        elif callable(getattr(member, attribute, None)):
            yield f"{name}.{attribute}{_signature(getattr(member, attribute))}"


def _is_inherited_from_elsewhere(owner: type, attribute: str) -> bool:
    """Return whether scikit-learn or Python define the attribute: their versions are not ours to record."""
    home = next(base for base in owner.__mro__ if attribute in vars(base))
    return not home.__module__.startswith("undistract")


def _signature(member: Any) -> str:
    try:
        text = str(inspect.signature(member))
    except (TypeError, ValueError):
        return "(...)"
    # Addresses of default objects differ from run to run.
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def write_signatures() -> None:
    SIGNATURES.write_text(signatures(), encoding="utf-8")


# Commands


def commands() -> str:
    """Return the help of all commands, then the keys of their JSON output."""
    parts = [_section("undistract --help", calls.run_command("--help").output)]
    for name in calls.command_names():
        parts.append(_section(f"undistract {name} --help", calls.run_command(name, "--help").output))
    with TemporaryDirectory() as folder:
        for words, answer in json_answers(Path(folder)):
            parts.append(_section(f"{words} --json", "\n".join(sorted(_keys(answer)))))
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    return f"### {title}\n" + "\n".join(lines).strip() + "\n"


def write_site(folder: Path) -> None:
    """Write files of eight normal days of one machine, and one day with an event."""
    rng = np.random.default_rng(41)
    load = np.array([5.0, 3.0, 0.0, 4.0])
    header = "cpu,memory,disk,net"
    (folder / "normal").mkdir()
    for day in range(8):
        rows = rng.normal(size=4) + rng.normal(size=(60, 4)) + rng.normal(size=(60, 1)) * load
        np.savetxt(folder / "normal" / f"day{day}.csv", rows, "%.4f", ",", header=header, comments="")
    rows = rng.normal(size=4) + rng.normal(size=(60, 4)) + rng.normal(size=(60, 1)) * load
    rows[30] += [0, 0, 12, -9]
    np.savetxt(folder / "today.csv", rows, "%.4f", ",", header=header, comments="")


def json_answers(folder: Path) -> Iterator[tuple[str, Any]]:
    """Run every command that has --json; `serve` and `review` return as soon as they would listen."""
    write_site(folder)
    model, scores, review = folder / "site.focus", folder / "today.scores", folder / "today.review"
    today, first = folder / "today.csv", folder / "first.focus"
    normal = folder / "normal"
    days = sorted(normal.iterdir())
    yield "undistract learn", calls.command_json("learn", normal, "--save", model)
    yield "undistract score", calls.command_json("score", today, "--with", model, "--save", scores)
    calls.record_answer(scores, review)
    yield "undistract relearn", calls.command_json("relearn", model, "--from", review, "--save", folder / "next.focus")
    yield "undistract transform", calls.command_json("transform", today, "--with", model, "--save", folder / "t.npy")
    yield "undistract denoise", calls.command_json("denoise", today, "--with", model, "--save", folder / "t.csv")
    yield "undistract explain", calls.command_json("explain", model)
    yield "undistract report", calls.command_json("report", scores, "--save", folder / "page.html")
    yield "undistract info MODEL", calls.command_json("info", model)
    yield "undistract info SCORES", calls.command_json("info", scores)
    yield "undistract convert MODEL", calls.command_json("convert", model, "--save", folder / "model.npz")
    yield "undistract convert SCORES", calls.command_json("convert", scores, "--save", folder / "scores.csv")
    second = folder / "second.focus"
    calls.command_json("learn", *days[:4], "--without-rows", "--save", first)
    calls.command_json("learn", *days[4:], "--without-rows", "--save", second)
    yield "undistract merge", calls.command_json("merge", first, second, "--save", folder / "merged.focus")
    with calls.servers_that_stop_at_once():
        yield "undistract serve", calls.command_json("serve", model)
        yield "undistract review", calls.command_json("review", scores, "--no-browser")
    yield "undistract demo", calls.command_json("demo", "--folder", folder)


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """Yield one line per key with the type of its value; all entries of a list are described together."""
    if isinstance(value, Mapping):
        yield f"{path or '.'}: object"
        for key, entry in value.items():
            yield from _keys(entry, f"{path}.{key}")
    elif isinstance(value, list):
        yield f"{path}: list"
        lines = {line for entry in value for line in _keys(entry, f"{path}[]")}
        yield from sorted(lines)
    else:
        yield f"{path}: {_type(value)}"


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "text"


def write_commands() -> None:
    COMMANDS.write_text(commands(), encoding="utf-8")


# Web


def openapi() -> str:
    """Return the schemas of the scoring service and of the review application."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_site(folder)
        model, scores = folder / "site.focus", folder / "today.scores"
        calls.command_json("learn", folder / "normal", "--save", model)
        calls.command_json("score", folder / "today.csv", "--with", model, "--save", scores)
        schemas = {"scoring": calls.scoring_app(calls.load_model(model)).openapi()}
        with calls.review_app(scores, folder / "today.review") as app:
            schemas["review"] = app.openapi()
    return json.dumps(schemas, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write_openapi() -> None:
    OPENAPI.write_text(openapi(), encoding="utf-8")
