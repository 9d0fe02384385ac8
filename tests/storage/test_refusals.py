"""What cannot be loaded says so: which file, what is wrong, what to do. Nothing of it is run."""

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

from .things import focus, recognisers


@pytest.fixture
def model(tmp_path):
    """The header and arrays of a small model, and a way to write them again, signed."""
    header, arrays = read_container(save(focus(), tmp_path / "good.focus"))

    def written(header=header, arrays=arrays, **changes):
        header = {**header, **changes}
        text = json.dumps({**header, "sha256": digest_of(header, arrays)})
        path = tmp_path / "model.focus"
        path.write_bytes(to_safetensors(arrays, metadata={FORMAT: text}))
        return path

    return header, arrays, written


def refuse(path, match, **options):
    with pytest.raises(FileError, match=match) as caught:
        load(path, **options)
    assert os.path.basename(path) in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path):
    refuse(tmp_path / "x.focus", r"There is no file .*x\.focus")
    refuse(tmp_path, "is not a file")
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "pipe", "is not a file")  # it would wait for ever


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\x93NUMPY" + bytes(100), b"PK\x03\x04" + bytes(200), bytes(7), bytes(8)]
)
def test_another_kind_of_file_is_refused(data, tmp_path):
    path = tmp_path / "x.focus"
    path.write_bytes(data)
    refuse(path, "safetensors file")
    with pytest.raises(FileError):
        describe_file(path)


def test_a_safetensors_file_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    for metadata in (None, {"format": "pt"}):
        path.write_bytes(to_safetensors({"weight": np.ones(3)}, metadata=metadata))
        refuse(path, "of another program")


def test_the_half_of_a_file_is_refused(tmp_path):
    path = save(focus(), tmp_path / "x.focus")
    data = path.read_bytes()
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        refuse(path, "safetensors file")


def test_a_single_changed_bit_is_noticed(tmp_path):
    path = save(Scores("a", [1.0, 2.0]), tmp_path / "x.scores")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    refuse(path, "damaged: its sha256 is")


def test_a_giant_header_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "bomb"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 2**40))
        file.truncate(2**41)  # takes no room on the disk
    start = time.perf_counter()
    refuse(path, f"header of {2**40} bytes, expected {LARGEST_HEADER} at most")
    assert time.perf_counter() - start < 1


def test_names_that_would_not_fit_are_refused_when_saved(tmp_path):
    with pytest.raises(InputError, match=r"names and settings take \d+ bytes"):
        save({"notes": "x" * LARGEST_HEADER}, tmp_path / "x")


def test_a_newer_format_says_to_upgrade(model):
    refuse(model[2](format_version=2), r"written in format 2 by undistract .*Upgrade: pip install --upgrade undistract")


def test_the_kind_that_is_asked_for_is_kept_to(tmp_path):
    path = save(Scores("a", [1.0]), tmp_path / "x.scores")
    assert load(path, kind="Scores").name == load(path, kind=Scores).name == "a"
    refuse(path, "holds a 'Scores', expected a 'Focus'", kind=Focus)
    refuse(path, "holds a 'Scores', expected a 'bundle'", kind=dict)


