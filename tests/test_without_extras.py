"""Without the large optional dependencies, tests are collected and skipped with a reason."""

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


def test_collection_works_without_heavy_extras():
    """Regression: a campaign script imported a missing library during doctest collection, and no test ran."""
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]
    assert "needs Dask" in result.stdout
