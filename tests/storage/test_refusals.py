"""Invalid files raise errors that name the file, the problem and the remedy. No code is run."""

import json
import os
import struct
import threading
import time
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save as to_safetensors
from sklearn.base import BaseEstimator

from undistract import FileError, Focus, InputError, Scores, Tail, describe_file, load, save
from undistract.storage.container import FORMAT, LARGEST_HEADER, digest_of, read_container, write_container

from .things import few_shots, focus


@pytest.fixture
def model(tmp_path):
    """The header and arrays of a small model, and a function that writes them with a valid checksum."""
    header, arrays = read_container(save(focus(), tmp_path / "good.focus"))

    def written(header=header, arrays=arrays, **changes):
        header = {**header, **changes}
        text = json.dumps({**header, "sha256": digest_of(header, arrays)})
        path = tmp_path / "model.focus"
        path.write_bytes(to_safetensors(arrays, metadata={FORMAT: text}))
        return path

    return header, arrays, written


def check_rejected(path, match, **options):
    with pytest.raises(FileError, match=match) as caught:
        load(path, **options)
    assert os.path.basename(path) in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_missing_path_or_non_file_is_named(tmp_path):
    check_rejected(tmp_path / "x.focus", r"There is no file .*x\.focus")
    check_rejected(tmp_path, "is not a file")
    os.mkfifo(tmp_path / "pipe")
    check_rejected(tmp_path / "pipe", "is not a file")  # reading would block forever


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\x93NUMPY" + bytes(100), b"PK\x03\x04" + bytes(200), bytes(7), bytes(8)]
)
def test_other_file_type_is_rejected(data, tmp_path):
    path = tmp_path / "x.focus"
    path.write_bytes(data)
    check_rejected(path, "safetensors file")
    with pytest.raises(FileError):
        describe_file(path)


def test_foreign_safetensors_file_is_rejected(tmp_path):
    path = tmp_path / "other.safetensors"
    for metadata in (None, {"format": "pt"}):
        path.write_bytes(to_safetensors({"weight": np.ones(3)}, metadata=metadata))
        check_rejected(path, "of another program")


def test_truncated_file_is_rejected(tmp_path):
    path = save(focus(), tmp_path / "x.focus")
    data = path.read_bytes()
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        check_rejected(path, "safetensors file")


def test_single_changed_bit_is_detected(tmp_path):
    path = save(Scores("a", [1.0, 2.0]), tmp_path / "x.scores")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    check_rejected(path, "damaged: its sha256 is")


def test_giant_header_is_rejected_before_reading(tmp_path):
    path = tmp_path / "bomb"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 2**40))
        file.truncate(2**41)  # a sparse file uses no disk space
    start = time.perf_counter()
    check_rejected(path, f"header of {2**40} bytes, expected {LARGEST_HEADER} at most")
    assert time.perf_counter() - start < 1


def test_too_long_names_are_rejected_by_save(tmp_path):
    with pytest.raises(InputError, match=r"names and settings take \d+ bytes"):
        save({"notes": "x" * LARGEST_HEADER}, tmp_path / "x")


def test_newer_format_asks_for_upgrade(model):
    check_rejected(
        model[2](format_version=2), r"written in format 2 by undistract .*Upgrade: pip install --upgrade undistract"
    )


def test_kind_argument_is_enforced(tmp_path):
    path = save(Scores("a", [1.0]), tmp_path / "x.scores")
    assert load(path, kind="Scores").name == load(path, kind=Scores).name == "a"
    check_rejected(path, "holds a 'Scores', expected a 'Focus'", kind=Focus)
    check_rejected(path, "holds a 'Scores', expected a 'bundle'", kind=dict)