ORIGIN, COUNTS = "focus.moments.origin", "focus.moments.counts"
CHANGES = {
    "lost": (lambda a: a.pop(COUNTS), f"asks for the array '{COUNTS}', which is not in the file"),
    "one too many": (lambda a: a.update(more=np.ones(3)), r"nobody asks for its arrays \['more'\]"),
    "short": (lambda a: a.update({ORIGIN: np.ones(4)}), r"offset has shape \(5,\), expected \(d\) with .*'d': 4"),
    "narrow": (lambda a: a.update({ORIGIN: np.ones(5, "f4")}), "is an array of float32 .* expected .* float64"),
    "NaN": (
        lambda a: a["focus.spectrum.filters"].fill(np.nan),
        "filters holds values from nan to nan, expected finite",
    ),
    "negative": (lambda a: a[COUNTS].fill(-1), "counts holds values from -1 to -1, expected at least 1"),
    "inconsistent": (lambda a: a[COUNTS].fill(14), "120 rows are kept of 112"),
    "no places": (lambda a: a["focus.complement.features"].fill(2), "its features are no places"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_arrays_that_cannot_be_right_are_named(model, name):
    header, arrays, written = model
    change, match = CHANGES[name]
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays)
    refuse(written(header, arrays), match)


RECOGNISERS = {
    "turned round": (lambda fields: fields["classes"]["items"].reverse(), "not in order, each once"),
    "twice": (lambda fields: fields["classes"].update(items=["left", "left"]), "not in order, each once"),
    "one more": (lambda fields: fields["classes"]["items"].append("up"), "not those of its classes"),
    "numbers": (lambda fields: fields["classes"].update(items=[1, 2]), "neither texts, numbers nor times"),
    "narrow": (lambda fields: fields.update(width=2), "up to 5 letters in a width of 2"),
    "wide": (lambda fields: fields.update(width=2**40), "give shorter names"),
    "other features": (lambda fields: fields.update(n_features=4), "not all of 4 features"),
    "no ridge": (lambda fields: fields["likelihood"]["fields"].update(ridge=0), "ridge is 0, expected at least"),
}


@pytest.mark.parametrize("name", RECOGNISERS)
def test_a_recogniser_that_cannot_be_right_is_refused(name, tmp_path):
    change, match = RECOGNISERS[name]
    path = save(recognisers()["recogniser"], tmp_path / "x.recogniser")
    header, arrays = read_container(path)
    change(header["content"]["fields"])
    refuse(write_container(path, header, arrays), match)


def test_a_file_names_no_class_that_is_not_ours(model, tmp_path):
    class Evil(BaseEstimator):
        def __init__(self):
            raise AssertionError("code out of a file was run")

    header, _, written = model
    for name in ("Evil", "builtins.eval", "sklearn.base.BaseEstimator", "BaseEstimator", "__class__"):
        content = {"type": name, "settings": {}, "fields": {}}
        refuse(written(header, {}, content=content), "expected 'value', a str")
        refuse(written(header, {}, content={"type": name, "value": "1"}), f"of the unknown type '{name}'")


@pytest.mark.parametrize("text", ["NaT", "now", "today", "once", "2024-01-01T00:00Z", "9" * 30])
def test_a_time_that_is_none_is_refused(text, tmp_path):
    path = save(Scores(np.datetime64("2024-01-01"), [1.0]), tmp_path / "x.scores")
    header, arrays = read_container(path)
    header["content"]["fields"]["name"]["value"] = text
    refuse(write_container(path, header, arrays), "datetime64|Integer overflow")


def test_words_nested_without_end_are_refused(model):
    header, _, written = model
    content = json.loads("[" * 60 + "]" * 60)
    refuse(written(header, {}, content=content), "nested more than")
    text = json.dumps({**header, "content": 0}).replace("0}", "[" * 100_000 + "]" * 100_000 + "}")
    path = written()
    path.write_bytes(to_safetensors({}, metadata={FORMAT: text}))
    refuse(path, "cannot be read|recursion")


def test_loading_takes_memory_for_two_files_at_most(tmp_path):
    path = save(Scores("a", np.zeros(2_000_000)), tmp_path / "x.scores")  # 16 MB
    tracemalloc.start()
    load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The array, the copy that Scores makes of it, and a mask of one byte in eight.
    assert peak < 2.5 * path.stat().st_size


def test_files_are_read_while_others_write_them(tmp_path):
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
            assert len(set(load(path).values.tolist())) == 1  # never a mixture
    finally:
        stop.set()
        for writer in writers:
            writer.join()


def test_a_whole_number_that_no_array_holds_is_refused(tmp_path):
    path = save(Tail(0.001)([*np.random.default_rng(1).exponential(size=(20, 40))]), tmp_path / "x")
    header, arrays = read_container(path)
    header["content"]["fields"]["tail"]["fields"]["shape"] = 10**30
    write_container(path, header, arrays)
    with pytest.raises(FileError, match="fits into 64 bits"):
        load(path)
