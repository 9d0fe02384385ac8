"""What tests of files need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FRAME = """
import time

def peak():
    # Of this program alone: ru_maxrss would also count what the one that started it had in use.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

{setup}
before, start = peak(), time.process_time()
{work}
print(peak() - before, time.process_time() - start)
"""


@pytest.fixture
def cost():
    """Run some lines in a process of their own; return what they print, and the kilobytes and seconds they took."""
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is measured on Linux only")

    def run(setup, work):
        code = FRAME.format(setup=setup, work=work)
        # Numba takes 80 MB by itself, whatever is read.
        env = os.environ | {"UNDISTRACT_NUMBA": "0"}
        lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
        *words, last = lines.splitlines()
        kilobytes, seconds = last.split()
        return "\n".join(words), int(kilobytes), float(seconds)

    return run
