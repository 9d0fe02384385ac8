"""A sample of what streams by."""

import numpy as np
import pytest

from undistract import FeatureSet, Focus, FocusDetector, InputError
from undistract.detect.sample import Sample


def test_every_row_is_as_likely_as_any_other():
    rows = FeatureSet("day", np.arange(40.0)[:, None])
    counts = np.zeros(40)
    for seed in range(2000):
        sample = Sample(10, np.random.default_rng(seed))
        list(sample.watch(rows).chunks(7))
        assert len(sample.rows) == 10
        counts[sample.rows[:, 0].astype(int)] += 1
    # 2000 draws at 1/4: a standard deviation of 19 around 500, and forty of them to look at.
    assert np.abs(counts - 500).max() < 5 * 19


def test_the_watched_set_is_the_set():
    one = FeatureSet("day", np.random.default_rng(0).normal(size=(30, 3)), feature_names=["a", "b", "c"])
    watched = Sample(4, np.random.default_rng(0)).watch(one)
    np.testing.assert_array_equal(watched.rows, one.rows)
    assert (watched.name, watched.feature_names) == ("day", ("a", "b", "c"))


def test_a_set_of_fewer_rows_is_kept_whole_and_in_order():
    sample = Sample(10, np.random.default_rng(0))
    list(sample.watch(FeatureSet("day", [[1.0], [2.0], [3.0]])).chunks(2))
    assert sample.rows.tolist() == [[1.0], [2.0], [3.0]]


def test_reading_again_does_not_count_twice():
    sample = Sample(100, np.random.default_rng(0))
    watched = sample.watch(FeatureSet("day", np.ones((20, 2))))
    list(watched.chunks())
    list(watched.chunks())
    assert len(sample.rows) == 20


def days(n_sets=20, n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    light = np.linspace(-30, 30, 8)
    return [
        FeatureSet(day, rng.normal(size=8) + rng.normal(size=(n_rows, 8)) + rng.normal(size=(n_rows, 1)) * light)
        for day in range(n_sets)
    ]


def test_learning_from_a_stream_is_learning_from_rows_where_all_are_known():
    sets = days()
    stream = FocusDetector(Focus()).fit_sets(sets, n_known=20 * 60)
    rows = np.concatenate([one.rows for one in sets])
    whole = FocusDetector(Focus()).fit(rows, sets=np.repeat(np.arange(20), 60))
    assert stream.focus_.n_removed_ == whole.focus_.n_removed_ == 1
    new = days(1, seed=9)[0].rows
    np.testing.assert_allclose(stream.anomaly_score(new), whole.anomaly_score(new), rtol=1e-9)
    # There, focus too is learned without the held-out sets, so the thresholds differ a little.
    assert stream.threshold_.value == pytest.approx(whole.threshold_.value, rel=0.05)


def test_a_threshold_from_a_sample_keeps_its_word_on_new_days():
    watch = FocusDetector(Focus(), threshold=0.05).fit_sets(days(30), n_known=900)
    alarms = [np.mean(watch.predict(one.rows) == -1) for one in days(40, seed=5)]
    assert 0.02 < np.mean(alarms) < 0.09  # 2400 rows of 40 days


def test_too_small_a_sample_is_refused():
    with pytest.raises(InputError, match="n_known is 30 for 20 sets; give at least two rows for each"):
        FocusDetector(Focus()).fit_sets(days(), n_known=30)
