"""A real server in a process of its own, ended by its process id."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.web.asking import TOKEN

# The same server with less patience than ours, so that a test need not wait.
QUICK = """
import json, sys
from undistract import Model
from undistract.web.app import make_app
from undistract.web.limits import Limits
from undistract.web.server import serve

limits = Limits(seconds=float(sys.argv[2]))
app = make_app(token=sys.argv[3], model=Model.load(sys.argv[1]), limits=limits)
ready = lambda url: print(json.dumps({"url": url}), flush=True)
serve(app, host="127.0.0.1", port=0, ready=ready, limits=limits)
"""


@dataclass(frozen=True)
class Running:
    """A server that runs: where it is."""

    url: str

    @property
    def place(self):
        return urlsplit(self.url).hostname, urlsplit(self.url).port


@contextmanager
def started(*line, **environment):
    """Start a process that prints one JSON object, give both, and end it with SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", *map(str, line)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    try:
        told = ""
        while not told.endswith("}\n"):
            word = process.stdout.readline()
            assert word, process.stderr.read()
            told += word
        yield process, json.loads(told)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


@contextmanager
def serving(model_file, *, seconds=None):
    """Serve a model with `undistract serve`, or with other limits of `seconds`."""
    line = ["-m", "undistract", "serve", model_file, "--port", "0", "--json"]
    if seconds is not None:
        line = ["-c", QUICK, model_file, seconds, TOKEN]
    with started(*line, UNDISTRACT_TOKEN=TOKEN) as (process, told):
        yield Running(told["url"])
    assert process.returncode == 0
