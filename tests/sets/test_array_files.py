"""Arrays in files: read as they are, in flat memory; bombs and broken files are refused."""

import zipfile

import numpy as np
import pytest

from undistract import InputError
from undistract.sets.array_files import npy_sets, npz_sets

ROWS = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_gives_the_rows_that_went_in(tmp_path, save, order, monkeypatch):
    monkeypatch.setattr("undistract.sets.array_files.PIECE_BYTES", 7 * 16)  # seven rows at a time
    save(tmp_path / "days.npz", mon=np.asarray(ROWS, order=order), tue=2 * ROWS, label=np.arange(50), n=np.ones((0, 3)))
    mon, tue = npz_sets(tmp_path / "days.npz", "days")
    assert (mon.name, tue.name) == ("days:mon", "days:tue")
    assert (len(mon), mon.n_features) == (50, 4)
    for _ in range(2):
        assert np.array_equal(mon.rows, ROWS)
        assert np.array_equal(tue.rows, 2 * ROWS)


def test_arrays_of_an_archive_are_chosen_by_name_or_pattern(tmp_path):
    np.savez(tmp_path / "a.npz", m1_train=ROWS, m1_test=ROWS, m2_train=ROWS, flat=np.arange(3))
    assert [one.name for one in npz_sets(tmp_path / "a.npz", "a", key="*_train")] == ["a:m1_train", "a:m2_train"]
    (one,) = npz_sets(tmp_path / "a.npz", "a", key="m1_test")
    assert one.name == "a"
    with pytest.raises(InputError, match=r"has no array that is called 'm3'.*it holds 'm1_train: float32 of shape"):
        npz_sets(tmp_path / "a.npz", "a", key="m3")
    with pytest.raises(
        InputError, match=r"'flat' in a.npz holds int64 of shape \(3,\); expected real numbers of shape"
    ):
        npz_sets(tmp_path / "a.npz", "a", key="flat")


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_gives_its_rows_whole_or_cut(tmp_path, order):
    np.save(tmp_path / "a.npy", np.asarray(ROWS, order=order))
    (whole,) = npy_sets(tmp_path / "a.npy", "a")
    assert np.array_equal(whole.rows, ROWS)
    assert whole.rows.dtype == np.float32
    parts = npy_sets(tmp_path / "a.npy", "a", 20)
    assert [one.name for one in parts] == ["a[0:20]", "a[20:50]"]  # what is left over goes with the last
    assert np.array_equal(np.concatenate([one.rows for one in parts]), ROWS)
    assert npy_sets(tmp_path / "a.npy", "a", 80)[0].name == "a[0:50]"


def test_a_file_is_mapped_into_memory_and_not_copied(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    (one,) = npy_sets(tmp_path / "a.npy", "a")
    assert not next(one.chunks(size=10)).flags.owndata


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
    ("kind", "words"),
    [
        ("empty", "a.npy cannot be read as .npy"),
        ("cut", "a.npy should hold float32 of shape (50, 4), 800 bytes, but there are 799"),
        ("no array", "a.npy cannot be read as .npy"),
        ("objects", "a.npy holds object of shape (1, 1); expected real numbers"),
        ("flat", "a.npy holds int64 of shape (3,); expected real numbers of shape (rows, features)"),
        ("text", "a.npy holds <U1 of shape (1, 1)"),
        ("complex", "a.npy holds complex64 of shape (50, 4)"),
        ("huge", "a.npy"),
        ("records", "a.npy cannot be read as .npy (it is written in version (2, 0)"),
    ],
)
def test_a_file_that_is_no_rows_is_refused_with_words(tmp_path, kind, words):
    broken(kind, tmp_path / "a.npy")
    with pytest.raises(InputError) as caught:
        npy_sets(tmp_path / "a.npy", "a")
    assert words in str(caught.value)


def test_an_archive_that_is_none_or_was_cut_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"no zip at all")
    with pytest.raises(InputError, match=r"a\.npz cannot be read as \.npz"):
        npz_sets(path, "a")
    np.savez(path, x=ROWS)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(InputError, match=r"a\.npz cannot be read as \.npz"):
        npz_sets(path, "a")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(InputError, match=r"a\.npz cannot be read as \.npz"):
        npz_sets(path, "a")


def test_a_damaged_member_is_found_when_it_is_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=ROWS)
    whole = bytearray(path.read_bytes())
    whole[400] ^= 255
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"a.npz cannot be read as .npz .*CRC"):
        _ = npz_sets(path, "a")[0].rows


def write_bomb(path, n_bytes):
    """Two gigabytes of zeros in two megabytes, written without ever holding them."""
    header = np.lib.format.header_data_from_array_1_0(np.zeros((1, 1024)))
    header["shape"] = (n_bytes // 8192, 1024)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header)
        for _ in range(n_bytes // 2**20):
            member.write(bytes(2**20))


def test_an_archive_that_unpacks_to_far_more_than_it_is_is_refused_at_once(tmp_path, cost):
    write_bomb(tmp_path / "bomb.npz", 2**28)  # the check reads the directory alone, so its size does not matter
    message, kilobytes, seconds = cost(
        "from undistract.sets import find_sets; from undistract import InputError",
        f"""
try:
    find_sets({str(tmp_path / "bomb.npz")!r})
except InputError as error:
    print(error)
""",
    )
    assert "packs 268 MB of 'x' into 0.3 MB, more than 200 to one" in message
    assert kilobytes < 100_000
    assert seconds < 1


def test_memory_stays_flat_while_a_long_file_is_learned_from(tmp_path, cost):
    """Mapped pages count as memory, too: mapping the whole file once would show all of it."""
    path = tmp_path / "long.npy"
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(1_200_000, 64))  # 307 MB
    for start in range(0, len(rows), 100_000):
        rows[start : start + 100_000] = np.random.default_rng(start).random((100_000, 64), np.float32)
    del rows
    words, kilobytes, _ = cost(
        "from undistract import Moments; from undistract.sets import find_sets",
        f"moments = Moments.of(find_sets({str(path)!r}, split_every=100_000)); print(moments.n_sets, moments.n_rows)",
    )
    assert words == "12 1200000"
    assert kilobytes < 60_000
