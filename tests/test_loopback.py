"""Promise 17: tests, the demo and every command work without a network; attempts to use one fail."""

import shutil
import socket
import subprocess
import sys
import urllib.request

import pytest


@pytest.mark.parametrize("address", ["198.51.100.7", "2001:db8::7"])
def test_connection_to_another_machine_fails(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as connection, pytest.raises(PermissionError, match=f"loopback only.*{address}"):
        connection.connect((address, 80))


def test_urllib_request_to_another_machine_fails():
    with pytest.raises(OSError, match="loopback only"):
        urllib.request.urlopen("http://198.51.100.7/", timeout=5)


def test_loopback_works():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_demo_needs_no_network(tmp_path):
    """In a network namespace without even a loopback interface."""
    isolated = ["unshare", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*isolated, "true"], capture_output=True).returncode:
        pytest.skip("needs unshare and permission to create a network namespace")
    result = subprocess.run(
        [
            *isolated,
            sys.executable,
            "-m",
            "undistract",
            "demo",
            "--part",
            "digits",
            "--quiet",
            "--folder",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
