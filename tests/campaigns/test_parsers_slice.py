"""A short run of the parser campaign with random changes (no atheris), and regression tests for its findings."""

import click
import pytest

from tests.campaigns.parsers import PARSERS, TOKENS, attempt, random_runs
from undistract.cli.learn import learn
from undistract.errors import InputError
from undistract.features import make_extractor
from undistract.sources.discover import source_files

NEEDED = {"table": "pyarrow", "feather": "pyarrow", "network": "onnx", "request": "fastapi"}


@pytest.mark.parametrize("name", PARSERS)
def test_random_bytes_are_read_or_rejected(name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"needs {NEEDED[name]}")
    counts = random_runs(name, 150, seed=1)
    assert counts["refused"] > 50  # proves that inputs are changed
    assert sum(counts.values()) == 150


@pytest.mark.parametrize("name", PARSERS)
def test_valid_bytes_are_read(name, tmp_path):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"needs {NEEDED[name]}")
    assert [attempt(name, data, tmp_path) for data in PARSERS[name][1]()].count("read") >= 1


# Regression tests: findings of the first campaign.


def parsed(tmp_path, text, *more):
    path = tmp_path / "options.toml"
    path.write_text(text)
    return learn.make_context("learn", ["a.npy", "--save", str(tmp_path / "m"), "--config", str(path), *more]).params


@pytest.mark.parametrize("text", ["columns = " + "[" * 2000, "window = " + "9" * 5000, "window = inf"])
def test_extreme_config_values_are_rejected(tmp_path, text):
    """Regression: RecursionError, ValueError and OverflowError of tomllib and click were not caught."""
    with pytest.raises(click.BadParameter):
        parsed(tmp_path, text)


def test_fractional_window_in_config_is_rejected(tmp_path):
    """Regression: 5.7 was read as 5."""
    with pytest.raises(click.BadParameter, match=r"'5\.7' is not a valid integer"):
        parsed(tmp_path, "window = 5.7")
    options = parsed(tmp_path, "window = 5\ncutoff = 0.9\nimpute = true\nridge = 1")
    assert (options["window"], options["cutoff"], options["impute"], options["ridge"]) == (5, 0.9, True, 1.0)


def test_size_with_five_thousand_digits_is_rejected():
    """Regression: Python raised ValueError for such a number."""
    with pytest.raises(click.BadParameter, match="is not a size"):
        learn.make_context("learn", ["a.npy", "--save", "m", "--resize", "9" * 5000 + "x3"])


def test_too_long_file_name_raises_input_error(tmp_path):
    """Regression: it was an OSError."""
    with pytest.raises(InputError, match="cannot be opened: File name too long"):
        source_files(tmp_path / ("a" * 300))


def test_table_with_old_mac_line_ends_is_rejected(tmp_path):
    """Regression: the csv module raised its own error for the first line."""
    from undistract.sources import discover_sources

    pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "undistract[tables]"')
    (tmp_path / "old.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    with pytest.raises(InputError, match="Unix or Windows line ends"):
        discover_sources(tmp_path / "old.csv")


def test_too_large_spec_is_rejected():
    """Regression: pixels(size=99999x99999) was accepted and failed at the first frame."""
    with pytest.raises(InputError, match="from 1 to 8192"):
        make_extractor("pixels(size=99999x99999)")


def test_there_are_many_tokens():
    assert len(set(TOKENS)) > 25
