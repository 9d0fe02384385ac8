"""Run a real server in a separate process."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.web.asking import TOKEN

# The same server with a shorter time limit, so that tests do not have to wait.
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
    """The address of a running server."""

    url: str

    @property
    def place(self):
        return urlsplit(self.url).hostname, urlsplit(self.url).port


@contextmanager
def started(*arguments, **environment):
    """Start a process that prints one JSON object, yield both, and stop the process with SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    try:
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        yield process, json.loads(text)
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
    """Serve a model with `undistract serve`, or with a time limit of `seconds`."""
    line = ["-m", "undistract", "serve", model_file, "--port", "0", "--json"]
    if seconds is not None:
        line = ["-c", QUICK, model_file, seconds, TOKEN]
    with started(*line, UNDISTRACT_TOKEN=TOKEN) as (process, output):
        yield Running(output["url"])
    assert process.returncode == 0
