"""Where the heavy extras are missing, as on most machines, the tests of the others are found and skip with a reason."""

import subprocess
import sys
from pathlib import Path

HEAVY = ["atheris", "av", "coverage", "cv2", "dask", "distributed", "metric_learn", "numba", "onnx", "onnxruntime"]
HEAVY += ["playwright", "psycopg", "pyod", "schemathesis", "sphinx", "torch"]
WITHOUT = f"""
import importlib.util, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

def find_spec(name, package=None, find=importlib.util.find_spec):
    return None if name.partition(".")[0] in {HEAVY} else find(name, package)

sys.meta_path.insert(0, Missing())
importlib.util.find_spec = find_spec
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider"]))
"""


def test_every_test_is_found_without_the_heavy_extras():
    """A script of a campaign was read for its examples, and its library was not there: no test ran at all."""
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout[-3000:] + told.stderr[-1000:]
    assert "needs Dask" in told.stdout
