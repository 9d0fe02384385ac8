import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.base import Scores
from undistract.detect.metrics import quality, quality_interval
from undistract.errors import EvidenceWarning, InputError

rows = st.lists(st.tuples(st.integers(0, 6).map(float), st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: len({anomalous for _, anomalous in rows}) == 2
)


def parts(rows):
    return np.array([score for score, _ in rows]), np.array([anomalous for _, anomalous in rows])


@given(rows)
def test_auroc_is_probability_that_an_anomaly_scores_higher(rows):
    scores, truth = parts(rows)
    ahead = scores[truth][:, None] - scores[~truth]
    assert quality(scores, truth, k=1).auroc == pytest.approx(np.mean((ahead > 0) + 0.5 * (ahead == 0)))


@given(rows)
def test_only_the_order_of_scores_matters(rows):
    scores, truth = parts(rows)
    with np.errstate(divide="ignore"):
        assert quality(np.log(scores), truth, k=1) == quality(scores, truth, k=1)  # log(0) is -inf


@given(rows)
def test_negated_scores_have_the_opposite_auroc(rows):
    scores, truth = parts(rows)
    assert quality(-scores, truth, k=1).auroc == pytest.approx(1 - quality(scores, truth, k=1).auroc)


@given(rows)
def test_false_positive_rate_at_95_percent_recall(rows):
    scores, truth = parts(rows)
    limits = [limit for limit in scores if np.mean(scores[truth] >= limit) >= 0.95]
    assert quality(scores, truth, k=1).false_positive_rate == pytest.approx(np.mean(scores[~truth] >= max(limits)))


@given(rows)
def test_precision_at_all_rows_is_the_share_of_anomalies(rows):
    scores, truth = parts(rows)
    assert quality(scores, truth, k=len(truth)).precision_at_k == pytest.approx(truth.mean())


def test_ties_at_k_are_averaged():
    # One of three rows with score 1 is among the first two; one of the three is an anomaly.
    assert quality([2, 1, 1, 1, 0], [1, 1, 0, 0, 0], k=2).precision_at_k == pytest.approx((1 + 1 / 3) / 2)


def test_a_perfect_ranking_is_perfect():
    best = quality(Scores("day", [1.0, 2.0, np.nan, 8.0, 9.0]), [0, 0, 1, 1, 1], k=2)
    assert (best.auroc, best.average_precision, best.precision_at_k, best.false_positive_rate) == (1, 1, 1, 0)


def test_value_is_quality_of_all_rows():
    scores, truth = [[3.0, 1.0], [2.0, 5.0, 4.0]], [[1, 0], [0, 1, 0]]
    _, middle, _ = quality_interval(scores, truth, k=2)
    assert middle == quality(np.concatenate(scores), np.concatenate(truth), k=2)


def test_groups_are_resampled_not_rows():
    rng = np.random.default_rng(0)
    scores, truth = rng.normal(size=40), np.arange(40) % 2
    low, middle, high = quality_interval([scores] * 5, [truth] * 5, k=5)
    # With equal groups the interval is a point, although rows differ. 1e-12: weighted sums.
    for name in ("auroc", "average_precision", "precision_at_k", "false_positive_rate"):
        assert getattr(low, name) == pytest.approx(getattr(high, name), abs=1e-12)
    # Five copies of one row are the first k rows, so only metrics without k equal those of one group.
    assert middle.auroc == pytest.approx(quality(scores, truth).auroc)


def test_interval_has_nominal_coverage():
    # Groups differ in the size of their anomalies; an interval over rows would be far too narrow.
    rng = np.random.default_rng(0)
    truth = [np.arange(30) < 10] * 12

    def draw(n_groups):
        return [rng.normal(size=30) + rng.normal(1.0, 1.0) * truth[0] for _ in range(n_groups)]

    many = draw(4000)
    true = quality(np.concatenate(many), np.tile(truth[0], 4000)).auroc
    intervals = [quality_interval(draw(12), truth, n_resamples=30, confidence=0.9, seed=seed) for seed in range(25)]
    covered = np.mean([low.auroc <= true <= high.auroc for low, _, high in intervals])
    # A percentile bootstrap over 12 groups is slightly narrow, and 25 repetitions have an error of 0.06.
    assert covered >= 0.75


def test_seed_determines_interval():
    scores, truth = np.random.default_rng(0).normal(size=(9, 4)), [[0, 0, 1, 1]] * 9
    first, again, other = (quality_interval(scores, truth, n_resamples=20, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_little_evidence_warns_or_raises():
    calm = [[0.1, 0.2]] * 9
    with pytest.warns(EvidenceWarning, match="draws of 10 test groups"):
        quality_interval([*calm, [0.1, 0.9]], [[0, 0]] * 9 + [[1, 1]], k=19, n_resamples=20)
    with pytest.raises(InputError, match="at least 2 test groups, got 1"):
        quality_interval([[1.0, 2.0]], [[0, 1]])


@pytest.mark.parametrize(
    ("scores", "truth", "k"),
    [
        ([1.0, 2.0], [0, 0], 1),
        ([1.0, 2.0], [1, 1], 1),
        ([1.0, np.nan], [0, 1], 1),
        ([np.nan, np.nan], [0, 1], 1),
        ([1.0, 2.0], [0, 1], 3),
        ([1.0, 2.0], [0, 1], 0),
        ([1.0, 2.0], [0, 1, 1], 1),
        ([], [], 1),
        ([[1.0, 2.0]], [[0, 1]], 1),
        (["a", "b"], [0, 1], 1),
    ],
)
def test_invalid_scores_or_labels_raise_input_error(scores, truth, k):
    with pytest.raises(InputError, match=r"must|needs"):
        quality(scores, truth, k=k)


@pytest.mark.parametrize("truth", [[0.0, 1.0, np.nan], ["no", "yes", "no"], [None, True, False]], ids=str)
def test_missing_or_text_labels_raise_input_error(truth):
    # Regression: any value other than zero counted as an anomaly, missing ones too.
    with pytest.raises(InputError, match="must be True or 1 for an anomaly"):
        quality([1.0, 2.0, 3.0], truth, k=1)


def test_labels_may_be_objects():
    assert quality([1.0, 2.0], np.array([False, True], dtype=object), k=1) == quality([1.0, 2.0], [0, 1], k=1)
