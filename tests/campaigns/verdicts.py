"""No acknowledged verdict is lost or duplicated when a server is killed or its disk is full.

    python -m tests.campaigns.verdicts [--rounds 200] [--full-disk 50] [--fold 100000] [--seed 0]
    python -m tests.campaigns.verdicts --review

Each round starts a server; two writers send verdicts and withdrawals and sometimes repeat one; kill -9 comes at a
random time. Unanswered requests are sent again to the next server with the same key. After every round the store is
read: each acknowledged event exists once, under its number, and there are no events that were not sent. A full disk is
simulated by a small file system (as root), a disk error by a limit of the file size.

The server is tests/campaigns/verdict_server.py, a minimal one; with --review it is `undistract review`.
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
from undistract.review import ReviewStore, active_verdicts

SECONDS = 60  # to start a server, and to notice a full disk
GONE = (ConnectionError, http.client.HTTPException, TimeoutError)


class Server:
    """A running server, and its address."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if match := re.search(r"http://(127\.0\.0\.1|localhost):(\d+)/\S*token=([\w.~-]+)", line):
                self.host, port, self.token = match.groups()
                self.port = int(port)
                return
        raise RuntimeError(f"{shlex.join(command)} ended ({self.process.wait()}) before it printed an address")

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
    """A client that sends verdicts without pause, repeats unanswered ones and records acknowledgements."""

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
        verdicts = [event_key for event_key in self.acknowledged if "answer" in self.sent[event_key][1]]
        if verdicts and self.chance.random() < 0.2:
            self.sent[key] = "/api/withdrawals", {"key": key, "of": self.chance.choice(verdicts), "who": self.name}
        else:
            verdict = self.chance.choice(["false_alarm", "anomaly", "unsure"])
            body = {"key": key, "item": self.chance.choice(items), "answer": verdict, "who": self.name}
            self.sent[key] = "/api/verdicts", body
        return key

    def _send(self, server: Server, connection, key: str, stop: threading.Event) -> None:
        self.waiting = key
        status, answer = server.ask(connection, *self.sent[key])
        if status >= 500:
            self.counts["refused"] += 1
            if not answer.get("error"):
                self.wrong.append(f"{key} was rejected with {status} and without a message: {answer}")
            stop.wait(0.01)
            return
        if status >= 300:
            self.wrong.append(f"{key} got {status}: {answer}")
        elif self.acknowledged.setdefault(key, answer["event"]) != answer["event"]:
            self.wrong.append(f"{key} was event {self.acknowledged[key]}, then {answer['event']}")
        self.waiting = None


def complaints(path: Path, writers: list[Writer]) -> list[str]:
    """Read the store and return differences from the acknowledgements."""
    with ReviewStore.open(path, create=False) as store:
        events = store.events()  # raises on gaps
        taught = [event.key for _, event in events if getattr(event, "answer", "unsure") != "unsure"]
        problems = [f"{key} has no evidence" for key in set(taught) - set(store.evidence_of(taught))]
    numbers = {event.key: number for number, event in events}
    if len(numbers) != len(events):
        problems.append(f"{len(events) - len(numbers)} events are duplicated")
    sent = {key: body for writer in writers for key, (_, body) in writer.sent.items()}
    for _, event in events:
        stored, body = event.to_json(), sent.get(event.key)
        if body is None or any(stored[name] != body[name] for name in body if name != "item"):
            problems.append(f"{event.key} is stored as {stored}, sent was {body}")
    for writer in writers:
        for key, number in writer.acknowledged.items():
            if numbers.get(key) != number:
                problems.append(f"{key} was acknowledged as event {number}, and is {numbers.get(key)}")
        problems += writer.wrong
    return problems


@contextmanager
def writing(server: Server, writers: list[Writer]):
    """Run all writers until the block ends."""
    with closing(server.connection()) as connection:
        status, queue = server.ask(connection, "/api/queue")
    assert status == 200, queue
    items, stop = [item["id"] for item in queue["items"]], threading.Event()
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
    """Fill the disk, or limit the file size, until the block ends."""
    room = chance.randrange(0, 30_000)
    if kind == "full disk":
        filler = store.with_name("filler")
        free = os.statvfs(store.parent).f_bavail * os.statvfs(store.parent).f_frsize
        with suppress(OSError):  # the writers may have filled it already
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
    """Mount a file system of 32 MB on a folder; yield False if that is not permitted."""
    exit_code = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], capture_output=True
    ).returncode
    try:
        yield exit_code == 0
    finally:
        if exit_code == 0:
            subprocess.run(["umount", folder], check=True)


