"""Run work in a forked child, where functions can be replaced without side effects."""

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
    """Run the function in a child process and return its result (as JSON); None if the child died."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        try:
            text = json.dumps(work())
        except BaseException:
            text = json.dumps({"trouble": traceback.format_exc()})
        with open(writing, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # processes that its tests may have started
    result = json.loads(text) if text else None
    if isinstance(result, dict) and "trouble" in result:
        raise RuntimeError(result["trouble"])
    return result


def replace_code(code: CodeType, functions: Sequence[FunctionType]) -> None:
    """Replace the code of live functions by that of another version of their module."""
    codes = {}
    waiting = [code]
    while waiting:
        item = waiting.pop()
        codes[item.co_qualname, item.co_firstlineno] = item
        waiting += [part for part in item.co_consts if isinstance(part, CodeType)]
    for function in functions:
        replacement = codes.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if replacement is not None and function.__code__.co_filename == code.co_filename:
            function.__code__ = replacement


def functions_of(paths: Sequence[Path]) -> list[FunctionType]:
    """Return all live functions of the modules."""
    for path in paths:
        if path.is_relative_to(SOURCE):
            importlib.import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"))
    names = {str(path) for path in paths}
    return [item for item in gc.get_objects() if isinstance(item, FunctionType) and item.__code__.co_filename in names]
