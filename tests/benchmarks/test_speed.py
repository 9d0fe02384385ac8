"""The speed benchmark: every competitor runs and fits correctly, and the tables have the measured values."""

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
from benchmarks.speed.clock import time_interleaved
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
    """Measure all parts once at small sizes; each competitor starts a process, so there are three."""
    competitors = (FLOOR, OURS, COVARIANCE)
    sizes = growth.growth((500, 2000), (4, 8), (10, 100), n_rows=10_000, d=8, streamed=(2000, 20_000))
    results = [*fits(SMALL, 1, 60.0, lambda _: None, competitors), *transforms(SMALL, 1), *updates(SMALL, 1)]
    return (*results, *growth.grown(sizes, 1))


def test_rows_are_sorted_in_groups_of_equal_size():
    assert data().X.flags.c_contiguous
    assert set(np.bincount(data().labels)) == {50}
    assert (np.diff(data().labels) >= 0).all()


def test_groups_cut_by_a_block_keep_their_mean():
    """Rows are drawn in blocks; a group may begin in one and end in the next."""
    long = sample(Case("long", 10_000, 4, 3))
    for number in range(3):
        rows = long.X[long.labels == number]
        halves = np.array_split(rows, 2)
        # 1700 rows each, standard deviation at most 4: the mean has a standard error of 0.1.
        np.testing.assert_allclose(halves[0].mean(axis=0), halves[1].mean(axis=0), atol=0.6)


def test_focus_finds_the_drawn_nuisance():
    fitted = OURS.learn(data())
    assert fitted.n_removed_ == SMALL.n_distractors == 1
    pattern = fitted.patterns_[:, 0] / np.linalg.norm(fitted.patterns_[:, 0])
    assert abs(pattern @ data().distractors[0]) > 0.99


