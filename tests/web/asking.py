"""Send requests to an app with exactly the given path, headers and body."""

import asyncio
import json
import re
from dataclasses import dataclass
from urllib.parse import unquote

TOKEN = "a-token-for-tests-only"
HOST, PORT = "127.0.0.1", 8765
OURS = {"host": f"{HOST}:{PORT}", "authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


def ask(app, method, target, headers=OURS, chunks=(b"",)):
    """Send one request to an app and return the response; `headers` may be pairs, so that names can repeat."""
    raw, _, query = target.partition("?")
    pairs = headers.items() if isinstance(headers, dict) else headers
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
        "client": ("127.0.0.1", 50000),
        "server": (HOST, PORT),
    }
    waiting = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    waiting[-1]["more_body"] = False
    sent = []

    async def receive():
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Reply(sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}, body)


def post(app, target, value):
    """Send a value as JSON."""
    return ask(app, "POST", target, {**OURS, "content-type": "application/json"}, [json.dumps(value).encode()])


def routes_of(routes, something="1"):
    """Iterate over all routes of an app and its routers: (method, path with `something` as parameters)."""
    for route in routes:
        inner = getattr(route, "original_router", None) or route
        if hasattr(inner, "routes"):
            yield from routes_of(inner.routes, something)
        else:
            for method in sorted(route.methods):
                yield method, re.sub(r"\{[^}]+\}", lambda _: something, route.path)
