"""What every test needs."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# `make laws` asks for a thousand examples of each law; the tests are content with a hundred.
settings.register_profile("tests", deadline=None, max_examples=100, print_blob=True, derandomize=True)
settings.register_profile("long", settings.get_profile("tests"), max_examples=1000)
settings.load_profile(os.environ.get("UNDISTRACT_LAWS", "tests"))


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Small problems run fastest on one thread, and tests share the machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def data():
    """The folder with real data, where there is one."""
    folder = Path(os.environ.get("UNDISTRACT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real data not found: set UNDISTRACT_DATA to its folder")
    return folder
