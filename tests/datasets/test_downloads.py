"""A download is complete or leaves no files; the publisher is a local server."""

import errno
import hashlib
import shutil
import socket
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from undistract.datasets.silhouettes import SILHOUETTES, LabelledImages, download_images, load_images
from undistract.errors import DownloadError, EvidenceWarning, InputError

from .publisher import as_mat, serving, some_outlines

pytest.importorskip("pooch", reason='needs pooch: pip install "undistract[paper]"')

OUTLINES = some_outlines()
CONTENT = as_mat(OUTLINES)


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    """Without a data folder or a proxy, and with a separate cache."""
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


def test_download_returns_images_and_records_checksum(cache, capsys):
    with serving(CONTENT) as (url, requests):
        images = load_images(source(url))
    assert images.fingerprint() == OUTLINES.fingerprint()
    assert requests == ["/outlines.mat"]
    assert files(cache) == ["caltech101_silhouettes_28.npz", "caltech101_silhouettes_28.npz.sha256"]
    packed = cache / SILHOUETTES.file
    total, name = packed.with_name(packed.name + ".sha256").read_text().split()
    assert (total, name) == (hashlib.sha256(packed.read_bytes()).hexdigest(), packed.name)
    assert "Downloading Caltech-101 silhouettes, about 4 MB, from http://127.0.0.1" in capsys.readouterr().err


def test_second_use_sends_no_request():
    with serving(CONTENT) as (url, requests):
        first, second = load_images(source(url)), load_images(source(url))
    assert len(requests) == 1
    assert np.array_equal(first.images, second.images)
    assert load_images(source(url)).fingerprint() == OUTLINES.fingerprint()  # the server is closed now


def test_matching_checksum_is_accepted(cache):
    with serving(CONTENT) as (url, _):
        download_images(source(url, known_sum=f"md5:{hashlib.md5(CONTENT).hexdigest()}"), cache)
    assert len(files(cache)) == 2


def test_wrong_checksum_is_rejected_and_file_removed(cache):
    with serving(CONTENT) as (url, _), pytest.raises(DownloadError) as caught:
        download_images(source(url, known_sum=f"sha256:{'0' * 64}"), cache)
    assert f"has the sha256 {hashlib.sha256(CONTENT).hexdigest()}, expected {'0' * 64}" in str(caught.value)
    assert files(cache) == []


def test_changed_file_is_rejected(cache):
    with serving(CONTENT) as (url, _):
        path = download_images(source(url), cache)
    recorded = hashlib.sha256(path.read_bytes()).hexdigest()
    some_outlines(seed=1).save(path)
    with pytest.raises(
        InputError, match=rf"sha256 (?!{recorded}).*has {recorded}.*Delete the first to download it again"
    ):
        load_images(source(url))


def test_second_download_must_match_the_first(cache):
    with serving(CONTENT) as (url, _):
        download_images(source(url), cache).unlink()
        download_images(source(url), cache).unlink()
    other = some_outlines(seed=1)
    with serving(as_mat(other)) as (url, _), pytest.raises(DownloadError, match="or the second to trust the file"):
        download_images(source(url, fingerprint=other.fingerprint()), cache)
    assert files(cache) == ["caltech101_silhouettes_28.npz.sha256"]


def test_different_images_issue_a_warning(cache):
    with serving(CONTENT) as (url, _), pytest.warns(EvidenceWarning, match="not those behind the figures"):
        download_images(source(url, fingerprint="another"), cache)
    assert len(files(cache)) == 2


@pytest.mark.parametrize(
    ("content", "response", "message"),
    [
        (b"gone", {"status": 404}, r"returned 404 Not Found.*put the files into a folder DIR as DIR/caltech101"),
        (b"busy", {"status": 503}, "returned 503 Service Unavailable"),
        (CONTENT[:500], {"announced": len(CONTENT)}, r"The transfer from http.* failed.*Try again"),
        (CONTENT[:500], {}, "was not used.*is not a MATLAB file"),
        (b"<html>This page has moved</html>" * 9, {}, "was not used.*is not a MATLAB file"),
    ],
)
def test_failed_download_explains_itself_and_leaves_no_files(content, response, message, cache):
    with serving(content, **response) as (url, _), pytest.raises(DownloadError, match=message):
        download_images(source(url), cache)
    assert files(cache) == []


def test_connection_error_names_host_and_alternative(cache):
    with socket.socket() as closed:  # a port that is bound, but does not listen
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/outlines.mat"
        with pytest.raises(
            DownloadError, match=r"Cannot connect to 127\.0\.0\.1.*--data DIR, data=DIR or UNDISTRACT_DATA"
        ):
            load_images(source(url))
    assert files(cache) == []


def test_free_space_is_checked_before_the_request(cache, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=3_000_000))
    with (
        serving(CONTENT) as (url, requests),
        pytest.raises(DownloadError, match=r"3 MB are free.*needs 4 MB\. Free some disk space"),
    ):
        download_images(source(url), cache)
    assert requests == []


def test_full_disk_leaves_no_files(cache):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        serving(CONTENT) as (url, _),
        pytest.raises(DownloadError, match=r"No space left on device\. Free some disk space"),
    ):
        download_images(source(url, read=full), cache)
    assert files(cache) == []


def test_unusable_cache_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match=r"Cannot write into .*file: Not a directory"):
        download_images(source("http://127.0.0.1/outlines.mat"), tmp_path / "file")


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_folder_with_images_needs_no_connection(by, tmp_path, monkeypatch):
    packed = tmp_path / SILHOUETTES.file
    packed.parent.mkdir()
    OUTLINES.save(packed)
    if by == "variable":
        monkeypatch.setenv("UNDISTRACT_DATA", str(tmp_path))
    images = load_images(SILHOUETTES, tmp_path if by == "argument" else None)
    assert images.fingerprint() == OUTLINES.fingerprint()


def test_folder_with_original_file_is_read_and_not_changed(tmp_path):
    original = tmp_path / SILHOUETTES.original
    original.parent.mkdir()
    original.write_bytes(CONTENT)
    assert load_images(SILHOUETTES, tmp_path).fingerprint() == OUTLINES.fingerprint()
    assert files(tmp_path) == ["caltech101_silhouettes_28.mat"]
    with pytest.raises(DownloadError, match="expected 00"):
        load_images(replace(SILHOUETTES, known_sum="md5:00"), tmp_path)


def test_user_can_pin_a_file(tmp_path):
    packed = tmp_path / SILHOUETTES.file
    packed.parent.mkdir()
    OUTLINES.save(packed)
    pin = packed.with_name(packed.name + ".sha256")
    pin.write_text(hashlib.sha256(packed.read_bytes()).hexdigest() + "\n")
    assert isinstance(load_images(SILHOUETTES, tmp_path), LabelledImages)
    pin.write_text("0" * 64)
    with pytest.raises(InputError, match="one of them was changed"):
        load_images(SILHOUETTES, tmp_path)


def test_folder_without_images_explains_the_layout(tmp_path):
    with pytest.raises(InputError) as caught:
        load_images(SILHOUETTES, tmp_path)
    message = str(caught.value)
    assert f"There is no caltech101_silhouettes/caltech101_silhouettes_28.npz in {tmp_path}" in message
    assert "DIR/emnist/emnist_byclass_test_cap500.npz" in message
    assert "emnist/gzip.zip" in message
