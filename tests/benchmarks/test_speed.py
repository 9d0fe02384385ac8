"""The speed benchmark: every competitor runs and learns what it should, and the tables say what was measured."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'undistract[plot]'")

from benchmarks.speed import growth
from benchmarks.speed.alone import STREAMED, alone
from benchmarks.speed.cases import FULL, REDUCED, Case, Sample, sample
from benchmarks.speed.clock import in_turn
from benchmarks.speed.fits import fits
from benchmarks.speed.page import losses, summary, write_page
from benchmarks.speed.peers import COVARIANCE, FLOOR, OURS, PEERS, gram
from benchmarks.speed.plain import without_numba
from benchmarks.speed.results import Result, read, write
from benchmarks.speed.run import joined, measure
from benchmarks.speed.steps import transforms, updates
from benchmarks.speed.table import plain, tables
from undistract import Moments

SMALL = Case("small", 2000, 16, 40, ask=2.5)
DOCS = Path(__file__).parents[2] / "docs"


@cache
def data() -> Sample:
    return sample(SMALL)


@cache
def measured() -> tuple[Result, ...]:
    """Everything once, at sizes that take a moment; each competitor costs a process, so there are three."""
    some = (FLOOR, OURS, COVARIANCE)
    sizes = growth.growth((500, 2000), (4, 8), (10, 100), n_rows=10_000, d=8, streamed=(2000, 20_000))
    found = [*fits(SMALL, 1, 60.0, lambda _: None, some), *transforms(SMALL, 1), *updates(SMALL, 1)]
    return (*found, *growth.grown(sizes, 1))


def test_the_rows_are_sorted_and_the_sets_of_one_size():
    assert data().X.flags.c_contiguous
    assert set(np.bincount(data().labels)) == {50}
    assert (np.diff(data().labels) >= 0).all()


def test_the_rows_do_not_depend_on_how_many_blocks_they_are_drawn_in():
    """Sets that a block border cuts keep their mean."""
    long = sample(Case("long", 10_000, 4, 3))
    for number in range(3):
        rows = long.X[long.labels == number]
        halves = np.array_split(rows, 2)
        # 1700 rows each, deviation at most 4: the mean wanders by 0.1.
        np.testing.assert_allclose(halves[0].mean(axis=0), halves[1].mean(axis=0), atol=0.6)


def test_focus_finds_the_distractor_that_the_rows_were_given():
    fitted = OURS.learn(data())
    assert fitted.n_removed_ == SMALL.n_distractors == 1
    pattern = fitted.patterns_[:, 0] / np.linalg.norm(fitted.patterns_[:, 0])
    assert abs(pattern @ data().distractors[0]) > 0.99


@pytest.mark.parametrize("case", [SMALL, Case("wide", 10, 16, 2)], ids=["many rows", "few rows"])
def test_the_floor_is_the_smaller_gram_matrix(case):
    rows = sample(case)
    expected = rows.X.T @ rows.X if case.n_rows > case.n_features else rows.X @ rows.X.T
    np.testing.assert_allclose(np.triu(gram(rows)), np.triu(expected), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(np.triu(gram(rows, small=False)), np.triu(rows.X.T @ rows.X), rtol=1e-12, atol=1e-9)


def test_pca_finds_the_same_directions_by_both_solvers():
    both = [PEERS[f"PCA, {solver}"].learn(data()) for solver in ("covariance_eigh", "full")]
    np.testing.assert_allclose(both[0].explained_variance_, both[1].explained_variance_, rtol=1e-9)


def test_rca_whitens_what_our_moments_call_within():
    pytest.importorskip("metric_learn", reason="needs metric-learn: pip install 'undistract[bench]'")
    whitening = PEERS["RCA"].learn(data()).components_
    within = Moments.of_labelled(data().X, data().labels).within
    np.testing.assert_allclose(whitening @ within @ whitening.T, np.eye(16), atol=1e-9)


def test_lda_spans_the_directions_that_our_spectrum_puts_last():
    """With a tiny cushion, the least distracting direction is Fisher's best."""
    fisher = PEERS["LDA, eigen"].learn(data()).scalings_[:, 0]
    ours = PEERS["Focus, the paper's setting"].learn(data()).spectrum_.filters[:, -1]
    assert abs(fisher @ ours) / (np.linalg.norm(fisher) * np.linalg.norm(ours)) == pytest.approx(1, abs=1e-6)


