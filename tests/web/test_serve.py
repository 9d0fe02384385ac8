"""`undistract serve`, the real thing."""

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
from undistract import FeatureSet, score


def test_a_program_scores_rows(server, model, odd):
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
        said = client.post("/score", json={"rows": odd.tolist(), "explain": True})
        assert said.status_code == 200
        assert said.json()["scores"] == score([FeatureSet("today", odd)], model).sets[0].after.values.tolist()
        assert said.json()["explanations"][0]["row"] == 31
        assert client.get("/health").json()["status"] == "ok"
        assert client.get("/model").json()["features"] == 8
        assert "undistract_rows_scored_total" in client.get("/metrics").text
        assert "server" not in client.get("/health").headers


@pytest.mark.parametrize(("sign", "given"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_a_token_is_made_up_or_lies_in_a_file_and_the_server_ends_cleanly(model_file, tmp_path, sign, given):
    words = ["-m", "undistract", "serve", model_file, "--port", 0, "--json"]
    if given:
        (tmp_path / "secret.txt").write_text(f"{TOKEN}\n")
        words += ["--token-file", tmp_path / "secret.txt"]
    with started(*words) as (process, told):
        token = TOKEN if given else told["token"]
        assert (told["token"] is None) if given else len(token) >= 32
        with httpx.Client(base_url=told["url"]) as client:
            assert client.get("/health").status_code == 401
            assert client.get("/health", headers={"Authorization": f"Bearer {token}"}).status_code == 200
            process.send_signal(sign)  # a connection that is kept open does not keep the server
            _, complaints = process.communicate(timeout=20)
    assert (process.returncode, complaints) == (0, "")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--token", "short"], "The token has 5 characters; expected 16 or more"),
        (["--token", "with spaces and more of them"], "letters, digits"),
        (["--quiet"], "--quiet would hide the token"),
        (["--host", "no-such-host.invalid"], "There is no address 'no-such-host.invalid' here"),
        (["--port", "99999"], "99999"),
        (["--token-file", "no-such-file"], "no-such-file: No such file"),
        (["--token-file", sys.executable], "letters, digits"),  # bytes that are no text were a traceback
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(model_file, words, found):
    told = run("serve", model_file, *words)
    assert told.exit_code in (1, 2)
    assert found in told.stderr
    assert "Traceback" not in told.stderr


def test_a_port_that_is_taken_is_told_in_one_sentence_and_other_machines_are_warned_of(model_file):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = run("serve", model_file, "--port", port, "--token", TOKEN)
        assert told.exit_code == 1
        assert told.stderr == (
            f"Error: Port {port} of 127.0.0.1 is taken. End what listens there, or choose another; "
            "0 takes any free one.\n"
        )
        # Every address of this machine includes the one that is taken, so nothing is opened here either.
        beyond = run("serve", model_file, "--host", "0.0.0.0", "--port", port, "--token", TOKEN)
        assert beyond.exit_code == 1
        assert beyond.stderr.startswith("Note: Listening on 0.0.0.0: other machines can reach this, and what is sent")


def test_help_shows_a_call_and_loads_no_web_library():
    code = "import sys; from undistract.cli import main\ntry: main(['serve', '--help'])\nexcept SystemExit: pass\n"
    code += "print(*{'fastapi', 'starlette', 'uvicorn', 'pydantic', 'numpy'} & set(sys.modules), file=sys.stderr)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stderr.split() == []
    assert "curl http://127.0.0.1:8765/score" in told.stdout


def test_a_stream_without_end_does_not_keep_the_server(tmp_path):
    script = tmp_path / "streaming.py"
    script.write_text(
        "import asyncio, json\n"
        "from starlette.responses import StreamingResponse\n"
        "from undistract.web.app import make_app\n"
        "from undistract.web.server import serve\n"
        f"app = make_app(token={TOKEN!r})\n"
        "async def told():\n"
        "    while True:\n"
        "        yield 'data: {}\\n\\n'\n"
        "        await asyncio.sleep(0.1)\n"
        "@app.get('/events')\n"
        "async def events(): return StreamingResponse(told(), media_type='text/event-stream')\n"
        "ready = lambda url: print(json.dumps({'url': url}), flush=True)\n"
        "serve(app, host='127.0.0.1', port=0, ready=ready)\n"
    )
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with started(script) as (process, told), httpx.stream("GET", f"{told['url']}events", headers=bearer) as reply:
        lines = reply.iter_lines()
        assert next(lines) == "data: {}"
        process.send_signal(signal.SIGTERM)
        with suppress(httpx.HTTPError):  # it is cut off, or ends
            list(lines)
        _, complaints = process.communicate(timeout=15)
    assert (process.returncode, complaints) == (0, "")
