"""How much the web app adds to what is installed: the core, and the core with the extra `web`, in fresh environments.

python -m benchmarks.web_size
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]


def installed(extra: str) -> int:
    """Install the project with an extra, and count the bytes of all files; compiled copies, which come later, aside."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*pip, "--constraint", f"{ROOT}/constraints.txt", f"{ROOT}{extra}"], check=True)
        files = Path(folder, "lib").rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file() and "__pycache__" not in file.parts)


def main() -> None:
    core, web = installed(""), installed("[web]")
    print(f"core {core / 1e6:.0f} MB, with web {web / 1e6:.0f} MB: {(web - core) / 1e6:.1f} MB more")


if __name__ == "__main__":
    main()
