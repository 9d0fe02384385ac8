"""A slice of the campaign of parsers, with random changes: it needs no atheris. What was found stays mended."""

import click
import pytest

from tests.campaigns.parsers import PARSERS, TOKENS, attempt, random_runs
from undistract.cli.learn import learn
from undistract.errors import InputError
from undistract.features import make_extractor
from undistract.sets.paths import set_paths

NEEDED = {"table": "pyarrow", "feather": "pyarrow", "network": "onnx", "request": "fastapi"}


@pytest.mark.parametrize("name", PARSERS)
def test_bytes_that_nobody_meant_are_read_or_refused_in_words(name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"needs {NEEDED[name]}")
    counts = random_runs(name, 150, seed=1)
    assert counts["refused"] > 50  # they are really changed
    assert sum(counts.values()) == 150


@pytest.mark.parametrize("name", PARSERS)
def test_good_bytes_are_read(name, tmp_path):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"needs {NEEDED[name]}")
    assert [attempt(name, data, tmp_path) for data in PARSERS[name][1]()].count("read") >= 1


# Stories: what the campaign found when it ran first.


def parsed(tmp_path, words, *more):
    path = tmp_path / "options.toml"
    path.write_text(words)
    return learn.make_context("learn", ["a.npy", "--save", str(tmp_path / "m"), "--config", str(path), *more]).params


@pytest.mark.parametrize("words", ["columns = " + "[" * 2000, "window = " + "9" * 5000, "window = inf"])
def test_a_config_that_nests_without_end_or_counts_to_infinity_is_refused(tmp_path, words):
    """RecursionError, ValueError and OverflowError came out of tomllib and click as they were."""
    with pytest.raises(click.BadParameter):
        parsed(tmp_path, words)


def test_a_config_with_half_a_window_is_refused_as_on_the_command_line(tmp_path):
    """5.7 was taken as 5."""
    with pytest.raises(click.BadParameter, match=r"'5\.7' is not a valid integer"):
        parsed(tmp_path, "window = 5.7")
    taken = parsed(tmp_path, "window = 5\ncutoff = 0.9\nimpute = true\ncushion = 1")
    assert (taken["window"], taken["cutoff"], taken["impute"], taken["cushion"]) == (5, 0.9, True, 1.0)


def test_a_size_of_five_thousand_digits_is_refused():
    """Python itself refuses to read such a number, with a ValueError."""
    with pytest.raises(click.BadParameter, match="is no size"):
        learn.make_context("learn", ["a.npy", "--save", "m", "--resize", "9" * 5000 + "x3"])


def test_a_name_that_is_too_long_is_said(tmp_path):
    """It was an OSError."""
    with pytest.raises(InputError, match="cannot be looked into: File name too long"):
        set_paths(tmp_path / ("a" * 300))


def test_a_table_with_lone_carriage_returns_is_refused_with_the_remedy(tmp_path):
    """The first line was given to csv, which raised its own error."""
    from undistract.sets import find_sets

    pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "undistract[tables]"')
    (tmp_path / "old.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    with pytest.raises(InputError, match="line ends of Unix or Windows"):
        find_sets(tmp_path / "old.csv")


def test_a_spec_that_asks_for_more_than_memory_holds_is_refused():
    """pixels(size=99999x99999) was made, and failed at the first frame."""
    with pytest.raises(InputError, match="at least 1 and at most 8192"):
        make_extractor("pixels(size=99999x99999)")


def test_the_tokens_are_many():
    assert len(set(TOKENS)) > 25
