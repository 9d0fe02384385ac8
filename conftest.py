"""Examples in the code of an extra run where the extra is installed."""

from importlib.util import find_spec

EXTRAS = {
    "distributed": ["src/undistract/parallel/*", "tests/campaigns/workers.py"],
    "torch": ["src/undistract/neural/*"],
}
collect_ignore_glob = [room for library, rooms in EXTRAS.items() if not find_spec(library) for room in rooms]
