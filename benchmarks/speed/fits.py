"""Fits: ours and its parts, the floor, and every rival on one case."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.speed.alone import Alone, alone
from benchmarks.speed.cases import ASK_WITH_NUMBA, Case, Sample, sample
from benchmarks.speed.clock import Timed, time_interleaved
from benchmarks.speed.peers import FLOOR, OURS, PAPER, PAPER_CUSHION, PAPER_CUTOFF, PEERS, Peer
from benchmarks.speed.plain import without_numba
from benchmarks.speed.results import NONE, Result, result
from undistract import Moments, Spectrum
from undistract.algebra import Projection, select_directions
from undistract.algebra.selection import eigen_request
from undistract.algebra.spectrum import DEFAULT_RIDGE

WITHOUT_NUMBA = "Focus, numpy alone"
ALWAYS = (FLOOR.name, OURS.name, PAPER.name)  # in every round, however slow
NO_LIMIT = 3600.0


def fits(
    case: Case,
    rounds: int,
    most_seconds: float,
    say: Callable[[str], None] = print,
    peers: Collection[Peer] = tuple(PEERS.values()),
) -> Iterator[Result]:
    """Measure every competitor on a case: first each alone, for its memory; then all that are quick, interleaved.

    A rival that takes more than a quarter of the time it has is not run again. Its ratio is the one to dsyrk in its
    own process.
    """
    found: dict[str, Alone] = {}
    for peer in peers:
        if peer.wide and case.n_rows >= case.n_features:
            continue
        name = peer.name
        hindrance = peer.hindrance(case)
        limit = NO_LIMIT if name in ALWAYS else min(most_seconds, peer.most_seconds)
        found[name] = Alone(NONE, NONE, NONE, hindrance, False) if hindrance else alone(case, name, limit)
        say(f"  {case.name} {name} alone: {found[name].note or f'{found[name].seconds:.2f} s'}")
    data = sample(case)
    quick = [name for name, one in found.items() if one.seconds <= (NO_LIMIT if name in ALWAYS else most_seconds / 4)]
    parts = _parts(data, with_paper=PAPER.name in quick)
    times = time_interleaved({name: _learning(PEERS[name], data) for name in quick} | parts, rounds, 3 * most_seconds)
    compiled = found[OURS.name].compiled
    if compiled and case.ask is not None and case.name == "F":
        case = replace(case, ask=ASK_WITH_NUMBA)
    for name, one in found.items():
        yield _line("fit", case, name, times, one)
    for name in parts:
        yield _line("parts", case, name, times)
    if compiled:
        plain = without_numba(case, rounds)
        ratio = plain[OURS.name].seconds / plain[FLOOR.name].seconds
        note = "in a process of its own"
        yield result(
            "fit", case, WITHOUT_NUMBA, seconds=plain[OURS.name].seconds, to_floor=ratio, rounds=rounds, note=note
        )


def _line(part: str, case: Case, name: str, times: dict[str, Timed], one: Alone | None = None) -> Result:
    floor, ours = times[FLOOR.name].seconds, times[OURS.name].seconds
    note = "" if one is None else one.note
    if name in times:
        seconds, rounds = times[name]
        to_floor = seconds / floor
    elif one is not None:
        seconds, rounds = one.seconds, 0 if np.isnan(one.seconds) else 1
        to_floor = seconds / one.floor
        note = note or "in a process of its own"
    return result(
        part,
        case,
        name,
        seconds=seconds,
        to_floor=to_floor,
        to_ours=to_floor / (ours / floor),
        ask=case.ask if name == OURS.name and case.ask is not None else NONE,
        rounds=rounds,
        peak=NONE if one is None else one.peak,
        squares=NONE if one is None else one.peak / case.square,
        note=note,
    )


def _learning(peer: Peer, data: Sample) -> Callable[[], Any]:
    return lambda: peer.learn(data)


def _parts(data: Sample, with_paper: bool) -> dict[str, Callable[[], Any]]:
    """Our fit in steps, each from what the step before it made; all but the first for both settings."""
    moments = Moments.from_labels(data.X, data.labels)
    steps: dict[str, Callable[[], Any]] = {"moments": lambda: Moments.from_labels(data.X, data.labels)}
    steps |= _solving(moments, "", DEFAULT_RIDGE, "auto")
    return steps | (_solving(moments, ", the paper's setting", PAPER_CUSHION, PAPER_CUTOFF) if with_paper else {})


def _solving(moments: Moments, which: str, ridge: float, cutoff: float | str) -> dict[str, Callable[[], Any]]:
    wanted = eigen_request(cutoff, None)
    spectrum = Spectrum.of(moments, ridge=ridge, request=wanted)
    return {
        f"directions that may go{which}": lambda: Spectrum.of(moments, ridge=ridge, request=wanted),
        f"all directions, on demand{which}": lambda: Spectrum.of(moments, ridge=ridge),
        f"cut{which}": lambda: Projection.of(spectrum, select_directions(spectrum, cutoff=cutoff).n_removed),
        f"basis, on demand{which}": lambda: (
            Projection.of(spectrum, select_directions(spectrum, cutoff=cutoff).n_removed).complement
        ),
    }
