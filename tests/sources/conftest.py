"""Fixtures for tests of files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FRAME = """
import time

def peak():
    # Of this process only: ru_maxrss would include the memory of its parent.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

{setup}
before, start = peak(), time.process_time()
{work}
print(peak() - before, time.process_time() - start)
"""


@pytest.fixture
def cost():
    """Run code in a new process; return its output, and its memory in kilobytes and time in seconds."""
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is measured on Linux only")

    def run(setup, work):
        code = FRAME.format(setup=setup, work=work)
        # Numba alone takes 80 MB.
        env = os.environ | {"UNDISTRACT_NUMBA": "0"}
        lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
        *output, last = lines.splitlines()
        kilobytes, seconds = last.split()
        return "\n".join(output), int(kilobytes), float(seconds)

    return run
