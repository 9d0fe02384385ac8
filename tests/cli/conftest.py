import pytest

from tests.cli.shell import run, write_day, write_days


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Return a folder with twenty normal days, a day with an event, a model and scores."""
    folder = tmp_path_factory.mktemp("site")
    write_days(folder / "calm", range(1, 21))
    write_day(folder / "today.csv", 99, event=77)
    for arguments in (
        ("learn", folder / "calm", "--time", "when", "--save", folder / "calm.focus"),
        ("score", folder / "today.csv", "--with", folder / "calm.focus", "--save", folder / "today.scores"),
    ):
        result = run(*arguments)
        assert result.exit_code == 0, result.output
    return folder
