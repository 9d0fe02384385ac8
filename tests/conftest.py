"""What every test needs."""

import pytest
from hypothesis import settings

settings.register_profile("tests", deadline=None, max_examples=100, print_blob=True)
settings.load_profile("tests")


@pytest.fixture(autouse=True)
def _one_blas_thread():
    """Small problems run fastest on one thread, and tests share the machine."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
