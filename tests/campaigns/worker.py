"""A process that reads files with a limit of one gigabyte of address space and ten seconds per file."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SECONDS, MEMORY = 10, 2**30


def answer_each(read: Callable[[str], str]) -> None:
    """Inside the process: read each file named on stdin and print the outcome; capitals are findings."""
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
            message = " ".join(str(error).split())[:80]
            print(f"ERROR {type(error).__name__}: {message}", flush=True)


class Worker:
    """The process seen from outside: `python -m MODULE --work`. Create a new one after it has died."""

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
        """Let the process read a file; return the printed outcome, or how the process ended."""
        print(path, file=self.process.stdin, flush=True)
        answered, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        if not answered:
            self.end()
            return f"HANG over {SECONDS} s"
        return self.process.stdout.readline().rstrip("\n") or f"CRASH {self.process.wait()}"

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.communicate()
