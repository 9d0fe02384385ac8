"""What is installed is whole: the page's files travel with the package."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="needs hatchling: pip install hatchling")
ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(line, cwd=ROOT, check=True, capture_output=True, timeout=60)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        shipped = set(wheel.namelist())
    files = [
        path for path in (ROOT / "src" / "undistract").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert len(files) > 100
    assert {str(path.relative_to(ROOT / "src")) for path in files} <= shipped
