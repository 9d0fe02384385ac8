"""Promise 17: tests, the demo and every command work without a network; whoever tries to use one is stopped."""

import shutil
import socket
import subprocess
import sys
import urllib.request

import pytest


@pytest.mark.parametrize("address", ["198.51.100.7", "2001:db8::7"])
def test_a_test_that_reaches_for_another_machine_is_stopped(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as line, pytest.raises(PermissionError, match=f"loopback only.*{address}"):
        line.connect((address, 80))


def test_so_is_one_that_uses_a_library_for_it():
    with pytest.raises(OSError, match="loopback only"):
        urllib.request.urlopen("http://198.51.100.7/", timeout=5)


def test_loopback_is_there():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_the_demo_and_a_model_need_no_network_at_all(tmp_path):
    """In a world of its own, where not even loopback is up."""
    world = ["unshare", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*world, "true"], capture_output=True).returncode:
        pytest.skip("a network of its own needs unshare and the right to use it")
    told = subprocess.run(
        [*world, sys.executable, "-m", "undistract", "demo", "--part", "digits", "--quiet", "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