def test_everybody_takes_part_in_every_round():
    calls: list[str] = []
    times = in_turn({name: lambda name=name: calls.append(name) or sum(range(2_000_000)) for name in "ab"}, 3)
    assert [times[name].n_rounds for name in "ab"] == [3, 3]
    assert calls[0] == "a"
    assert "b" in calls[: len(calls) - calls[::-1].index("a")]  # in turn, not one after the other


def test_no_round_begins_when_the_time_is_up():
    times = in_turn({name: lambda: sum(range(2_000_000)) for name in "ab"}, 3, most_seconds=0.0)
    assert [times[name].n_rounds for name in "ab"] == [1, 1]


def test_a_process_of_its_own_tells_the_memory_that_is_held_at_once():
    case = Case("square", 1600, 1500, 10)
    found = alone(case, FLOOR.name, 60.0)
    assert found.note == ""
    # One matrix of 18 MB, of which dsyrk need not touch more than a triangle; BLAS has some MB of its own.
    assert 0.4 < found.peak / case.square < 1.7


def test_without_numba_our_fit_is_timed_against_dsyrk_in_its_own_process():
    times = without_numba(SMALL, 2)
    assert [times[name].n_rounds for name in (FLOOR.name, OURS.name)] == [2, 2]
    assert times[OURS.name].seconds > times[FLOOR.name].seconds > 0  # a fit holds such a product, and more


def test_a_rival_is_stopped_when_it_takes_too_long():
    found = alone(Case("long", 20_000, 200, 4000), "LDA, svd", 0.0)
    assert (found.note, np.isnan(found.seconds)) == ("> 0 s", True)


def test_a_rival_that_fails_says_why():
    found = alone(Case("wide", 20, 40, 4), "LDA, eigen", 60.0)
    assert found.note.startswith("fails: ")
    assert np.isnan(found.seconds)


def test_a_rival_that_needs_too_much_memory_is_not_started():
    assert PEERS["LDA, eigen"].hindrance(FULL["E"]) == "would need 12.8 GB"
    assert PEERS["LDA, eigen"].hindrance(FULL["C"]) == ""


@pytest.mark.parametrize("peer", PEERS.values(), ids=lambda peer: peer.name)
def test_every_competitor_learns_something_finite_about_every_feature(peer):
    if peer.name == "RCA":
        pytest.importorskip("metric_learn", reason="needs metric-learn: pip install 'undistract[bench]'")
    found = peer.learned(peer.learn(data()))
    assert np.isfinite(found).all()
    assert SMALL.n_features in found.shape


def test_all_that_is_measured_has_a_time_and_a_ratio():
    found = measured()
    assert {one.name for one in found if one.part == "fit"} >= {FLOOR.name, OURS.name, COVARIANCE.name}
    for one in found:
        assert one.seconds > 0, one
        assert one.part == "memory" or np.isfinite(one.to_floor), one
    ours = next(one for one in found if (one.part, one.name) == ("fit", OURS.name))
    assert (ours.to_ours, ours.ask) == (1.0, 2.5)
    assert {one.part for one in found} == {"fit", "parts", "transform", "update", "rows", "features", "sets", "memory"}


def test_the_asks_hold_for_full_sizes_alone():
    assert all(case.ask for case in FULL.values())
    assert {name for name, case in REDUCED.items() if case.reduced} == {"A", "B", "D"}
    assert all((case.ask is None) == bool(case.reduced) for case in REDUCED.values())
    assert REDUCED["A"].n_rows / REDUCED["A"].n_sets == FULL["A"].n_rows / FULL["A"].n_sets


