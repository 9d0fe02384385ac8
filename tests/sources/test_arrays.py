"""Arrays in files are read unchanged and in flat memory; bombs and broken files raise errors."""

import zipfile

import numpy as np
import pytest

from undistract import InputError, ReadOptions
from undistract.sources.arrays import npy_sources, npz_sources

ROWS = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archive_returns_saved_rows(tmp_path, save, order, monkeypatch):
    monkeypatch.setattr("undistract.sources.arrays.BLOCK_BYTES", 7 * 16)  # seven rows at a time
    save(tmp_path / "days.npz", mon=np.asarray(ROWS, order=order), tue=2 * ROWS, label=np.arange(50), n=np.ones((0, 3)))
    mon, tue = npz_sources(tmp_path / "days.npz", "days")
    assert (mon.name, tue.name) == ("days:mon", "days:tue")
    assert (len(mon), mon.n_features) == (50, 4)
    for _ in range(2):
        assert np.array_equal(mon.rows, ROWS)
        assert np.array_equal(tue.rows, 2 * ROWS)


def test_arrays_of_archive_are_chosen_by_name_or_pattern(tmp_path):
    np.savez(tmp_path / "a.npz", m1_train=ROWS, m1_test=ROWS, m2_train=ROWS, flat=np.arange(3))
    assert [source.name for source in npz_sources(tmp_path / "a.npz", "a", ReadOptions(key="*_train"))] == [
        "a:m1_train",
        "a:m2_train",
    ]
    (source,) = npz_sources(tmp_path / "a.npz", "a", ReadOptions(key="m1_test"))
    assert source.name == "a"
    with pytest.raises(InputError, match=r"has no array that is called 'm3'.*it contains 'm1_train: float32 of shape"):
        npz_sources(tmp_path / "a.npz", "a", ReadOptions(key="m3"))
    with pytest.raises(
        InputError, match=r"'flat' in a.npz contains int64 of shape \(3,\); expected real numbers of shape"
    ):
        npz_sources(tmp_path / "a.npz", "a", ReadOptions(key="flat"))


@pytest.mark.parametrize("order", ["C", "F"])
def test_file_is_read_at_once_or_split(tmp_path, order):
    np.save(tmp_path / "a.npy", np.asarray(ROWS, order=order))
    (whole,) = npy_sources(tmp_path / "a.npy", "a")
    assert np.array_equal(whole.rows, ROWS)
    assert whole.rows.dtype == np.float32
    parts = npy_sources(tmp_path / "a.npy", "a", ReadOptions(split_every=20))
    assert [source.name for source in parts] == ["a[0:20]", "a[20:50]"]  # the remainder belongs to the last part
    assert np.array_equal(np.concatenate([source.rows for source in parts]), ROWS)
    assert npy_sources(tmp_path / "a.npy", "a", ReadOptions(split_every=80))[0].name == "a[0:50]"


def test_file_is_mapped_and_not_copied(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    (source,) = npy_sources(tmp_path / "a.npy", "a")
    assert not next(source.chunks(size=10)).flags.owndata


def broken(kind, path):
    np.save(path, ROWS)
    whole = path.read_bytes()
    contents = {
        "empty": b"",
        "cut": whole[:-1],
        "no array": b"hello world, this is text",
        "objects": None,
        "flat": None,
        "text": None,
        "complex": None,
        "records": whole.replace(b"NUMPY\x01", b"NUMPY\x02"),
        "huge": whole.replace(b"(50, 4)", b"(5000000000000000000000, 4)"),
    }[kind]
    if contents is None:
        value = {"objects": np.array([[{}]]), "flat": np.arange(3), "text": np.array([["a"]]), "complex": ROWS * 1j}
        np.save(path, value[kind])
    else:
        path.write_bytes(contents)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("empty", "a.npy cannot be read as .npy"),
        ("cut", "a.npy should contain float32 of shape (50, 4), 800 bytes, but has 799"),
        ("no array", "a.npy cannot be read as .npy"),
        ("objects", "a.npy contains object of shape (1, 1); expected real numbers"),
        ("flat", "a.npy contains int64 of shape (3,); expected real numbers of shape (rows, features)"),
        ("text", "a.npy contains <U1 of shape (1, 1)"),
        ("complex", "a.npy contains complex64 of shape (50, 4)"),
        ("huge", "a.npy"),
        ("records", "a.npy cannot be read as .npy (it is written in version (2, 0)"),
    ],
)
def test_invalid_file_raises_helpful_error(tmp_path, kind, message):
    broken(kind, tmp_path / "a.npy")
    with pytest.raises(InputError) as caught:
        npy_sources(tmp_path / "a.npy", "a")
    assert message in str(caught.value)


def test_invalid_or_truncated_archive_raises_error(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"no zip at all")
    with pytest.raises(InputError, match=r"a\.npz cannot be read as \.npz"):
        npz_sources(path, "a")
    np.savez(path, x=ROWS)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(InputError, match=r"a\.npz cannot be read as \.npz"):
        npz_sources(path, "a")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(InputError, match=r"a\.npz cannot be read as \.npz"):
        npz_sources(path, "a")


def test_damaged_member_raises_error_on_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=ROWS)
    whole = bytearray(path.read_bytes())
    whole[400] ^= 255
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"a.npz cannot be read as .npz .*CRC"):
        _ = npz_sources(path, "a")[0].rows


def write_bomb(path, n_bytes):
    """Write zeros that compress a thousand times, block by block."""
    header = np.lib.format.header_data_from_array_1_0(np.zeros((1, 1024)))
    header["shape"] = (n_bytes // 8192, 1024)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header)
        for _ in range(n_bytes // 2**20):
            member.write(bytes(2**20))


def test_decompression_bomb_is_rejected_quickly(tmp_path, cost):
    write_bomb(tmp_path / "bomb.npz", 2**28)  # the check reads only the directory, so the size does not matter
    message, kilobytes, seconds = cost(
        "from undistract.sources import discover_sources; from undistract import InputError",
        f"""
try:
    discover_sources({str(tmp_path / "bomb.npz")!r})
except InputError as error:
    print(error)
""",
    )
    assert "compresses 268 MB of 'x' into 0.3 MB, more than 200 to 1" in message
    assert kilobytes < 100_000
    assert seconds < 1


def test_memory_is_flat_when_learning_from_long_file(tmp_path, cost):
    """Mapped pages count as memory too: a single mapping of the file would show its full size."""
    path = tmp_path / "long.npy"
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(1_200_000, 64))  # 307 MB
    for start in range(0, len(rows), 100_000):
        rows[start : start + 100_000] = np.random.default_rng(start).random((100_000, 64), np.float32)
    del rows
    output, kilobytes, _ = cost(
        "from undistract import Moments, ReadOptions; from undistract.sources import discover_sources",
        f"moments = Moments.of(discover_sources({str(path)!r}, ReadOptions(split_every=100_000)))\n"
        "print(moments.n_groups, moments.n_rows)",
    )
    assert output == "12 1200000"
    assert kilobytes < 60_000