def kill_rounds(rounds: int, command: list[str], store: Path, seed: int, counts: Counter[str]) -> list[str]:
    """Kill the server `rounds` times while two clients write."""
    chance, writers = random.Random(seed), [Writer("Ada", seed), Writer("Bo", seed)]
    for number in range(rounds):
        server = Server(command)
        with writing(server, writers):
            time.sleep(chance.uniform(0.0, 0.25))
            server.kill()
        counts["killed inside a transaction"] += store.with_name(store.name + "-journal").exists()
        unanswered = {writer.waiting for writer in writers} - {None}
        problems = complaints(store, writers)
        with ReviewStore.open(store) as opened:
            counts["recorded, but killed before the answer"] += len(
                unanswered & {event.key for _, event in opened.events()} - {k for w in writers for k in w.acknowledged}
            )
        if problems:
            return [f"round {number}: {problem}" for problem in problems]
    counts["acknowledged"] += sum(len(writer.acknowledged) for writer in writers)
    return []


def full_disk_rounds(rounds: int, command: list[str], store: Path, seed: int, counts: Counter[str], kinds) -> list[str]:
    """Let the disk fail `rounds` times while two clients write; half of the times kill the server as well."""
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
        if problems := complaints(store, writers):
            return [f"round {number}, {kind}: {problem}" for problem in problems]
    counts["refused"] += sum(writer.counts["refused"] for writer in writers)
    counts["acknowledged"] += sum(len(writer.acknowledged) for writer in writers)
    return []


def campaign(rounds: int, full_disk: int, seed: int, *, review: bool = False):
    """Run both kinds of rounds; return counts and complaints."""
    counts: Counter[str] = Counter()
    with TemporaryDirectory() as scratch, ExitStack() as stack:
        command = [sys.executable, "-m", "tests.campaigns.verdict_server"]
        if review:
            files = reviews.table(Path(scratch))
            command = [sys.executable, "-m", "undistract", "review", str(files.scores), "--with", str(files.model)]
            command += ["--data", str(files.data), "--no-browser", "--store"]
        path = Path(scratch, "match.review")
        problems = kill_rounds(rounds, [*command, str(path)], path, seed, counts)
        if problems:
            return counts, problems
        kinds = ["error of the disk"]
        disk = Path(scratch, "disk")
        disk.mkdir()
        if full_disk and stack.enter_context(small_disk(disk)):
            kinds.append("full disk")
        path = disk / "match.review"
        problems += full_disk_rounds(full_disk, [*command, str(path)], path, seed, counts, kinds)
    return counts, problems


def fold_speed(count: int) -> dict[str, tuple[float, float]]:
    """Measure wall and CPU seconds to read back and fold `count` events."""
    from sqlalchemy import insert

    from tests.review.making import random_events
    from undistract.review import store as tables
    from undistract.review.store import Database

    seconds = {}

    @contextmanager
    def timed(label):
        started, worked = time.perf_counter(), time.process_time()
        yield
        seconds[label] = time.perf_counter() - started, time.process_time() - worked

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
        with database.writing() as connection:  # one transaction each would take minutes
            connection.execute(insert(tables.events_table), lines)
        database.close()
        with timed("to open"):
            store = ReviewStore.open(path)
        with timed("to read back"):
            read = [event for _, event in store.events()]
        store.close()
        with timed("to fold"):
            active_verdicts(read, now=float(count // 2))
        assert read == events
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="times the server is killed")
    parser.add_argument("--full-disk", type=int, default=50, help="times the disk fails")
    parser.add_argument(
        "--fold", type=int, default=0, help="read back and fold this many events, and print the seconds"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--review", action="store_true", help="the server is `undistract review`")
    options = parser.parse_args()
    started = time.time()
    counts, problems = campaign(options.rounds, options.full_disk, options.seed, review=options.review)
    print(f"{options.rounds} kills, {options.full_disk} shortages:", *(f"{n} {label}," for label, n in counts.items()))
    print(f"{len(problems)} complaints, {time.time() - started:.0f} s", *problems, sep="\n")
    if options.fold:
        for label, (passed, worked) in fold_speed(options.fold).items():
            print(f"{options.fold} events: {passed:.2f} s {label}, {worked:.2f} s of the processor")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
