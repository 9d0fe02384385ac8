"""Examples in the code of an extra run where the extra is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("distributed") else ["src/undistract/parallel/*"]
