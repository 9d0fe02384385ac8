"""A temporary PostgreSQL server: Debian's programs, a temporary folder with a socket, no network."""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

INSTALL = "no PostgreSQL server here: apt-get install postgresql"


def programs():
    """Return the folder of initdb and postgres, the newest version, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@contextmanager
def server():
    """Run a server; yield a function that creates an empty database and returns its URL."""
    # The server does not run as root, so root gives the folder to the user of Debian's package.
    person = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    folder = Path(mkdtemp(prefix="pg"))  # a short path: sockets have at most 107 letters
    if person:
        shutil.chown(folder, "postgres", "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **person}
    bin_folder = programs()
    try:
        made = [bin_folder / "initdb", "-D", folder / "data", "-U", "tester", "-A", "trust", "-N", "-E", "UTF8"]
        subprocess.run([*made, "--locale=C.UTF-8"], check=True, **quiet)
        settings = [f"unix_socket_directories={folder}", "listen_addresses=", "fsync=off", "shared_buffers=16MB"]
        words = [word for setting in settings for word in ("-c", setting)]
        process = subprocess.Popen([bin_folder / "postgres", "-D", folder / "data", *words], **quiet)
        try:
            yield _maker(folder, process)
        finally:
            process.send_signal(2)  # SIGINT: end all sessions and stop
            process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _maker(folder, process):
    import psycopg

    def ask(words):
        with psycopg.connect(f"host={folder} user=tester dbname=postgres", autocommit=True) as connection:
            connection.execute(words)

    until = time.monotonic() + 30
    while True:
        try:
            ask("SELECT 1")
            break
        except psycopg.OperationalError:
            assert process.poll() is None, "the server stopped at once"
            assert time.monotonic() < until, "the server did not answer"
            time.sleep(0.05)
    count = 0

    def make():
        nonlocal count
        count += 1
        ask(f"CREATE DATABASE review{count}")
        return f"postgresql+psycopg://tester@/review{count}?host={folder}"

    return make
