"""`undistract serve` as a process."""

import signal
import socket
import subprocess
import sys
from contextlib import suppress

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')
pytest.importorskip("httpx")

import httpx

from tests.cli.shell import run
from tests.web.asking import TOKEN
from tests.web.running import started
from undistract import Source, score


def test_client_scores_rows(server, model, odd):
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
        response = client.post("/score", json={"rows": odd.tolist(), "explain": True})
        assert response.status_code == 200
        assert response.json()["scores"] == score([Source("today", odd)], model).sources[0].after.values.tolist()
        assert response.json()["explanations"][0]["row"] == 31
        assert client.get("/health").json()["status"] == "ok"
        assert client.get("/model").json()["features"] == 8
        assert "undistract_rows_scored_total" in client.get("/metrics").text
        assert "server" not in client.get("/health").headers


@pytest.mark.parametrize(("sign", "has_token"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_token_is_generated_or_read_and_the_server_stops_cleanly(model_file, tmp_path, sign, has_token):
    arguments = ["-m", "undistract", "serve", model_file, "--port", 0, "--json"]
    if has_token:
        (tmp_path / "secret.txt").write_text(f"{TOKEN}\n")
        arguments += ["--token-file", tmp_path / "secret.txt"]
    with started(*arguments) as (process, result):
        token = TOKEN if has_token else result["token"]
        assert (result["token"] is None) if has_token else len(token) >= 32
        with httpx.Client(base_url=result["url"]) as client:
            assert client.get("/health").status_code == 401
            assert client.get("/health", headers={"Authorization": f"Bearer {token}"}).status_code == 200
            process.send_signal(sign)  # an open connection does not block the shutdown
            _, complaints = process.communicate(timeout=20)
    assert (process.returncode, complaints) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--token", "short"], "The token has 5 characters; expected at least 16"),
        (["--token", "with spaces and more of them"], "letters, digits"),
        (["--quiet"], "--quiet would hide the generated token"),
        (["--host", "no-such-host.invalid"], "'no-such-host.invalid' is not an address of this machine"),
        (["--port", "99999"], "99999"),
        (["--token-file", "no-such-file"], "no-such-file: No such file"),
        (["--token-file", sys.executable], "letters, digits"),  # regression: binary data caused a traceback
    ],
)
def test_error_is_one_line(model_file, arguments, message):
    result = run("serve", model_file, *arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_used_port_is_an_error_and_a_public_address_gives_a_note(model_file):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = run("serve", model_file, "--port", port, "--token", TOKEN)
        assert result.exit_code == 1
        assert result.stderr == (
            f"Error: Port {port} of 127.0.0.1 is already in use. Stop the other program, or choose another port; "
            "0 for any free port.\n"
        )
        # All addresses include the used one, so this fails too.
        beyond = run("serve", model_file, "--host", "0.0.0.0", "--port", port, "--token", TOKEN)
        assert beyond.exit_code == 1
        assert beyond.stderr.startswith("Note: Listening on 0.0.0.0: other machines can connect, and traffic is not")


def test_help_has_an_example_and_imports_no_web_library():
    code = "import sys; from undistract.cli import main\ntry: main(['serve', '--help'])\nexcept SystemExit: pass\n"
    code += "print(*{'fastapi', 'starlette', 'uvicorn', 'pydantic', 'numpy'} & set(sys.modules), file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.split() == []
    assert "curl http://127.0.0.1:8765/score" in result.stdout


def test_endless_stream_does_not_block_the_shutdown(tmp_path):
    script = tmp_path / "streaming.py"
    script.write_text(
        "import asyncio, json\n"
        "from starlette.responses import StreamingResponse\n"
        "from undistract.web.app import make_app\n"
        "from undistract.web.server import serve\n"
        f"app = make_app(token={TOKEN!r})\n"
        "async def stream():\n"
        "    while True:\n"
        "        yield 'data: {}\\n\\n'\n"
        "        await asyncio.sleep(0.1)\n"
        "@app.get('/events')\n"
        "async def events(): return StreamingResponse(stream(), media_type='text/event-stream')\n"
        "ready = lambda url: print(json.dumps({'url': url}), flush=True)\n"
        "serve(app, host='127.0.0.1', port=0, ready=ready)\n"
    )
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with started(script) as (process, result), httpx.stream("GET", f"{result['url']}events", headers=bearer) as reply:
        lines = reply.iter_lines()
        assert next(lines) == "data: {}"
        process.send_signal(signal.SIGTERM)
        with suppress(httpx.HTTPError):  # it is aborted or ends
            list(lines)
        _, complaints = process.communicate(timeout=15)
    assert (process.returncode, complaints) == (0, "")