ORIGIN, COUNTS = "focus.moments.origin", "focus.moments.counts"
CHANGES = {
    "lost": (lambda a: a.pop(COUNTS), f"refers to the array '{COUNTS}', which is not in the file"),
    "one too many": (lambda a: a.update(more=np.ones(3)), r"unreferenced arrays: \['more'\]"),
    "short": (lambda a: a.update({ORIGIN: np.ones(4)}), r"offset has shape \(5,\), expected \(d\) with .*'d': 4"),
    "narrow": (lambda a: a.update({ORIGIN: np.ones(5, "f4")}), "is an array of float32 .* expected .* float64"),
    "NaN": (
        lambda a: a["focus.spectrum.filters"].fill(np.nan),
        "filters holds values from nan to nan, expected finite",
    ),
    "negative": (lambda a: a[COUNTS].fill(-1), "counts holds values from -1 to -1, expected at least 1"),
    "inconsistent": (lambda a: a[COUNTS].fill(14), "120 rows are kept of 112"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_invalid_arrays_are_named(model, name):
    header, arrays, written = model
    change, match = CHANGES[name]
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays)
    check_rejected(written(header, arrays), match)


FEW_SHOT = {
    "turned round": (lambda fields: fields["classes"]["items"].reverse(), "not in order, each once"),
    "twice": (lambda fields: fields["classes"].update(items=["left", "left"]), "not in order, each once"),
    "one more": (lambda fields: fields["classes"]["items"].append("up"), "not those of its classes"),
    "numbers": (lambda fields: fields["classes"].update(items=[1, 2]), "neither texts, numbers nor times"),
    "narrow": (lambda fields: fields.update(width=2), "up to 5 letters in a width of 2"),
    "wide": (lambda fields: fields.update(width=2**40), "use shorter labels"),
    "other features": (lambda fields: fields.update(n_features_in=4), "number of features, expected 4"),
    "no ridge": (lambda fields: fields["likelihood"]["fields"].update(within_ridge=0), "ridge is 0, expected at least"),
}


@pytest.mark.parametrize("name", FEW_SHOT)
def test_inconsistent_classifier_is_rejected(name, tmp_path):
    change, match = FEW_SHOT[name]
    path = save(few_shots()["few_shot"], tmp_path / "x.few_shot")
    header, arrays = read_container(path)
    change(header["content"]["fields"])
    check_rejected(write_container(path, header, arrays), match)


def test_unknown_classes_are_rejected(model, tmp_path):
    class Evil(BaseEstimator):
        def __init__(self):
            raise AssertionError("code from a file was run")

    header, _, written = model
    for name in ("Evil", "builtins.eval", "sklearn.base.BaseEstimator", "BaseEstimator", "__class__"):
        content = {"type": name, "settings": {}, "fields": {}}
        check_rejected(written(header, {}, content=content), "expected 'value', a str")
        check_rejected(written(header, {}, content={"type": name, "value": "1"}), f"has the unknown type '{name}'")


@pytest.mark.parametrize("text", ["NaT", "now", "today", "once", "2024-01-01T00:00Z", "9" * 30])
def test_invalid_datetime_is_rejected(text, tmp_path):
    path = save(Scores(np.datetime64("2024-01-01"), [1.0]), tmp_path / "x.scores")
    header, arrays = read_container(path)
    header["content"]["fields"]["name"]["value"] = text
    check_rejected(write_container(path, header, arrays), "datetime64|Integer overflow")


def test_deep_nesting_is_rejected(model):
    header, _, written = model
    content = json.loads("[" * 60 + "]" * 60)
    check_rejected(written(header, {}, content=content), "nested more than")
    text = json.dumps({**header, "content": 0}).replace("0}", "[" * 100_000 + "]" * 100_000 + "}")
    path = written()
    path.write_bytes(to_safetensors({}, metadata={FORMAT: text}))
    check_rejected(path, "cannot be read|recursion")


def test_load_needs_at_most_twice_the_file_size(tmp_path):
    path = save(Scores("a", np.zeros(2_000_000)), tmp_path / "x.scores")  # 16 MB
    tracemalloc.start()
    load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The array, the copy made by Scores, and a mask with one byte per eight.
    assert peak < 2.5 * path.stat().st_size


def test_concurrent_reads_see_complete_files(tmp_path):
    path = save(Scores("a", np.full(1000, 0.0)), tmp_path / "x.scores")
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            save(Scores("a", np.full(1000, float(number))), path)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(50):
            assert len(set(load(path).values.tolist())) == 1  # never mixed
    finally:
        stop.set()
        for writer in writers:
            writer.join()


def test_integer_beyond_64_bits_is_rejected(tmp_path):
    path = save(Tail(0.001)([*np.random.default_rng(1).exponential(size=(20, 40))]), tmp_path / "x")
    header, arrays = read_container(path)
    header["content"]["fields"]["tail"]["fields"]["shape"] = 10**30
    write_container(path, header, arrays)
    with pytest.raises(FileError, match="fits into 64 bits"):
        load(path)
