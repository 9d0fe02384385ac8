"""Tables in files: numbers, times and groups by the names of columns; everything odd is refused with its place."""

import time

import numpy as np
import pytest

from undistract import InputError
from undistract.sets import find_sets

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


def text(tmp_path, words, **reading):
    path = tmp_path / "t.csv"
    path.write_bytes(words if isinstance(words, bytes) else words.encode())
    return find_sets(path, **reading)


def test_every_kind_of_table_gives_the_same_rows_and_times(written):
    (one,) = find_sets(written, time="when", columns=FEATURES)
    assert one.name == written.name
    assert one.feature_names == tuple(FEATURES)
    for _ in range(2):
        # pandas writes floats in full, so text loses nothing
        assert np.array_equal(one.rows, FRAME[FEATURES].to_numpy(dtype=np.float64))
    assert (one.times == FRAME["when"].to_numpy()).all()


def test_a_column_says_which_set_a_row_belongs_to(written):
    sets = find_sets(written, group="machine", time="when")
    assert {one.name for one in sets} == {"a-1", "a-2", "007"}
    for one in sets:
        mine = FRAME[FRAME["machine"] == one.name]
        assert len(one) == len(mine)
        assert np.array_equal(one.rows, mine[FEATURES].to_numpy(dtype=np.float64))
        assert (one.times == mine["when"].to_numpy()).all()


def test_times_of_a_group_stay_whole_where_one_file_has_days_and_another_hours(tmp_path):
    # The first file settled the type, and the others lost their time of day.
    (tmp_path / "1.csv").write_text("machine,when,load\na,2024-05-01,1\n")
    (tmp_path / "2.csv").write_text("machine,when,load\na,2024-05-02 12:30:00,2\n")
    (one,) = find_sets(tmp_path, group="machine", time="when")
    assert [str(when) for when in one.times] == ["2024-05-01T00:00:00", "2024-05-02T12:30:00"]
    (tmp_path / "3.csv").write_text("machine,when,load\na,3,3\n")
    with pytest.raises(InputError, match=r"'when' holds numbers in 3.csv and times in 1.csv.*Write it alike"):
        find_sets(tmp_path, group="machine", time="when")


def test_a_group_may_lie_in_several_files_and_the_first_file_orders_the_columns(tmp_path):
    for number, part in enumerate((FRAME[:120], FRAME[120:])):
        columns = list(FRAME) if number == 0 else list(FRAME)[::-1]
        part[columns].to_csv(tmp_path / f"{number}.csv", index=False)
    sets = {one.name: one.rows for one in find_sets(tmp_path, group="machine", time="when")}
    for name, rows in sets.items():
        assert np.array_equal(rows, FRAME[FRAME["machine"] == name][FEATURES].to_numpy(dtype=np.float64))


def test_numeric_takes_the_columns_that_are_numbers(tmp_path):
    (one,) = text(tmp_path, "who,load,heat\nanna,1,2\nben,3,4\n", columns="numeric")
    assert one.feature_names == ("load", "heat")


def test_whole_numbers_may_be_followed_by_others_a_megabyte_later(tmp_path):
    (one,) = text(tmp_path, "a,b\n" + "1,2\n" * 400_000 + "1.5,\n2,3\n", missing="drop")
    assert len(one) == 400_001
    assert one.rows[-1].tolist() == [2.0, 3.0]
    assert one.rows.mean() == pytest.approx(1.5, abs=1e-5)


def test_text_a_megabyte_later_is_refused_with_its_place(tmp_path):
    (one,) = text(tmp_path, "x,a,b\nhello,1,2\n" + "u,1,2\n" * 400_000 + "u,1,oops\n", columns=["b"])
    with pytest.raises(InputError, match=r"t.csv holds 'oops' in column 'b', line 400003, where numbers stood before"):
        list(one.chunks())


