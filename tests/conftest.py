"""Fixtures and settings for all tests."""

import os
import socket
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# `make laws` runs a thousand examples of each law, the tests a hundred.
settings.register_profile("tests", deadline=None, max_examples=100, print_blob=True, derandomize=True)
settings.register_profile("long", settings.get_profile("tests"), max_examples=1000)
settings.load_profile(os.environ.get("UNDISTRACT_LAWS", "tests"))


def _loopback_only(event, arguments):
    """Promise 17: no test connects to another machine; an attempt is an error."""
    if event != "socket.connect" or arguments[0].type != socket.SOCK_STREAM or not isinstance(arguments[1], tuple):
        return
    host = arguments[1][0]
    try:
        inside = host == "localhost" or ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:  # a host name, which would need a name server
        inside = False
    if not inside:
        raise PermissionError(f"Tests may connect to loopback only, got {host}.")


sys.addaudithook(_loopback_only)


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Small problems run fastest on one thread, and tests share the machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def data():
    """Return the folder with real data; skip the test if it is missing."""
    folder = Path(os.environ.get("UNDISTRACT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real data not found: set UNDISTRACT_DATA to its folder")
    return folder
