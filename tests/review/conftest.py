import pytest

from tests.review import postgres


@pytest.fixture(scope="session")
def make_database():
    """A function that creates an empty database on a temporary server."""
    pytest.importorskip("psycopg", reason='needs psycopg: pip install "undistract[postgres]"')
    if postgres.programs() is None:
        pytest.skip(postgres.INSTALL)
    with postgres.server() as make:
        yield make


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """The location of a review: a path, or a URL."""
    pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "undistract[web]"')
    return tmp_path / "match.review" if request.param == "sqlite" else request.getfixturevalue("make_database")()
