import pytest

from tests.cli.shell import run, write_day, write_days


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder with twenty calm days, today with an event, a model and scores."""
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("site")
    write_days(folder / "calm", range(1, 21))
    write_day(folder / "today.csv", 99, event=77)
    for words in (
        ("learn", folder / "calm", "--time", "when", "--save", folder / "calm.focus"),
        ("score", folder / "today.csv", "--with", folder / "calm.focus", "--save", folder / "today.scores"),
    ):
        told = run(*words)
        assert told.exit_code == 0, told.output
    return folder
