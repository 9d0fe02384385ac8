"""Work in a forked child, where functions may run another version of their code and nothing else is touched."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

SOURCE = Path(__file__).parents[2] / "src"


def in_a_child(work: Callable[[], Any]) -> Any:
    """Do the work in a child process and return what it returns, by JSON; None where it did not come to its end."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            found = json.dumps(work())
        except BaseException:
            found = json.dumps({"trouble": traceback.format_exc()})
        with open(writing, "w") as pipe:
            pipe.write(found)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests may have left behind
    told = json.loads(found) if found else None
    if isinstance(told, dict) and "trouble" in told:
        raise RuntimeError(told["trouble"])
    return told


def replace_code(code: CodeType, functions: Sequence[FunctionType]) -> None:
    """Let living functions run what is written in another version of their module."""
    known = {}
    waiting = [code]
    while waiting:
        one = waiting.pop()
        known[one.co_qualname, one.co_firstlineno] = one
        waiting += [part for part in one.co_consts if isinstance(part, CodeType)]
    for function in functions:
        found = known.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if found is not None and function.__code__.co_filename == code.co_filename:
            function.__code__ = found


def functions_of(paths: Sequence[Path]) -> list[FunctionType]:
    """Find all living functions of some modules."""
    for path in paths:
        if path.is_relative_to(SOURCE):
            importlib.import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"))
    names = {str(path) for path in paths}
    return [one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__.co_filename in names]
