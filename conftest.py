"""Run the examples in the code of an extra only if the extra is installed."""

from importlib.util import find_spec

EXTRAS = {
    "distributed": ["src/undistract/parallel/*", "tests/campaigns/workers.py"],
    "torch": ["src/undistract/neural/*"],
}
collect_ignore_glob = [path for library, paths in EXTRAS.items() if not find_spec(library) for path in paths]
