"""Run commands in this process or in a separate one."""

import csv
import json
import subprocess
import sys

import numpy as np
from click.testing import CliRunner

from undistract.cli import main

NAMES = ("cpu", "memory", "disk", "net", "heat", "fan")
LOAD = np.array([5.0, 3.0, 0.0, 4.0, 6.0, 2.0])  # nuisance variation of all readings on all days
EVENT = np.array([0.0, 0.0, 9.0, 0.0, -6.0, 6.0])


def run(*arguments):
    """Run a command in this process, which is fast."""
    return CliRunner().invoke(main, [str(word) for word in arguments])


def answer(*arguments):
    """Run a command that must succeed, and return its JSON."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def shell(*arguments, folder=None):
    """Run a command in a new process in which warnings are errors."""
    line = [sys.executable, "-W", "error", "-m", "undistract", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=180, cwd=folder)


def write_day(path, seed, *, n_rows=120, event=None):
    """Write one day of a machine: readings that differ between days, and a load that varies within each day."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=6) + rng.normal(size=(n_rows, 6)) + rng.normal(size=(n_rows, 1)) * LOAD
    if event is not None:
        rows[event] += EVENT
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["when", *NAMES])
        start = np.datetime64("2026-03-01T00:00")
        writer.writerows([start + 5 * number, *row.round(4)] for number, row in enumerate(rows))
    return path


def write_days(folder, seeds):
    for seed in seeds:
        write_day(folder / f"day{seed}.csv", seed)
    return folder
