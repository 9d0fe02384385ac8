"""The capacity plan is arithmetic on measured values."""

import pytest

from benchmarks.capacity import Measured, measure, plan_table, planned

MEASURED = Measured(2048, 10_000.0, 100e6, 0.5, 4.0, 300e6)


def test_plan_is_the_arithmetic_of_the_page():
    plan = planned(MEASURED, cameras=1000, rows=1e12, days=10, price=0.5)
    assert plan.core_hours == pytest.approx(1e12 / 1e4 / 3600)
    assert plan.cores == pytest.approx(plan.core_hours / 240)
    assert plan.cost_per_day == pytest.approx(plan.core_hours * 0.5 / 10)
    assert plan.network_per_day == 1000 * 100e6
    assert plan.network_of_rows_per_day == pytest.approx(1e12 * 2048 * 4 / 10)
    assert plan.join_hours == pytest.approx(1000 * 10 * 0.5 / 3600)


def test_share_of_the_rows_saves_cores_but_not_network():
    full, sampled = (planned(MEASURED, cameras=10, rows=1e9, days=1, share=share) for share in (1.0, 0.01))
    assert sampled.cost_per_day == pytest.approx(full.cost_per_day / 100)
    assert sampled.network_per_day == full.network_per_day


def test_measured_sizes_are_plausible():
    measured = measure(64, rounds=1)
    matrix = 8 * 64**2
    assert measured.rows_per_second > 0
    assert 2 * matrix <= measured.shipped_bytes <= 8 * matrix + 10_000
    assert measured.peak_bytes > matrix
    size = {"cameras": 2, "rows": 1e6, "days": 1.0, "price": 1.0, "share": 1.0}
    assert "| core hours |" in plan_table(measured, planned(measured, **size), **size)
