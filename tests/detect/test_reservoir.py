"""Reservoir samples of sources."""

import numpy as np
import pytest

from undistract import Focus, FocusDetector, InputError, Source
from undistract.detect.reservoir import ReservoirSample


def test_rows_are_sampled_uniformly():
    rows = Source("day", np.arange(40.0)[:, None])
    counts = np.zeros(40)
    for seed in range(2000):
        sample = ReservoirSample(10, np.random.default_rng(seed))
        list(sample.watch(rows).chunks(7))
        assert len(sample.rows) == 10
        counts[sample.rows[:, 0].astype(int)] += 1
    # 2000 draws at 1/4: a standard deviation of 19 around 500, for forty rows.
    assert np.abs(counts - 500).max() < 5 * 19


def test_sampled_source_has_the_same_rows_and_names():
    source = Source("day", np.random.default_rng(0).normal(size=(30, 3)), feature_names=["a", "b", "c"])
    sampled = ReservoirSample(4, np.random.default_rng(0)).watch(source)
    np.testing.assert_array_equal(sampled.rows, source.rows)
    assert (sampled.name, sampled.feature_names) == ("day", ("a", "b", "c"))


def test_short_source_is_kept_completely_and_in_order():
    sample = ReservoirSample(10, np.random.default_rng(0))
    list(sample.watch(Source("day", [[1.0], [2.0], [3.0]])).chunks(2))
    assert sample.rows.tolist() == [[1.0], [2.0], [3.0]]


def test_second_read_replaces_the_sample():
    sample = ReservoirSample(100, np.random.default_rng(0))
    sampled = sample.watch(Source("day", np.ones((20, 2))))
    list(sampled.chunks())
    list(sampled.chunks())
    assert len(sample.rows) == 20


def days(n_groups=20, n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    light = np.linspace(-30, 30, 8)
    return [
        Source(day, rng.normal(size=8) + rng.normal(size=(n_rows, 8)) + rng.normal(size=(n_rows, 1)) * light)
        for day in range(n_groups)
    ]


def test_fit_groups_with_full_sample_equals_fit():
    groups = days()
    stream = FocusDetector(Focus()).fit_groups(groups, n_known=20 * 60)
    rows = np.concatenate([source.rows for source in groups])
    reference = FocusDetector(Focus()).fit(rows, groups=np.repeat(np.arange(20), 60))
    assert stream.focus_.n_removed_ == reference.focus_.n_removed_ == 1
    new = days(1, seed=9)[0].rows
    np.testing.assert_allclose(stream.anomaly_score(new), reference.anomaly_score(new), rtol=1e-9)
    # `fit` also refits the focus without the held-out groups, so thresholds differ slightly.
    assert stream.threshold_.value == pytest.approx(reference.threshold_.value, rel=0.05)


def test_threshold_from_a_sample_keeps_its_rate_on_new_days():
    model = FocusDetector(Focus(), threshold=0.05).fit_groups(days(30), n_known=900)
    alarms = [np.mean(model.predict(source.rows) == -1) for source in days(40, seed=5)]
    assert 0.02 < np.mean(alarms) < 0.09  # 2400 rows of 40 days


def test_too_small_sample_raises_input_error():
    with pytest.raises(InputError, match="n_known must be at least two rows per source, got 30 for 20 sources"):
        FocusDetector(Focus()).fit_groups(days(), n_known=30)
