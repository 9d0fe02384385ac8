"""A desk with drawn data, for tests of the page that need a case which files do not give easily."""

from __future__ import annotations

import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from undistract.errors import InputError


class UnknownItemError(InputError):
    """No such item."""

    status = 404


class StandIn:
    """Items of several kinds; the familiar ones of a family go down together, a moment after the answer."""

    def __init__(self, *, n_items: int = 24, n_rows: int = 2000, names: list[str] | None = None, delay: float = 0.05):
        rng = np.random.default_rng(0)
        self.names = names or ["table.csv", "sensor.csv", "camera-1", "match.mp4"]
        kinds = ["row", "window", "image", "video"]
        self.sets = [
            {"id": number, "name": name, "rows": n_rows, "kind": kinds[number % 4], "times": None}
            for number, name in enumerate(self.names)
        ]
        self.scores = [rng.gamma(2.0, 0.5, n_rows) for _ in self.names]
        self.items: dict[str, dict[str, Any]] = {}
        step = n_rows // (n_items // len(self.names) + 2)
        for number in range(n_items):
            one = number % len(self.names)
            start = step * (1 + number // len(self.names))
            score = 10.0 - number * 5.0 / n_items
            self.scores[one][start : start + 5] = score * np.array([0.7, 0.9, 1, 0.9, 0.7])
            self.items[f"{one}-{start}-{start + 5}"] = {
                "id": f"{one}-{start}-{start + 5}", "set": one, "set_name": self.names[one], "start": start,
                "stop": start + 5, "peak": start + 2, "time": None, "was": score, "was_rank": number + 1,
                "was_alarm": True, "family": number % 3,
            }  # fmt: skip
        self.events: list[dict[str, Any]] = []
        self.version, self.delay = 0, delay
        self.moved: list[dict[str, Any]] = []
        self.lock = threading.Condition()
        self.fail: str | None = None
        self.clip_path: Path | None = None
        self.ranked = self._rank()

    def _standing(self) -> dict[str, dict[str, Any]]:
        gone = {event["of"] for event in self.events if "of" in event}
        return {event["item"]: event for event in self.events if "item" in event and event["key"] not in gone}

    def _rank(self) -> list[dict[str, Any]]:
        standing = self._standing()
        known = {self.items[item]["family"] for item, event in standing.items()
                 if event["answer"] == "familiar" and item in self.items}  # fmt: skip
        for item in self.items.values():
            item["score"] = item["was"] * (0.3 if item["family"] in known else 1.0)
        ranked = sorted(self.items.values(), key=lambda item: -item["score"])
        return [{**item, "rank": rank + 1, "alarm": item["score"] > 4} for rank, item in enumerate(ranked)]

    def about(self):
        return {"title": self.names[0], "features": 4, "sets": self.sets}

    def _shown(self):
        standing = self._standing()
        said = [
            {**item, **{name: standing.get(item["id"], {}).get(name) for name in ("answer", "who", "key")}}
            for item in self.ranked
        ]
        return sorted(said, key=lambda item: item["answer"] is not None)

    def queue(self, offset=0, limit=200):
        with self.lock:
            items = self._shown()
            answered = sum(item["answer"] is not None for item in items)
            return {"version": self.version, "event": len(self.events), "busy": False, "threshold": 4.0,
                    "total": len(items), "open": len(items) - answered, "answered": answered,
                    "items": items[offset : offset + limit]}  # fmt: skip

    def _one(self, name):
        for item in self._shown():
            if item["id"] == name:
                return item
        raise UnknownItemError(f"There is no item {name}.")

    def item(self, name):
        with self.lock:
            item = self._one(name)
            parts = [{"name": f"{self.names[0]} {column}", "part": 3.0 - column} for column in range(5)]
            kind = self.sets[item["set"]]["kind"]
            views = ["before", "after", "taken"]
            wave = np.sin(np.arange(40) / 4)
            exhibit = {
                "row": {"kind": "row", "left_out": 3, "cells": [{"name": part["name"], "value": 1.5, "usual": 0.2,
                        "after": 0.3, "part": part["part"]} for part in parts]},
                "window": {"kind": "window", "steps": 40, "series": [{"name": part["name"], "values": list(wave * 2),
                           "after": list(wave), "usual": list(wave * 0.8)} for part in parts]},
                "image": {"kind": "image", "pictures": views, "size": [24, 32]},
                "video": {"kind": "video", "clip": self.clip_path is not None, "pictures": views,
                          "seconds": [2.0, 8.0], "peak_second": 5.0},
            }[kind]  # fmt: skip
            return {**item, "explanation": {"text": f"Carried by {parts[0]['name']}.", "ignored": 0.62,
                    "features": parts}, "exhibit": exhibit,
                    "history": [event for event in self.events if name in (event.get("item"), event.get("about"))]}  # fmt: skip

    def track(self, number, start=0, stop=None, width=800):
        if number >= len(self.sets):
            raise UnknownItemError(f"There is no set {number}.")
        scores = self.scores[number]
        stop = min(stop or len(scores), len(scores))
        edges = np.unique(np.linspace(start, stop, min(width, stop - start) + 1).astype(int))
        pieces = [scores[low:high] for low, high in zip(edges[:-1], edges[1:], strict=True)]
        high = [float(piece.max()) for piece in pieces]
        inside = [item for item in self._shown() if item["set"] == number]
        return {"set": number, "start": start, "stop": stop, "rows": edges[:-1].tolist(),
                "low": [float(piece.min()) for piece in pieces], "high": high,
                "before_high": [2 * value + 1 for value in high], "threshold": 4.0, "before_threshold": 8.0,
                "items": [[item["start"], item["stop"], item["id"], item["answer"], item["alarm"]] for item in inside],
                "times": None}  # fmt: skip

    def preview(self, id, answer="familiar", scope="everywhere", strength=1.0):
        item = self._one(id)
        family = [other for other in self._shown() if other["family"] == item["family"]]
        weak = [{**other, "then": other["score"] / 2} for other in family if other["answer"] == "anomaly"]
        return {"vanish": family, "appear": [], "weaken": weak, "removed": 1, "removed_then": 2,
                "direction": {"features": [{"name": self.names[0], "part": 0.8}], "picture": True},
                "protected": bool(weak), "words": f"{len(family)} alarms would vanish ({scope}, {strength:g})."}  # fmt: skip

    def _png(self):
        from PIL import Image

        found = io.BytesIO()
        shade = np.linspace(0, 255, 24 * 32).reshape(24, 32).astype(np.uint8)
        Image.fromarray(shade).save(found, "png")
        return found.getvalue()

    def preview_picture(self, id, answer="familiar", scope="everywhere", strength=1.0):
        return self._png()

    def picture(self, id, view="before", row=None):
        return self._png()

    def direction_picture(self, number):
        return self._png()

    def clip(self, id):
        return self.clip_path

    def record(self, event):
        if self.fail:
            raise InputError(self.fail)
        with self.lock:
            if not any(event["key"] == other["key"] for other in self.events):
                self.events.append({**event, "when": time.time()})
            self.lock.notify_all()
        threading.Timer(self.delay, self._again).start()
        return {"event": len(self.events), "key": event["key"]}

    def withdraw(self, event):
        of = next((other for other in self.events if other["key"] == event["of"]), None)
        if of is None:
            raise InputError(f"There is no answer {event['of']}.")
        return self.record({**event, "about": of["item"]})

    def _again(self):
        with self.lock:
            before = {item["id"]: item["rank"] for item in self.ranked}
            self.ranked = self._rank()
            self.version += 1
            self.moved = [
                {"id": item["id"], "from": before[item["id"]], "to": item["rank"], "score": item["score"],
                 "was": item["was"]} for item in self.ranked if item["rank"] != before[item["id"]]
            ]  # fmt: skip
            self.lock.notify_all()

    def changes(self, version):
        down = sum(one["to"] > one["from"] for one in self.moved)
        below = sum(not item["alarm"] for item in self.ranked)
        return {"version": self.version, "event": len(self.events), "moved": self.moved, "vanished": below,
                "by": [event["who"] for event in self.events[-1:]],
                "words": f"{down} alarms went down, {below} are below the threshold now."}  # fmt: skip

    def wait(self, version, event, timeout):
        with self.lock:
            return self.lock.wait_for(lambda: self.version > version or len(self.events) > event, timeout)

    def summary(self):
        standing = list(self._standing().values())
        counts = {word: sum(event["answer"] == word for event in standing)
                  for word in ("familiar", "anomaly", "unsure", "calm")}  # fmt: skip
        people: dict[str, int] = {}
        for event in standing:
            people[event["who"]] = people.get(event["who"], 0) + 1
        counts["withdrawn"] = sum("of" in event for event in self.events)
        part = [{"name": name, "part": 0.5} for name in self.names]
        return {"verdicts": counts, "reviewers": people, "removed": 2, "removed_before": 1,
                "alarms": sum(item["alarm"] for item in self.ranked), "alarms_before": len(self.items),
                "directions": [{"distraction": 0.99, "taught": False, "features": part, "picture": False},
                               {"distraction": 0.97, "taught": True, "features": part, "picture": True}],
                "words": "2 directions are ignored now, 1 of them taught by answers."}  # fmt: skip

    def export(self, kind):
        return json.dumps(self.events).encode() if kind == "json" else b"key,answer\n"
