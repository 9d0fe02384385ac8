import numpy as np
import pytest

from tests.web.browsing import browser, serve, visit  # noqa: F401
from tests.web.running import serving

LIGHT = np.linspace(-30, 30, 8)


def day(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    return rng.normal(size=8) + rng.normal(size=(n_rows, 8)) + rng.normal(size=(n_rows, 1)) * LIGHT


@pytest.fixture(scope="session")
def days():
    from undistract import Source

    return [Source(f"day{seed}", day(seed)) for seed in range(20)]


@pytest.fixture(scope="session")
def model(days):
    from undistract import learn

    return learn(days)


@pytest.fixture(scope="session")
def sums(days):
    """Return a model without rows."""
    from undistract import learn

    return learn(days, keep_rows=False)


@pytest.fixture(scope="session")
def odd():
    """Return a day with an event in row 31."""
    rows = day(99)
    rows[31, 2] += 12
    return rows


@pytest.fixture(scope="session")
def model_file(model, tmp_path_factory):
    return model.save(tmp_path_factory.mktemp("model") / "street.focus")


@pytest.fixture(scope="session")
def server(model_file):
    """Run `undistract serve` once for all tests that only send requests."""
    with serving(model_file) as running:
        yield running