@pytest.mark.parametrize("case", [SMALL, Case("wide", 10, 16, 2)], ids=["many rows", "few rows"])
def test_floor_is_the_smaller_gram_matrix(case):
    rows = sample(case)
    expected = rows.X.T @ rows.X if case.n_rows > case.n_features else rows.X @ rows.X.T
    np.testing.assert_allclose(np.triu(gram(rows)), np.triu(expected), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(np.triu(gram(rows, small=False)), np.triu(rows.X.T @ rows.X), rtol=1e-12, atol=1e-9)


def test_pca_finds_the_same_directions_by_both_solvers():
    both = [PEERS[f"PCA, {solver}"].learn(data()) for solver in ("covariance_eigh", "full")]
    np.testing.assert_allclose(both[0].explained_variance_, both[1].explained_variance_, rtol=1e-9)


def test_rca_whitens_the_within_group_covariance():
    pytest.importorskip("metric_learn", reason="needs metric-learn: pip install 'undistract[bench]'")
    whitening = PEERS["RCA"].learn(data()).components_
    within = Moments.from_labels(data().X, data().labels).within
    np.testing.assert_allclose(whitening @ within @ whitening.T, np.eye(16), atol=1e-9)


def test_lda_direction_is_the_last_of_the_spectrum():
    """With a tiny ridge, the least distracting direction is the first discriminant direction of Fisher."""
    fisher = PEERS["LDA, eigen"].learn(data()).scalings_[:, 0]
    ours = PEERS["Focus, the paper's setting"].learn(data()).spectrum_.filters[:, -1]
    assert abs(fisher @ ours) / (np.linalg.norm(fisher) * np.linalg.norm(ours)) == pytest.approx(1, abs=1e-6)


def test_every_competitor_runs_in_every_round():
    calls: list[str] = []
    times = time_interleaved({name: lambda name=name: calls.append(name) or sum(range(2_000_000)) for name in "ab"}, 3)
    assert [times[name].n_rounds for name in "ab"] == [3, 3]
    assert calls[0] == "a"
    assert "b" in calls[: len(calls) - calls[::-1].index("a")]  # interleaved, not one after the other


def test_no_round_starts_after_the_time_limit():
    times = time_interleaved({name: lambda: sum(range(2_000_000)) for name in "ab"}, 3, most_seconds=0.0)
    assert [times[name].n_rounds for name in "ab"] == [1, 1]


def test_separate_process_measures_peak_memory():
    case = Case("square", 1600, 1500, 10)
    measurement = alone(case, FLOOR.name, 60.0)
    assert measurement.note == ""
    # One matrix of 18 MB, of which dsyrk touches at least a triangle; BLAS allocates some MB more.
    assert 0.4 < measurement.peak / case.square < 1.7


def test_fit_without_numba_is_timed_against_dsyrk():
    times = without_numba(SMALL, 2)
    assert [times[name].n_rounds for name in (FLOOR.name, OURS.name)] == [2, 2]
    assert times[OURS.name].seconds > times[FLOOR.name].seconds > 0  # a fit includes such a product


def test_slow_competitor_is_stopped():
    measurement = alone(Case("long", 20_000, 200, 4000), "LDA, svd", 0.0)
    assert (measurement.note, np.isnan(measurement.seconds)) == ("> 0 s", True)


def test_failure_of_a_competitor_is_reported():
    measurement = alone(Case("wide", 20, 40, 4), "LDA, eigen", 60.0)
    assert measurement.note.startswith("fails: ")
    assert np.isnan(measurement.seconds)


def test_competitor_that_needs_too_much_memory_is_not_started():
    assert PEERS["LDA, eigen"].hindrance(FULL["E"]) == "would need 12.8 GB"
    assert PEERS["LDA, eigen"].hindrance(FULL["C"]) == ""


@pytest.mark.parametrize("peer", PEERS.values(), ids=lambda peer: peer.name)
def test_every_competitor_fits_finite_values_for_every_feature(peer):
    if peer.name == "RCA":
        pytest.importorskip("metric_learn", reason="needs metric-learn: pip install 'undistract[bench]'")
    fitted = peer.learned(peer.learn(data()))
    assert np.isfinite(fitted).all()
    assert SMALL.n_features in fitted.shape


def test_every_result_has_a_time_and_a_ratio():
    results = measured()
    assert {result.name for result in results if result.part == "fit"} >= {FLOOR.name, OURS.name, COVARIANCE.name}
    for result in results:
        assert result.seconds > 0, result
        assert result.part == "memory" or np.isfinite(result.to_floor), result
    ours = next(result for result in results if (result.part, result.name) == ("fit", OURS.name))
    assert (ours.to_ours, ours.ask) == (1.0, 2.5)
    assert {result.part for result in results} == {
        "fit",
        "parts",
        "transform",
        "update",
        "rows",
        "features",
        "groups",
        "memory",
    }


def test_only_full_sizes_have_a_target():
    assert all(case.ask for case in FULL.values())
    assert {name for name, case in REDUCED.items() if case.reduced} == {"A", "B", "D"}
    assert all((case.ask is None) == bool(case.reduced) for case in REDUCED.values())
    assert REDUCED["A"].n_rows / REDUCED["A"].n_groups == FULL["A"].n_rows / FULL["A"].n_groups


def test_reduced_case_prints_no_target():
    reduced = [replace(result, ask=float("nan"), reduced="rows, 1/2") for result in measured() if result.part == "fit"]
    text = plain(tables(reduced)[0])
    assert "asked" not in text
    assert "reduced: rows, 1/2" in text
    assert "asked: ≤ 2.5" in plain(tables(measured())[0])


def test_results_survive_their_file(tmp_path):
    write(tmp_path / "speed.csv", measured())
    for before, after in zip(measured(), read(tmp_path / "speed.csv"), strict=True):
        assert (before.name, before.rows, before.rounds, before.note) == (
            after.name,
            after.rows,
            after.rounds,
            after.note,
        )
        np.testing.assert_allclose(after.seconds, before.seconds, rtol=1e-3)


def test_measuring_one_part_again_keeps_the_others():
    before = list(measured())
    again = [replace(result, seconds=2 * result.seconds) for result in before if result.part == "update"]
    both = joined(before, again)
    assert [result.name for result in both] == [result.name for result in before]
    doubled = [new.part for new, old in zip(both, before, strict=True) if new.seconds != old.seconds]
    assert set(doubled) == {"update"}


def test_results_are_sorted_by_case():
    first, second = (
        [replace(result, case=name) for result in measured() if result.part in ("fit", "parts")] for name in ("A", "B")
    )
    both = joined(second, first)
    assert [table.title[0] for table in tables(both)] == ["A", "B"]


def test_slope_of_a_power_law_is_its_exponent():
    results = [Result("rows", "rows", n, 8, 10, "", OURS.name, seconds=3e-6 * n**1.5) for n in (100, 1000, 10_000)]
    assert growth.slope(results, "rows", OURS.name) == pytest.approx(1.5)
    (promise,) = growth.promises(results)
    assert (promise.figure, promise.kept) == ("1.50 (1.50 from 1000 rows on)", False)


@pytest.mark.parametrize(("times", "peaks", "kept"), [((1, 1.2), (10, 11), True), ((1, 1.4), (10, 13), False)])
def test_promises_are_checked(times, peaks, kept):
    results = [
        Result("groups", "groups", 100, 8, n, "", OURS.name, seconds=s) for n, s in zip((10, 99), times, strict=True)
    ] + [Result("memory", "memory", n, 8, 1, "", STREAMED, peak=p) for n, p in zip((10, 100), peaks, strict=True)]
    assert [promise.kept for promise in growth.promises(results)] == [kept, kept]


def test_page_has_every_table_and_the_figure(tmp_path):
    shutil.copy(DOCS / "speed.md", tmp_path)
    write_page(measured(), tmp_path / "speed.md", tmp_path / "speed.png")
    text = (tmp_path / "speed.md").read_text(encoding="utf-8")
    assert text.count("small: 2000 × 16, 40") == 2
    assert "| · moments |" in text
    assert "transform, float32, 8 removed" in text
    assert "Focus.with_feedback" in text
    assert "slope 1.0 ± 0.1" in text
    assert (tmp_path / "speed.png").stat().st_size > 10_000


def test_page_lists_faster_competitors():
    ours = Result("fit", "A", 10, 2, 2, "", OURS.name, seconds=1.0, to_floor=2.0, to_ours=1.0, ask=1.5)
    slower, faster = (
        replace(ours, name="RCA", to_ours=ratio, to_floor=2 * ratio, ask=float("nan")) for ratio in (2.0, 0.5)
    )
    assert losses([ours, slower]) == "In none of these cases is a rival faster than `Focus`."
    assert "- RCA in case A: 0.50 of our time" in losses([ours, faster])
    assert summary([ours, slower]).rows[0][:3] == ("A: 10 × 2, 2", "2.00", "≤ 1.5 ✗")


def test_unknown_part_is_rejected_by_name():
    with pytest.raises(KeyError, match="nonsense"):
        list(measure(["nonsense"], full=False, rounds=1, say=lambda _: None))