@pytest.mark.parametrize(
    ("words", "reading", "message"),
    [
        ("", {}, r"t.csv is empty: it has 0 bytes"),
        ("a,b\n", {}, r"t.csv has a line of names and no rows"),
        ("a,b", {}, r"t.csv"),
        ("load\n1\n2\n", {}, r"t.csv has one column, 'load'; expected several, with one of comma"),
        ("a b c\n1 2 3\n", {}, r"t.csv has one column, 'a b c'.*--delimiter"),
        ("1.5,2\n3,4\n", {}, r"t.csv starts with numbers, '1.5', '2'; expected the names of 2 columns.*--no-header"),
        ("a,b,a\n1,2,3\n", {}, r"t.csv has 3 columns, but more than one is called 'a'"),
        ('a;b\n"1,5";2\n2,5;3\n', {}, r"t.csv writes numbers with a comma, such as '1,5' in column 'a'.*--decimal ,"),
        ("who,a,b\nanna,1,2\n", {}, r"Column 'who' of t.csv holds text \(seen from row 0 on\).*--columns a,b.*--group"),
        ("t,a\n2024-01-01,1\n", {}, r"Column 't' of t.csv holds times.*--time"),
        (
            "a,b\n1,2\n3,\n",
            {},
            r"Set 't.csv' lacks a value in column 'b' at row 1.*--drop-missing.*--impute.*--columns",
        ),
        ("a,b\nNA,2\n", {}, r"lacks a value in column 'a' at row 0"),
        ("a,b\n1,2\n1,2,3\n", {}, r"t.csv cannot be read as a .csv table .*Row #3: Expected 2 columns, got 3"),
        (
            "a,b\n1,2\n",
            {"columns": ["a", "c"]},
            r"t.csv has no column 'c', which columns= \(--columns\) asks for; it has",
        ),
        ("a,b\n1,2\n", {"group": "c"}, r"t.csv has no column 'c', which group= \(--group\) asks for"),
        ("a,b\nx,2\n", {"time": "a"}, r"Column 'a' of t.csv holds text; as time= are expected numbers"),
        ('g,b\nx,2\n,3\n"",4\n', {"group": "b", "time": "g"}, r"holds text; as time="),
        ("t,a\n1,2\n,3\n", {"time": "t"}, r"t.csv lacks a value in column 't' at row 1"),
        ("a,b\n1,2\n", {"time": "a", "group": "b"}, r"No column of t.csv is left as a feature"),
        ("a,b\n,1\n2,\n", {"missing": "drop"}, r"Every one of the 2 rows of set 't.csv' lacks a value"),
        ("a,b\n,1\n,2\n", {"missing": "impute"}, r"Set 't.csv' has no value at all in column 'a'"),
        ("a,b\n1,2\n", {"missing": "guess"}, r"missing is 'guess'; expected one of refuse, drop, impute"),
        ("a,b\n1,2\n".encode("utf-16"), {}, r"t.csv is not UTF-8 text"),
        ("gr\xf6\xdfe,b\n1,2\n".encode("latin-1"), {}, r"t.csv is not UTF-8 text \(byte 2 of it\)"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", {}, r"t.csv is not UTF-8 text"),
    ],
)
def test_odd_tables_are_refused_with_words_that_help(tmp_path, words, reading, message):
    with pytest.raises(InputError, match=message):
        list(text(tmp_path, words, **reading)[0].chunks())


@pytest.mark.parametrize(
    ("words", "reading", "rows"),
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
def test_what_the_words_advise_works(tmp_path, words, reading, rows):
    assert text(tmp_path, words, **reading)[0].rows.tolist() == rows


def test_tables_must_have_the_same_columns(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(InputError, match=r"2.csv has columns that the first table has not: 'c'.*--columns"):
        find_sets(tmp_path)
    assert [one.n_features for one in find_sets(tmp_path, columns=["a", "b"])] == [2, 2]
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(InputError, match=r"2.csv has no column 'b'"):
        find_sets(tmp_path)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
def test_a_broken_table_is_refused(tmp_path, name):
    FRAME.to_parquet(tmp_path / name) if name == "t.parquet" else FRAME.to_feather(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for contents in (whole[: len(whole) // 2], b"no table at all, but some text", b"x"):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(InputError, match=f"{name} cannot be read as a"):
            list(find_sets(tmp_path / name, columns=FEATURES)[0].chunks())


def test_times_may_be_plain_numbers_and_gaps_do_not_shift_them(tmp_path):
    (one,) = text(tmp_path, "t,a,b\n1,1,2\n2,,4\n5,5,6\n", time="t", missing="drop")
    assert one.times.tolist() == [1.0, 5.0]


def test_names_of_many_columns_are_compared_in_one_pass(tmp_path):
    """Counting each name among all of them took an hour for the columns of one line."""
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["twice", *(f"c{number}" for number in range(100_000)), "twice"]) + "\n")
    began = time.process_time()
    with pytest.raises(InputError, match="more than one is called 'twice'"):
        find_sets(path)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_both_forms_of_arrow_are_read_packed_or_not(tmp_path, form, compression):
    arrow = pytest.importorskip("pyarrow")
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    words = arrow.array(["calm", "storm", "calm"] * 1000).dictionary_encode()
    batch = arrow.record_batch({"a": rows[:, 0], "b": rows[:, 1], "day": words})
    write = arrow.ipc.new_file if form == "file" else arrow.ipc.new_stream
    options = arrow.ipc.IpcWriteOptions(compression=compression)
    with write(tmp_path / "t.arrow", batch.schema, options=options) as sink:
        sink.write_batch(batch.slice(0, 1000))
        sink.write_batch(batch.slice(1000))
    calm, storm = find_sets(tmp_path / "t.arrow", group="day")
    assert np.array_equal(storm.rows, rows[1::3])
    assert len(calm.rows) == 2000
