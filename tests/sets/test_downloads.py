"""Published images arrive whole or not at all; the publisher here is a server on loopback."""

import errno
import hashlib
import shutil
import socket
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from undistract.errors import DownloadError, EvidenceWarning, InputError
from undistract.sets.downloads import fetch, pictures
from undistract.sets.pictures import Pictures
from undistract.sets.publishers import SILHOUETTES

from .publisher import as_mat, serving, some_outlines

pytest.importorskip("pooch", reason='needs pooch: pip install "undistract[paper]"')

OUTLINES = some_outlines()
CONTENT = as_mat(OUTLINES)


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    """No folder of the machine, no proxy, and a cache of its own."""
    for name in ("UNDISTRACT_DATA", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "undistract"


def source(url, **changes):
    settings = {"fingerprint": OUTLINES.fingerprint(), "url": url} | changes
    return replace(SILHOUETTES, **settings)


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_download_gives_the_images_and_records_their_sum(cache, capsys):
    with serving(CONTENT) as (url, asked):
        found = pictures(source(url))
    assert found.fingerprint() == OUTLINES.fingerprint()
    assert asked == ["/outlines.mat"]
    assert files(cache) == ["caltech101_silhouettes_28.npz", "caltech101_silhouettes_28.npz.sha256"]
    packed = cache / SILHOUETTES.file
    total, name = packed.with_name(packed.name + ".sha256").read_text().split()
    assert (total, name) == (hashlib.sha256(packed.read_bytes()).hexdigest(), packed.name)
    assert "Downloading Caltech-101 silhouettes, about 4 MB, from http://127.0.0.1" in capsys.readouterr().err


def test_the_second_time_nobody_is_asked():
    with serving(CONTENT) as (url, asked):
        first, second = pictures(source(url)), pictures(source(url))
    assert len(asked) == 1
    assert np.array_equal(first.images, second.images)
    assert pictures(source(url)).fingerprint() == OUTLINES.fingerprint()  # and the server is gone by now


def test_a_known_sum_lets_the_right_file_pass(cache):
    with serving(CONTENT) as (url, _):
        fetch(source(url, known_sum=f"md5:{hashlib.md5(CONTENT).hexdigest()}"), cache)
    assert len(files(cache)) == 2


def test_a_file_with_another_sum_is_refused_and_removed(cache):
    with serving(CONTENT) as (url, _), pytest.raises(DownloadError) as refused:
        fetch(source(url, known_sum=f"sha256:{'0' * 64}"), cache)
    assert f"has the sha256 {hashlib.sha256(CONTENT).hexdigest()}, expected {'0' * 64}" in str(refused.value)
    assert files(cache) == []


def test_a_file_that_changed_on_the_disk_is_refused(cache):
    with serving(CONTENT) as (url, _):
        path = fetch(source(url), cache)
    recorded = hashlib.sha256(path.read_bytes()).hexdigest()
    some_outlines(seed=1).save(path)
    with pytest.raises(
        InputError, match=rf"sha256 (?!{recorded}).*says {recorded}.*Delete the first to fetch it again"
    ):
        pictures(source(url))


def test_a_second_download_must_give_what_the_first_gave(cache):
    with serving(CONTENT) as (url, _):
        fetch(source(url), cache).unlink()
        fetch(source(url), cache).unlink()
    other = some_outlines(seed=1)
    with serving(as_mat(other)) as (url, _), pytest.raises(DownloadError, match="or the second to trust what is there"):
        fetch(source(url, fingerprint=other.fingerprint()), cache)
    assert files(cache) == ["caltech101_silhouettes_28.npz.sha256"]


def test_other_images_than_ours_are_taken_with_a_warning(cache):
    with serving(CONTENT) as (url, _), pytest.warns(EvidenceWarning, match="not the very ones that the figures"):
        fetch(source(url, fingerprint="another"), cache)
    assert len(files(cache)) == 2


@pytest.mark.parametrize(
    ("content", "manner", "words"),
    [
        (b"gone", {"status": 404}, r"answered 404 Not Found.*put the files into a folder DIR as DIR/caltech101"),
        (b"busy", {"status": 503}, "answered 503 Service Unavailable"),
        (CONTENT[:500], {"announced": len(CONTENT)}, r"The transfer from http.* broke off.*Try again"),
        (CONTENT[:500], {}, "sent was not used.*is not a MATLAB file"),
        (b"<html>This page has moved</html>" * 9, {}, "sent was not used.*is not a MATLAB file"),
    ],
)
def test_what_goes_wrong_on_the_way_is_said_and_leaves_nothing_behind(content, manner, words, cache):
    with serving(content, **manner) as (url, _), pytest.raises(DownloadError, match=words):
        fetch(source(url), cache)
    assert files(cache) == []


def test_without_a_connection_the_host_and_the_way_around_it_are_named(cache):
    with socket.socket() as nobody:  # a port where nobody listens: bound, and never opened
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/outlines.mat"
        with pytest.raises(
            DownloadError, match=r"no connection to 127\.0\.0\.1.*--data DIR, data=DIR or UNDISTRACT_DATA"
        ):
            pictures(source(url))
    assert files(cache) == []


def test_too_little_room_is_said_before_anything_is_asked_for(cache, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=3_000_000))
    with serving(CONTENT) as (url, asked), pytest.raises(DownloadError, match=r"3 MB are free.*takes 4 MB\. Make room"):
        fetch(source(url), cache)
    assert asked == []


