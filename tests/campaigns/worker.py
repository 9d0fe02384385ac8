"""A process that reads files it is told of, with a gigabyte of address space and ten seconds for each."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SECONDS, MEMORY = 10, 2**30


def answer_each(read: Callable[[str], str]) -> None:
    """Inside the process: read each file that stdin names, and say how it went; capitals are findings."""
    import resource

    from undistract.errors import InputError

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            print(read(line.rstrip("\n")), flush=True)
        except InputError:
            print("refused", flush=True)
        except Exception as error:
            words = " ".join(str(error).split())[:80]
            print(f"ERROR {type(error).__name__}: {words}", flush=True)


class Worker:
    """Such a process, seen from outside: `python -m MODULE --work`. Make a new one when it has died."""

    def __init__(self, module: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert self.process.stdout.readline() == "ready\n"

    def read(self, path: Path) -> str:
        """Let it read a file, and return what it says, or how it ended."""
        print(path, file=self.process.stdin, flush=True)
        answered, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        if not answered:
            self.end()
            return f"HANG over {SECONDS} s"
        return self.process.stdout.readline().rstrip("\n") or f"CRASH {self.process.wait()}"

    def end(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()
