"""No acknowledged verdict is lost or doubled: a server is killed, and its disk fills up, while two people answer.

    python -m tests.campaigns.verdicts [--rounds 200] [--full-disk 50] [--fold 100000] [--seed 0]
    python -m tests.campaigns.verdicts --review

Each round starts a server; two writers send verdicts and withdrawals, now and then one they sent before; kill -9 comes
at any moment. What got no answer is sent again to the next server, with the same key. After every round the store is
read: each acknowledged event is there once, under the number that was told, and nothing is there that nobody sent.
A full disk is a small file system of its own (as root), an error of the disk a limit of the file's size.

The server is tests/campaigns/verdict_server.py, the store and little else; with --review it is `undistract review`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from tests.web import reviews
from undistract.review import ReviewStore, standing

SECONDS = 60  # in which a server starts, and in which a shortage is noticed
GONE = (ConnectionError, http.client.HTTPException, TimeoutError)


class Server:
    """A running server, and its address."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if found := re.search(r"http://(127\.0\.0\.1|localhost):(\d+)/\S*token=([\w.~-]+)", line):
                self.host, port, self.token = found.groups()
                self.port = int(port)
                return
        raise RuntimeError(f"{shlex.join(command)} ended ({self.process.wait()}) before it told an address")

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)

    def ask(self, connection, path: str, body: dict | None = None) -> tuple[int, dict]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, body and json.dumps(body), headers)
        with connection.getresponse() as answer:
            return answer.status, json.loads(answer.read())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Writer:
    """A person who answers without a pause, sends again what got no answer, and writes down what was acknowledged."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.chance = name, random.Random(f"{name} {seed}")
        self.sent: dict[str, tuple[str, dict]] = {}
        self.acknowledged: dict[str, int] = {}
        self.waiting: str | None = None
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def write(self, server: Server, items: list[str], stop: threading.Event) -> None:
        connection = server.connection()
        try:
            while not stop.is_set():
                self._send(server, connection, self.waiting or self._next(items), stop)
        except GONE:
            self.counts["cut off"] += 1
        finally:
            connection.close()

    def _next(self, items: list[str]) -> str:
        if self.acknowledged and self.chance.random() < 0.1:
            return self.chance.choice(list(self.acknowledged))
        key = str(UUID(int=self.chance.getrandbits(128)))
        verdicts = [known for known in self.acknowledged if "answer" in self.sent[known][1]]
        if verdicts and self.chance.random() < 0.2:
            self.sent[key] = "/api/withdrawals", {"key": key, "of": self.chance.choice(verdicts), "who": self.name}
        else:
            answer = self.chance.choice(["familiar", "anomaly", "unsure"])
            body = {"key": key, "item": self.chance.choice(items), "answer": answer, "who": self.name}
            self.sent[key] = "/api/verdicts", body
        return key

    def _send(self, server: Server, connection, key: str, stop: threading.Event) -> None:
        self.waiting = key
        status, told = server.ask(connection, *self.sent[key])
        if status >= 500:
            self.counts["refused"] += 1
            if not told.get("error"):
                self.wrong.append(f"{key} was refused with {status} and without words: {told}")
            stop.wait(0.01)
            return
        if status >= 300:
            self.wrong.append(f"{key} got {status}: {told}")
        elif self.acknowledged.setdefault(key, told["event"]) != told["event"]:
            self.wrong.append(f"{key} was event {self.acknowledged[key]}, then {told['event']}")
        self.waiting = None


def complaints(path: Path, writers: list[Writer]) -> list[str]:
    """Read the store, and say what is not as it was acknowledged."""
    with ReviewStore.open(path, create=False) as store:
        events = store.events()  # refuses gaps
        taught = [event.key for _, event in events if getattr(event, "answer", "unsure") != "unsure"]
        found = [f"{key} has no evidence" for key in set(taught) - set(store.evidence_of(taught))]
    numbers = {event.key: number for number, event in events}
    if len(numbers) != len(events):
        found.append(f"{len(events) - len(numbers)} events are there twice")
    sent = {key: body for writer in writers for key, (_, body) in writer.sent.items()}
    for _, event in events:
        told, body = event.to_json(), sent.get(event.key)
        if body is None or any(told[name] != body[name] for name in body if name != "item"):
            found.append(f"{event.key} is there as {told}, sent was {body}")
    for writer in writers:
        for key, number in writer.acknowledged.items():
            if numbers.get(key) != number:
                found.append(f"{key} was acknowledged as event {number}, and is {numbers.get(key)}")
        found += writer.wrong
    return found


@contextmanager
def writing(server: Server, writers: list[Writer]):
    """Let all writers write to the server, until the block ends."""
    with closing(server.connection()) as connection:
        status, told = server.ask(connection, "/api/queue")
    assert status == 200, told
    items, stop = [item["id"] for item in told["items"]], threading.Event()
    threads = [threading.Thread(target=writer.write, args=(server, items, stop)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@contextmanager
def scarce(kind: str, server: Server, store: Path, chance: random.Random):
    """Let the disk be full, or writing fail beyond a size, until the block ends."""
    room = chance.randrange(0, 30_000)
    if kind == "full disk":
        filler = store.with_name("filler")
        free = os.statvfs(store.parent).f_bavail * os.statvfs(store.parent).f_frsize
        with suppress(OSError):  # the writers may have filled it meanwhile
            filler.write_bytes(bytes(max(free - room, 0)))
        yield
        filler.unlink(missing_ok=True)
    else:
        pid, limit = server.process.pid, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (store.stat().st_size + room, resource.RLIM_INFINITY))
        yield
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)


@contextmanager
def small_disk(folder: Path):
    """Put a file system of 32 MB on a folder, where that is allowed; say whether it is."""
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], capture_output=True).returncode
    try:
        yield made == 0
    finally:
        if made == 0:
            subprocess.run(["umount", folder], check=True)


def kill_rounds(rounds: int, command: list[str], store: Path, seed: int, counts: Counter[str]) -> list[str]:
    """Kill the server so many times while two people write."""
    chance, writers = random.Random(seed), [Writer("Ada", seed), Writer("Bo", seed)]
    for number in range(rounds):
        server = Server(command)
        with writing(server, writers):
            time.sleep(chance.uniform(0.0, 0.25))
            server.kill()
        counts["killed inside a transaction"] += store.with_name(store.name + "-journal").exists()
        unanswered = {writer.waiting for writer in writers} - {None}
        found = complaints(store, writers)
        with ReviewStore.open(store) as held:
            counts["recorded, but killed before the answer"] += len(
                unanswered & {event.key for _, event in held.events()} - {k for w in writers for k in w.acknowledged}
            )
        if found:
            return [f"round {number}: {one}" for one in found]
    counts["acknowledged"] += sum(len(writer.acknowledged) for writer in writers)
    return []


def full_disk_rounds(rounds: int, command: list[str], store: Path, seed: int, counts: Counter[str], kinds) -> list[str]:
    """Let the disk fail so many times while two people write; every other time the server is killed as well."""
    chance, writers = random.Random(seed), [Writer("Cy", seed), Writer("Di", seed)]
    for number in range(rounds):
        server, kind = Server(command), kinds[number % len(kinds)]
        before = Counter({writer.name: writer.counts["refused"] for writer in writers})
        with writing(server, writers):
            with scarce(kind, server, store, chance):
                until = time.monotonic() + SECONDS
                while any(writer.counts["refused"] == before[writer.name] for writer in writers):
                    if time.monotonic() > until:
                        server.kill()
                        return [f"round {number}: the {kind} was never noticed"]
                    time.sleep(0.005)
                if number % 4 >= 2:
                    server.kill()
            if number % 4 < 2:
                waiting = {writer: writer.waiting for writer in writers}
                while any(key and key not in writer.acknowledged for writer, key in waiting.items()):
                    if time.monotonic() > until:
                        server.kill()
                        return [f"round {number}: {waiting} got no answer after the {kind} was over"]
                    time.sleep(0.005)
                server.kill()
        counts[kind] += 1
        if found := complaints(store, writers):
            return [f"round {number}, {kind}: {one}" for one in found]
    counts["refused"] += sum(writer.counts["refused"] for writer in writers)
    counts["acknowledged"] += sum(len(writer.acknowledged) for writer in writers)
    return []


def campaign(rounds: int, full_disk: int, seed: int, *, review: bool = False):
    """Run both kinds of rounds; return counts, and complaints (none, it is hoped)."""
    counts: Counter[str] = Counter()
    with TemporaryDirectory() as scratch, ExitStack() as stack:
        command = [sys.executable, "-m", "tests.campaigns.verdict_server"]
        if review:
            files = reviews.table(Path(scratch))
            command = [sys.executable, "-m", "undistract", "review", str(files.scores), "--with", str(files.model)]
            command += ["--data", str(files.data), "--no-browser", "--store"]
        path = Path(scratch, "match.review")
        found = kill_rounds(rounds, [*command, str(path)], path, seed, counts)
        if found:
            return counts, found
        kinds = ["error of the disk"]
        disk = Path(scratch, "disk")
        disk.mkdir()
        if full_disk and stack.enter_context(small_disk(disk)):
            kinds.append("full disk")
        path = disk / "match.review"
        found += full_disk_rounds(full_disk, [*command, str(path)], path, seed, counts, kinds)
    return counts, found


def fold_speed(count: int) -> dict[str, tuple[float, float]]:
    """Measure how long so many events take to be read back and folded: seconds, and seconds of the processor."""
    from sqlalchemy import insert

    from tests.review.making import random_events
    from undistract.review import tables
    from undistract.review.database import Database

    seconds = {}

    @contextmanager
    def timed(what):
        started, worked = time.perf_counter(), time.process_time()
        yield
        seconds[what] = time.perf_counter() - started, time.process_time() - worked

    events, lines = random_events(0, count, n_items=count // 4), []
    with TemporaryDirectory() as scratch:
        path = Path(scratch, "match.review")
        with ReviewStore.open(path) as store, timed("to record 100"):
            for event in events[:100]:
                store.record(event)
        for number, event in list(enumerate(events, start=1))[100:]:
            record = event.to_json()
            body = json.dumps(record)
            sums = tables.checksum(number, body)
            lines.append({"number": number, "key": event.key, "kind": record["kind"], "body": body, "checksum": sums})
        database = Database(path)
        with database.writing() as connection:  # one by one the disk would take minutes
            connection.execute(insert(tables.events), lines)
        database.close()
        with timed("to open"):
            store = ReviewStore.open(path)
        with timed("to read back"):
            read = [event for _, event in store.events()]
        store.close()
        with timed("to fold"):
            standing(read, now=float(count // 2))
        assert read == events
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="times the server is killed")
    parser.add_argument("--full-disk", type=int, default=50, help="times the disk fails")
    parser.add_argument("--fold", type=int, default=0, help="read back and fold so many events, and tell the seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--review", action="store_true", help="the server is `undistract review`")
    options = parser.parse_args()
    started = time.time()
    counts, found = campaign(options.rounds, options.full_disk, options.seed, review=options.review)
    print(f"{options.rounds} kills, {options.full_disk} shortages:", *(f"{n} {what}," for what, n in counts.items()))
    print(f"{len(found)} complaints, {time.time() - started:.0f} s", *found, sep="\n")
    if options.fold:
        for what, (passed, worked) in fold_speed(options.fold).items():
            print(f"{options.fold} events: {passed:.2f} s {what}, {worked:.2f} s of the processor")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
