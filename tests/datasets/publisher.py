"""Files as publishers provide them, made of a few images, and a local server that sends them."""

import gzip
import io
import struct
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from scipy.io import savemat

from undistract.datasets.silhouettes import LabelledImages


def some_outlines(n=40, side=28, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 2, (n, side, side), np.uint8)
    return LabelledImages(images, (np.arange(n) % 4 + 1).astype(np.uint8), ["Faces 2", "ant", "Faces 3", "sunflower"])


def as_mat(outlines):
    """Return the authors' file: images are transposed, the object is 0, names are a cell of strings."""
    rows = (1 - outlines.images).transpose(0, 2, 1).reshape(len(outlines.images), -1)
    names = np.array([outlines.class_names], dtype=object)
    content = io.BytesIO()
    savemat(content, {"X": rows, "Y": outlines.labels[None].astype(float), "classnames": names}, do_compression=True)
    return content.getvalue()


def as_zip(images, labels):
    """Return NIST's archive: gzipped IDX files with transposed images, together with other splits."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for split, last in (("byclass-train", 1), ("byclass-test", len(images))):
            sideways = np.ascontiguousarray(images[:last].transpose(0, 2, 1))
            for part, array in (("images-idx3", sideways), ("labels-idx1", labels[:last])):
                header = struct.pack(f">BBBB{array.ndim}i", 0, 0, 8, array.ndim, *array.shape)
                archive.writestr(f"gzip/emnist-{split}-{part}-ubyte.gz", gzip.compress(header + array.tobytes(), 1))
    return content.getvalue()


@contextmanager
def serving(content, *, status=200, announced=None):
    """Serve `content`; yield the address and the list of requested paths."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content) if announced is None else announced))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/outlines.mat", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
