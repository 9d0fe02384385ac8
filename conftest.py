"""Examples in the code of an extra run where the extra is installed."""

from importlib.util import find_spec

EXTRAS = {"distributed": "src/undistract/parallel/*", "torch": "src/undistract/neural/*"}
collect_ignore_glob = [room for library, room in EXTRAS.items() if not find_spec(library)]
