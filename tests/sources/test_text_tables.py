"""Text tables need no optional dependency."""

import csv
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import InputError
from undistract.sources import discover_sources, tables
from undistract.sources.options import ReadOptions
from undistract.sources.tables import open_text


@pytest.fixture(autouse=True)
def _without_table_libraries(monkeypatch):
    for name in ("pandas", "polars", "pyarrow", "pyarrow.csv"):
        monkeypatch.setitem(sys.modules, name, None)


def write(path, content):
    path.write_text(content)
    return path


def test_group_time_delimiter_decimal_and_missing_values(tmp_path):
    path = write(
        tmp_path / "servers.csv",
        "when;machine;load;heat\n"
        "2024-05-01 12:30:00;007;1,5;20\n"
        "2024-05-01 12:31:00;b;2,5;\n"
        '2024-05-01 12:32:00;007;"3,5";NA\n',
    )
    first, second = discover_sources(path, ReadOptions(group="machine", time="when", decimal=",", missing="drop"))
    assert (first.name, second.name) == ("007", "b")
    assert first.feature_names == ("load", "heat")
    assert first.rows.tolist() == [[1.5, 20.0]]
    assert first.times.tolist() == np.array(["2024-05-01T12:30:00"], "datetime64[s]").tolist()
    with pytest.raises(InputError, match="All 1 rows of source 'b' have missing values"):
        _ = second.rows


def test_tsv_without_header(tmp_path):
    (source,) = discover_sources(write(tmp_path / "t.tsv", "1\t2\n3\t4\n"), ReadOptions(header=False))
    assert source.feature_names == ("f0", "f1")
    assert source.rows.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e4", "inf", " 7 "], "number"),
        (["", "NA", "null"], "number"),
        (["True", "false", ""], "number"),
        (["2024-05-01", "2024-06-30"], "time"),
        (["2024-05-01T12:30Z", "2024-05-01 12:30:00+02:00"], "time"),
        (["2024-13-01"], "text"),
        (["2024-05-01 12:30", "2024-05-01 12:30Z"], "text"),
        (["12:30:00"], "text"),
        (["1_000"], "text"),
        (["\u0661\u0662"], "text"),
        (["calm", "1"], "text"),
    ],
)
def test_type_of_a_column_is_detected(tmp_path, cells, kind):
    content = "a,b\n" + "".join(f"{cell},0\n" for cell in cells)
    assert open_text(write(tmp_path / "t.csv", content)).kinds == {"a": kind, "b": "number"}


def test_booleans_are_one_and_zero_and_zones_become_utc(tmp_path):
    path = write(tmp_path / "t.csv", "when,on\n2024-05-01T12:30:00.25+02:00,true\n2024-05-01T12:30:00Z,False\n")
    (source,) = discover_sources(path, ReadOptions(time="when"))
    assert source.rows.tolist() == [[1.0], [0.0]]
    assert [str(time)[11:22] for time in source.times] == ["10:30:00.25", "12:30:00.00"]


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.text(max_size=5)), min_size=1, max_size=40))
def test_written_values_are_read_back(tmp_path_factory, rows):
    # Line ends inside of quotes are changed by no reader, but a lone carriage return or NUL is not portable.
    rows = [(value, text.replace("\r", "").replace("\0", "")) for value, text in rows]
    rows = [(value, text.encode("utf-8", "ignore").decode()) for value, text in rows]
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("value", "text"), *rows])
    batches = list(open_text(path).read(["value"], group="text"))
    assert np.concatenate([values for values, _, _ in batches]).ravel().tolist() == [value for value, _ in rows]
    assert np.concatenate([groups for _, _, groups in batches]).tolist() == [text for _, text in rows]


def test_rows_do_not_depend_on_the_size_of_batches(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", "a,b\n" + "".join(f"{number},{number / 3}\n\n" for number in range(50)))
    (source,) = discover_sources(path)
    expected = source.rows
    monkeypatch.setattr(tables, "BATCH_ROWS", 7)
    assert np.array_equal(discover_sources(path)[0].rows, expected)
    assert expected.shape == (50, 2)


def test_invalid_utf8_in_a_later_line_raises_error(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n3,\xff\n")
    with pytest.raises(InputError, match=r"t.csv cannot be read as a .csv table .*utf-8"):
        discover_sources(tmp_path / "t.csv")
