"""Tables in files: numbers, times and groups by column name; errors name the position."""

import time

import numpy as np
import pytest

from undistract import InputError
from undistract.sources import discover_sources
from undistract.sources.options import ReadOptions

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
FRAME = pandas.DataFrame(
    {
        "when": pandas.date_range("2024-05-01", periods=300, freq="min"),
        "machine": RNG.choice(["a-1", "a-2", "007"], size=300),
        "load": RNG.normal(size=300),
        "heat": RNG.normal(20.0, 2.0, size=300),
        "users": RNG.integers(0, 9, size=300),
        "on": RNG.random(300) < 0.5,
    }
)
FEATURES = ["load", "heat", "users", "on"]
WRITERS = {
    "servers.csv": lambda path: FRAME.to_csv(path, index=False),
    "servers.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "semicolons.csv": lambda path: FRAME.to_csv(path, index=False, sep=";", decimal="."),
    "bom.csv": lambda path: FRAME.to_csv(path, index=False, encoding="utf-8-sig"),
    "servers.parquet": lambda path: FRAME.to_parquet(path, row_group_size=70),
    "servers.feather": lambda path: FRAME.to_feather(path),
    "servers.arrow": lambda path: FRAME.to_feather(path, compression="uncompressed", chunksize=70),
}


@pytest.fixture(params=WRITERS)
def written(request, tmp_path):
    WRITERS[request.param](tmp_path / request.param)
    return tmp_path / request.param


def text(tmp_path, content, **reading):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return discover_sources(path, ReadOptions(**reading))


def test_all_formats_return_the_same_rows_and_times(written):
    (source,) = discover_sources(written, ReadOptions(time="when", columns=FEATURES))
    assert source.name == written.name
    assert source.feature_names == tuple(FEATURES)
    for _ in range(2):
        # pandas writes floats in full, so text loses nothing
        assert np.array_equal(source.rows, FRAME[FEATURES].to_numpy(dtype=np.float64))
    assert (source.times == FRAME["when"].to_numpy()).all()


def test_column_defines_the_groups(written):
    sources = discover_sources(written, ReadOptions(group="machine", time="when"))
    assert {source.name for source in sources} == {"a-1", "a-2", "007"}
    for source in sources:
        mine = FRAME[FRAME["machine"] == source.name]
        assert len(source) == len(mine)
        assert np.array_equal(source.rows, mine[FEATURES].to_numpy(dtype=np.float64))
        assert (source.times == mine["when"].to_numpy()).all()


def test_times_keep_their_resolution_across_files(tmp_path):
    # Regression: the first file set the type, and the others lost their time of day.
    (tmp_path / "1.csv").write_text("machine,when,load\na,2024-05-01,1\n")
    (tmp_path / "2.csv").write_text("machine,when,load\na,2024-05-02 12:30:00,2\n")
    (source,) = discover_sources(tmp_path, ReadOptions(group="machine", time="when"))
    assert [str(when) for when in source.times] == ["2024-05-01T00:00:00", "2024-05-02T12:30:00"]
    (tmp_path / "3.csv").write_text("machine,when,load\na,3,3\n")
    with pytest.raises(InputError, match=r"'when' has numbers in 3.csv and times in 1.csv.*Use the same format"):
        discover_sources(tmp_path, ReadOptions(group="machine", time="when"))


def test_group_may_span_files_and_first_file_orders_columns(tmp_path):
    for number, part in enumerate((FRAME[:120], FRAME[120:])):
        columns = list(FRAME) if number == 0 else list(FRAME)[::-1]
        part[columns].to_csv(tmp_path / f"{number}.csv", index=False)
    sources = {
        source.name: source.rows for source in discover_sources(tmp_path, ReadOptions(group="machine", time="when"))
    }
    for name, rows in sources.items():
        assert np.array_equal(rows, FRAME[FRAME["machine"] == name][FEATURES].to_numpy(dtype=np.float64))


