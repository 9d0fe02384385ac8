"""A fit and a scored file pass through few modules: a reader who follows the code should not get lost."""

import sys

import numpy as np
import pytest

from tests.contract import calls

FOLDER = calls.public_package().__file__.removesuffix("__init__.py")
# How many modules and functions run, how often a call crosses from one module to another, and how deep calls nest.
CEILINGS = {
    # target: 10, 45, 25, 7
    "Focus.fit": {"modules": 10, "functions": 68, "crossings": 27, "depth": 7},
    # target: 32 modules, depth 14
    "undistract score": {"modules": 32, "functions": 190, "crossings": 315, "depth": 14},
}


class Trace:
    """Counts calls of functions of the package."""

    def __init__(self):
        self.modules = set()
        self.functions = set()
        self.crossings = 0
        self.depth = 0
        self._stack = []

    def __call__(self, frame, event, argument):
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        # Comprehensions, generators and lambdas belong to the function around them.
        if not path.startswith(FOLDER) or name.startswith("<"):
            return
        module = path.removeprefix(FOLDER)
        if event == "call":
            self.modules.add(module)
            self.functions.add((module, name))
            self.crossings += bool(self._stack) and self._stack[-1] != module
            self._stack.append(module)
            self.depth = max(self.depth, len(self._stack))
        elif event == "return" and self._stack:
            self._stack.pop()

    def figures(self):
        """Return the figures by the names of CEILINGS."""
        return {
            "modules": len(self.modules),
            "functions": len(self.functions),
            "crossings": self.crossings,
            "depth": self.depth,
        }


@pytest.fixture
def fit():
    """Return a function that fits ten groups; one fit before it loads and compiles what is needed."""
    rng = np.random.default_rng(0)
    days = np.repeat(np.arange(10), 100)
    rows = rng.normal(size=(1000, 4)) * [1, 12, 1, 1]
    rows[:, 0] += 3 * days
    calls.fit_focus(rows, days)
    focus = calls.unfitted_focus()
    return lambda: calls.fit(focus, rows, days)


@pytest.fixture
def score(tmp_path, monkeypatch):
    """Return a function that scores an array file with the command."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for number in range(8):
        np.save(f"g{number}.npy", rng.normal(size=(60, 5)) * [1, 9, 1, 1, 1] + rng.normal(size=5) * 3)
    names = [f"g{number}.npy" for number in range(7)]
    assert calls.run_command("learn", *names, "--save", "m.focus", "-q").exit_code == 0
    words = ("score", "g7.npy", "--with", "m.focus", "--save", "s.scores", "-q")
    return lambda: calls.run_command(*words)


@pytest.mark.parametrize(("path", "fixture"), [("Focus.fit", "fit"), ("undistract score", "score")])
def test_path_through_the_code_is_short(path, fixture, request):
    run = request.getfixturevalue(fixture)
    trace = Trace()
    sys.setprofile(trace)
    try:
        run()
    finally:
        sys.setprofile(None)
    figures = trace.figures()
    above = {name: count for name, count in figures.items() if count > CEILINGS[path][name]}
    assert not above, f"{path}: {figures}, allowed {CEILINGS[path]}. Modules: {sorted(trace.modules)}"
