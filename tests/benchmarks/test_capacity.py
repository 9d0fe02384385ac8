"""The capacity plan is arithmetic on what was measured."""

import pytest

from benchmarks.capacity import Measured, measure, planned, told

ONE = Measured(2048, 10_000.0, 100e6, 0.5, 4.0, 300e6)


def test_the_plan_is_the_arithmetic_that_the_page_shows():
    plan = planned(ONE, cameras=1000, rows=1e12, days=10, price=0.5)
    assert plan.core_hours == pytest.approx(1e12 / 1e4 / 3600)
    assert plan.cores == pytest.approx(plan.core_hours / 240)
    assert plan.cost_per_day == pytest.approx(plan.core_hours * 0.5 / 10)
    assert plan.network_per_day == 1000 * 100e6
    assert plan.network_of_rows_per_day == pytest.approx(1e12 * 2048 * 4 / 10)
    assert plan.join_hours == pytest.approx(1000 * 10 * 0.5 / 3600)


def test_a_share_of_the_rows_costs_that_share_of_the_cores_and_ships_as_much():
    whole, some = (planned(ONE, cameras=10, rows=1e9, days=1, share=share) for share in (1.0, 0.01))
    assert some.cost_per_day == pytest.approx(whole.cost_per_day / 100)
    assert some.network_per_day == whole.network_per_day


def test_what_is_measured_is_what_the_library_does():
    measured = measure(64, rounds=1)
    matrix = 8 * 64**2
    assert measured.rows_per_second > 0
    assert 2 * matrix <= measured.shipped_bytes <= 8 * matrix + 10_000
    assert measured.peak_bytes > matrix
    size = {"cameras": 2, "rows": 1e6, "days": 1.0, "price": 1.0, "share": 1.0}
    assert "| core hours |" in told(measured, planned(measured, **size), **size)