def test_numeric_selects_numeric_columns(tmp_path):
    (source,) = text(tmp_path, "who,load,heat\nanna,1,2\nben,3,4\n", columns="numeric")
    assert source.feature_names == ("load", "heat")


def test_integers_may_be_followed_by_decimals(tmp_path):
    (source,) = text(tmp_path, "a,b\n" + "1,2\n" * 400_000 + "1.5,\n2,3\n", missing="drop")
    assert len(source) == 400_001
    assert source.rows[-1].tolist() == [2.0, 3.0]
    assert source.rows.mean() == pytest.approx(1.5, abs=1e-5)


def test_late_text_raises_error_with_line(tmp_path):
    (source,) = text(tmp_path, "x,a,b\nhello,1,2\n" + "u,1,2\n" * 400_000 + "u,1,oops\n", columns=["b"])
    with pytest.raises(InputError, match=r"t.csv has 'oops' in column 'b', line 400003, which was numeric before"):
        list(source.chunks())


@pytest.mark.parametrize(
    ("content", "reading", "message"),
    [
        ("", {}, r"t.csv is empty \(0 bytes\)"),
        ("a,b\n", {}, r"t.csv has column names but no rows"),
        ("a,b", {}, r"t.csv"),
        ("load\n1\n2\n", {}, r"t.csv has one column, 'load'; expected several, separated by comma"),
        ("a b c\n1 2 3\n", {}, r"t.csv has one column, 'a b c'.*--delimiter"),
        ("1.5,2\n3,4\n", {}, r"t.csv starts with numbers, '1.5', '2'; expected the names of 2 columns.*--no-header"),
        ("a,b,a\n1,2,3\n", {}, r"t.csv has 3 columns, and more than one is called 'a'"),
        ('a;b\n"1,5";2\n2,5;3\n', {}, r"t.csv uses a decimal comma, such as '1,5' in column 'a'.*--decimal ,"),
        ("who,a,b\nanna,1,2\n", {}, r"Column 'who' of t.csv contains text \(from row 0 on\).*--columns a,b.*--group"),
        ("t,a\n2024-01-01,1\n", {}, r"Column 't' of t.csv contains times.*--time"),
        (
            "a,b\n1,2\n3,\n",
            {},
            r"Source 't.csv' has a missing value in column 'b' at row 1.*--drop-missing.*--impute.*--columns",
        ),
        ("a,b\nNA,2\n", {}, r"has a missing value in column 'a' at row 0"),
        ("a,b\n1,2\n1,2,3\n", {}, r"t.csv has 3 columns in line 3, expected 2"),
        (
            "a,b\n1,2\n",
            {"columns": ["a", "c"]},
            r"t.csv has no column 'c', which columns= \(--columns\) needs; it has",
        ),
        ("a,b\n1,2\n", {"group": "c"}, r"t.csv has no column 'c', which group= \(--group\) needs"),
        ("a,b\nx,2\n", {"time": "a"}, r"Column 'a' of t.csv contains text; time= needs numbers"),
        ('g,b\nx,2\n,3\n"",4\n', {"group": "b", "time": "g"}, r"contains text; time="),
        ("t,a\n1,2\n,3\n", {"time": "t"}, r"t.csv has a missing value in column 't' at row 1"),
        ("a,b\n1,2\n", {"time": "a", "group": "b"}, r"t.csv has no column left for features"),
        ("a,b\n,1\n2,\n", {"missing": "drop"}, r"All 2 rows of source 't.csv' have missing values"),
        ("a,b\n,1\n,2\n", {"missing": "impute"}, r"Source 't.csv' has no values in column 'a'"),
        ("a,b\n1,2\n", {"missing": "guess"}, r"missing must be one of error, drop, impute, got 'guess'"),
        ("a,b\n1,2\n".encode("utf-16"), {}, r"t.csv is not UTF-8 text"),
        ("gr\xf6\xdfe,b\n1,2\n".encode("latin-1"), {}, r"t.csv is not UTF-8 text \(byte 2\)"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", {}, r"t.csv is not UTF-8 text"),
    ],
)
def test_invalid_tables_raise_helpful_errors(tmp_path, content, reading, message):
    with pytest.raises(InputError, match=message):
        list(text(tmp_path, content, **reading)[0].chunks())


@pytest.mark.parametrize(
    ("content", "reading", "rows"),
    [
        ("1,2\n3,4\n", {"header": False}, [[1, 2], [3, 4]]),
        ("a;b\n1,5;2\n", {"decimal": ","}, [[1.5, 2]]),
        ("a b\n1 2\n", {"delimiter": " "}, [[1, 2]]),
        ("load\n1\n2\n", {"delimiter": ","}, [[1], [2]]),
        ('"a,x",b\n1,2\n', {}, [[1, 2]]),
        ("\ufeffa,b\r\n1,2\r\n", {"columns": ["a", "b"]}, [[1, 2]]),
        (",a,b\n0,1,2\n", {"columns": ["a", "b"]}, [[1, 2]]),
        ('a,b,note\n1,2,"two\nlines"\n3,4,x\n', {"columns": "numeric"}, [[1, 2], [3, 4]]),
        ("a,b\n1,\n3,4\n5,nan\n", {"missing": "drop"}, [[3, 4]]),
        ("a,b\n1,\n3,4\n5,6\n", {"missing": "impute"}, [[1, 5], [3, 4], [5, 6]]),
    ],
)
def test_advice_of_the_errors_works(tmp_path, content, reading, rows):
    assert text(tmp_path, content, **reading)[0].rows.tolist() == rows


def test_tables_must_have_the_same_columns(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(InputError, match=r"2.csv has columns that the first table lacks: 'c'.*--columns"):
        discover_sources(tmp_path)
    assert [source.n_features for source in discover_sources(tmp_path, ReadOptions(columns=["a", "b"]))] == [2, 2]
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(InputError, match=r"2.csv has no column 'b'"):
        discover_sources(tmp_path)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
def test_broken_table_raises_error(tmp_path, name):
    FRAME.to_parquet(tmp_path / name) if name == "t.parquet" else FRAME.to_feather(tmp_path / name)
    complete = (tmp_path / name).read_bytes()
    for contents in (complete[: len(complete) // 2], b"no table at all, but some text", b"x"):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(InputError, match=f"{name} cannot be read as a"):
            list(discover_sources(tmp_path / name, ReadOptions(columns=FEATURES))[0].chunks())


def test_times_may_be_numbers_and_follow_dropped_rows(tmp_path):
    (source,) = text(tmp_path, "t,a,b\n1,1,2\n2,,4\n5,5,6\n", time="t", missing="drop")
    assert source.times.tolist() == [1.0, 5.0]


def test_duplicate_names_are_found_in_linear_time(tmp_path):
    """Regression: counting each name separately took an hour for one wide line."""
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["twice", *(f"c{number}" for number in range(100_000)), "twice"]) + "\n")
    began = time.process_time()
    with pytest.raises(InputError, match="more than one is called 'twice'"):
        discover_sources(path)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_arrow_files_and_streams_compressed_or_not(tmp_path, form, compression):
    arrow = pytest.importorskip("pyarrow")
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    content = arrow.array(["calm", "storm", "calm"] * 1000).dictionary_encode()
    batch = arrow.record_batch({"a": rows[:, 0], "b": rows[:, 1], "day": content})
    write = arrow.ipc.new_file if form == "file" else arrow.ipc.new_stream
    options = arrow.ipc.IpcWriteOptions(compression=compression)
    with write(tmp_path / "t.arrow", batch.schema, options=options) as sink:
        sink.write_batch(batch.slice(0, 1000))
        sink.write_batch(batch.slice(1000))
    calm, storm = discover_sources(tmp_path / "t.arrow", ReadOptions(group="day"))
    assert np.array_equal(storm.rows, rows[1::3])
    assert len(calm.rows) == 2000
