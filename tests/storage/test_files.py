"""Atomic writes: a file is complete or absent, even after a crash."""

import os
import resource
import signal
import stat
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

from undistract import FileError, Moments, Scores, load, save
from undistract._io import atomic_write

LARGE = 1_000_000  # bytes, so that writing takes a while


def test_killed_writer_leaves_complete_file(tmp_path):
    path = atomic_write(tmp_path / "x", b"0" * LARGE)
    code = (
        "import sys; from undistract._io import atomic_write\nprint(flush=True)\n"
        f"while True:\n    for letter in b'ab': atomic_write(sys.argv[1], bytes([letter]) * {LARGE})"
    )
    rng = np.random.default_rng(0)
    contents = set()
    for _ in range(12):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as writer:
            writer.stdout.readline()
            for _ in range(3):  # read while it is written
                time.sleep(rng.uniform(0, 0.02))
                contents.add(_letters(path))
            writer.kill()
        contents.add(_letters(path))
    assert contents <= {(b"0", LARGE), (b"a", LARGE), (b"b", LARGE)}  # one complete version
    assert len(contents) > 1


def _letters(path):
    data = path.read_bytes()
    return (data[:1] if data == data[:1] * len(data) else "a mixture"), len(data)


def test_old_file_survives_full_disk(tmp_path):
    path = save(Scores("old", [1.0]), tmp_path / "x.scores")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGE // 2, limits[1]))
        with pytest.raises(FileError, match=r"x\.scores cannot be written: File too large\. The old file is unchanged"):
            save(Scores("new", np.ones(LARGE // 8)), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert load(path).name == "old"
    assert os.listdir(tmp_path) == ["x.scores"]  # no temporary file is left


def test_disk_error_becomes_file_error(tmp_path, monkeypatch):
    path = atomic_write(tmp_path / "note", b"old")

    def failing(*_):
        raise OSError(5, "Input/output error")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, step, failing)
            with pytest.raises(FileError, match="note cannot be written: Input/output error"):
                atomic_write(path, b"new")
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["note"]


def test_permissions_and_links_are_kept(tmp_path):
    path = atomic_write(tmp_path / "real", b"old")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask  # default permissions of a new file
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("real")
    assert atomic_write(str(link), b"new") == link
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_saved_model_has_default_or_existing_permissions(tmp_path):
    """safetensors creates a new file that only its owner may read."""
    (tmp_path / "plain").touch()
    path = save(Scores("old", [1.0]), tmp_path / "x.scores")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    save(Scores("new", [1.0]), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["plain", "x.scores"]


def test_save_does_not_copy_the_arrays(tmp_path):
    moments = Moments.of({name: np.ones((50, 20_000)) for name in "ab"})
    tracemalloc.start()
    save(moments, tmp_path / "wide")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * (tmp_path / "wide").stat().st_size


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(FileError, match=r"there is no folder .*nowhere\. Make it first"):
        save(Scores("a", [1.0]), tmp_path / "nowhere" / "x.scores")
    with pytest.raises(FileError, match="is not a file"):
        save(Scores("a", [1.0]), tmp_path)
    with pytest.raises(FileError, match="File name too long"):
        save(Scores("a", [1.0]), tmp_path / ("x" * 300))