def test_a_disk_that_fills_up_on_the_way_leaves_nothing_behind(cache):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    with serving(CONTENT) as (url, _), pytest.raises(DownloadError, match=r"No space left on device\. Make room"):
        fetch(source(url, read=full), cache)
    assert files(cache) == []


def test_a_cache_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match=r"Cannot write into .*file: Not a directory"):
        fetch(source("http://127.0.0.1/outlines.mat"), tmp_path / "file")


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_a_folder_with_the_images_needs_no_connection(by, tmp_path, monkeypatch):
    packed = tmp_path / SILHOUETTES.file
    packed.parent.mkdir()
    OUTLINES.save(packed)
    if by == "variable":
        monkeypatch.setenv("UNDISTRACT_DATA", str(tmp_path))
    found = pictures(SILHOUETTES, tmp_path if by == "argument" else None)
    assert found.fingerprint() == OUTLINES.fingerprint()


def test_a_folder_with_the_publisher_s_own_file_needs_no_connection_and_stays_as_it_is(tmp_path):
    original = tmp_path / SILHOUETTES.original
    original.parent.mkdir()
    original.write_bytes(CONTENT)
    assert pictures(SILHOUETTES, tmp_path).fingerprint() == OUTLINES.fingerprint()
    assert files(tmp_path) == ["caltech101_silhouettes_28.mat"]
    with pytest.raises(DownloadError, match="expected 00"):
        pictures(replace(SILHOUETTES, known_sum="md5:00"), tmp_path)


def test_a_file_can_be_pinned_by_hand(tmp_path):
    packed = tmp_path / SILHOUETTES.file
    packed.parent.mkdir()
    OUTLINES.save(packed)
    pin = packed.with_name(packed.name + ".sha256")
    pin.write_text(hashlib.sha256(packed.read_bytes()).hexdigest() + "\n")
    assert isinstance(pictures(SILHOUETTES, tmp_path), Pictures)
    pin.write_text("0" * 64)
    with pytest.raises(InputError, match="one of them was changed"):
        pictures(SILHOUETTES, tmp_path)


def test_a_folder_without_the_images_is_told_the_layout(tmp_path):
    with pytest.raises(InputError) as refused:
        pictures(SILHOUETTES, tmp_path)
    message = str(refused.value)
    assert f"There is no caltech101_silhouettes/caltech101_silhouettes_28.npz in {tmp_path}" in message
    assert "DIR/emnist/emnist_byclass_test_cap500.npz" in message
    assert "emnist/gzip.zip" in message