def test_a_reduced_case_prints_no_ask():
    reduced = [replace(one, ask=float("nan"), reduced="rows, 1/2") for one in measured() if one.part == "fit"]
    text = plain(tables(reduced)[0])
    assert "asked" not in text
    assert "reduced: rows, 1/2" in text
    assert "asked: ≤ 2.5" in plain(tables(measured())[0])


def test_results_come_back_from_their_file(tmp_path):
    write(tmp_path / "speed.csv", measured())
    for before, after in zip(measured(), read(tmp_path / "speed.csv"), strict=True):
        assert (before.name, before.rows, before.rounds, before.note) == (
            after.name,
            after.rows,
            after.rounds,
            after.note,
        )
        np.testing.assert_allclose(after.seconds, before.seconds, rtol=1e-3)


def test_one_case_measured_anew_leaves_the_others_as_they_were():
    before = list(measured())
    again = [replace(one, seconds=2 * one.seconds) for one in before if one.part == "update"]
    both = joined(before, again)
    assert [one.name for one in both] == [one.name for one in before]
    doubled = [one.part for one, old in zip(both, before, strict=True) if one.seconds != old.seconds]
    assert set(doubled) == {"update"}


def test_a_case_that_comes_later_stands_in_its_place():
    first, second = (
        [replace(one, case=name) for one in measured() if one.part in ("fit", "parts")] for name in ("A", "B")
    )
    both = joined(second, first)
    assert [table.title[0] for table in tables(both)] == ["A", "B"]


def test_slopes_are_those_of_a_power_law():
    results = [Result("rows", "rows", n, 8, 10, "", OURS.name, seconds=3e-6 * n**1.5) for n in (100, 1000, 10_000)]
    assert growth.slope(results, "rows", OURS.name) == pytest.approx(1.5)
    (promise,) = growth.promises(results)
    assert (promise.figure, promise.kept) == ("1.50 (1.50 from 1000 rows on)", False)


@pytest.mark.parametrize(("times", "peaks", "kept"), [((1, 1.2), (10, 11), True), ((1, 1.4), (10, 13), False)])
def test_promises_are_kept_or_not(times, peaks, kept):
    results = [
        Result("sets", "sets", 100, 8, n, "", OURS.name, seconds=s) for n, s in zip((10, 99), times, strict=True)
    ] + [Result("memory", "memory", n, 8, 1, "", STREAMED, peak=p) for n, p in zip((10, 100), peaks, strict=True)]
    assert [promise.kept for promise in growth.promises(results)] == [kept, kept]


def test_the_page_has_every_table_and_the_picture(tmp_path):
    shutil.copy(DOCS / "speed.md", tmp_path)
    write_page(measured(), tmp_path / "speed.md", tmp_path / "speed.png")
    text = (tmp_path / "speed.md").read_text(encoding="utf-8")
    assert text.count("small: 2000 × 16, 40") == 2
    assert "| · moments |" in text
    assert "transform, float32, 8 removed" in text
    assert "Focus.taught_by" in text
    assert "slope 1.0 ± 0.1" in text
    assert (tmp_path / "speed.png").stat().st_size > 10_000


def test_the_page_says_where_a_rival_is_faster():
    ours = Result("fit", "A", 10, 2, 2, "", OURS.name, seconds=1.0, to_floor=2.0, to_ours=1.0, ask=1.5)
    slower, faster = (
        replace(ours, name="RCA", to_ours=ratio, to_floor=2 * ratio, ask=float("nan")) for ratio in (2.0, 0.5)
    )
    assert losses([ours, slower]) == "In none of these cases is a rival faster than `Focus`."
    assert "- RCA in case A: 0.50 of our time" in losses([ours, faster])
    assert summary([ours, slower]).rows[0][:3] == ("A: 10 × 2, 2", "2.00", "≤ 1.5 ✗")


def test_an_unknown_part_is_refused_by_name():
    with pytest.raises(KeyError, match="nonsense"):
        list(measure(["nonsense"], full=False, rounds=1, say=lambda _: None))
