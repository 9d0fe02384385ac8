import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.quality import quality, quality_interval
from undistract.detect.scores import Scores
from undistract.errors import EvidenceWarning, InputError

rows = st.lists(st.tuples(st.integers(0, 6).map(float), st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: len({anomalous for _, anomalous in rows}) == 2
)


def parts(rows):
    return np.array([score for score, _ in rows]), np.array([anomalous for _, anomalous in rows])


@given(rows)
def test_auroc_is_how_often_an_anomaly_outscores_a_normal_row(rows):
    scores, truth = parts(rows)
    ahead = scores[truth][:, None] - scores[~truth]
    assert quality(scores, truth, k=1).auroc == pytest.approx(np.mean((ahead > 0) + 0.5 * (ahead == 0)))


@given(rows)
def test_only_the_order_of_scores_counts(rows):
    scores, truth = parts(rows)
    with np.errstate(divide="ignore"):
        assert quality(np.log(scores), truth, k=1) == quality(scores, truth, k=1)  # log(0) is -inf


@given(rows)
def test_turned_scores_have_the_opposite_auroc(rows):
    scores, truth = parts(rows)
    assert quality(-scores, truth, k=1).auroc == pytest.approx(1 - quality(scores, truth, k=1).auroc)


@given(rows)
def test_the_false_positive_rate_is_the_price_of_nearly_all_anomalies(rows):
    scores, truth = parts(rows)
    limits = [limit for limit in scores if np.mean(scores[truth] >= limit) >= 0.95]
    assert quality(scores, truth, k=1).false_positive_rate == pytest.approx(np.mean(scores[~truth] >= max(limits)))


@given(rows)
def test_precision_at_all_rows_is_the_share_of_anomalies(rows):
    scores, truth = parts(rows)
    assert quality(scores, truth, k=len(truth)).precision_at_k == pytest.approx(truth.mean())


def test_equal_scores_share_the_last_places():
    # One place is left for three rows of score 1, one of them an anomaly.
    assert quality([2, 1, 1, 1, 0], [1, 1, 0, 0, 0], k=2).precision_at_k == pytest.approx((1 + 1 / 3) / 2)


def test_a_perfect_ranking_is_perfect():
    best = quality(Scores("day", [1.0, 2.0, np.nan, 8.0, 9.0]), [0, 0, 1, 1, 1], k=2)
    assert (best.auroc, best.average_precision, best.precision_at_k, best.false_positive_rate) == (1, 1, 1, 0)


def test_the_value_is_the_quality_of_all_rows_together():
    scores, truth = [[3.0, 1.0], [2.0, 5.0, 4.0]], [[1, 0], [0, 1, 0]]
    _, middle, _ = quality_interval(scores, truth, k=2)
    assert middle == quality(np.concatenate(scores), np.concatenate(truth), k=2)


def test_sets_are_resampled_and_not_rows():
    rng = np.random.default_rng(0)
    scores, truth = rng.normal(size=40), np.arange(40) % 2
    low, middle, high = quality_interval([scores] * 5, [truth] * 5, k=5)
    # Equal sets leave nothing to chance, though their rows differ. 1e-12: weighted sums.
    for name in ("auroc", "average_precision", "precision_at_k", "false_positive_rate"):
        assert getattr(low, name) == pytest.approx(getattr(high, name), abs=1e-12)
    # Five copies fill the k first places with one row, so only measures without k equal those of one set.
    assert middle.auroc == pytest.approx(quality(scores, truth).auroc)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    # Sets differ in how far their anomalies stand out; an interval over rows would be far too narrow.
    rng = np.random.default_rng(0)
    truth = [np.arange(30) < 10] * 12

    def draw(n_sets):
        return [rng.normal(size=30) + rng.normal(1.0, 1.0) * truth[0] for _ in range(n_sets)]

    many = draw(4000)
    true = quality(np.concatenate(many), np.tile(truth[0], 4000)).auroc
    found = [quality_interval(draw(12), truth, n_resamples=30, confidence=0.9, seed=seed) for seed in range(25)]
    covered = np.mean([low.auroc <= true <= high.auroc for low, _, high in found])
    # A percentile bootstrap over 12 sets is a little narrow, and 25 repetitions know 0.9 to 0.06.
    assert covered >= 0.75


def test_the_seed_decides_the_interval():
    scores, truth = np.random.default_rng(0).normal(size=(9, 4)), [[0, 0, 1, 1]] * 9
    one, again, other = (quality_interval(scores, truth, n_resamples=20, seed=seed) for seed in (1, 1, 2))
    assert one == again != other


def test_thin_evidence_is_said():
    calm = [[0.1, 0.2]] * 9
    with pytest.warns(EvidenceWarning, match="draws of 10 test sets"):
        quality_interval([*calm, [0.1, 0.9]], [[0, 0]] * 9 + [[1, 1]], k=19, n_resamples=20)
    with pytest.raises(InputError, match="1 test set"):
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
def test_what_cannot_be_measured_is_one_typed_error(scores, truth, k):
    with pytest.raises(InputError, match=r"give|needs"):
        quality(scores, truth, k=k)


@pytest.mark.parametrize("truth", [[0.0, 1.0, np.nan], ["no", "yes", "no"], [None, True, False]], ids=str)
def test_a_truth_that_is_not_known_is_no_anomaly(truth):
    # Whatever was not zero counted as one, and so did what was missing.
    with pytest.raises(InputError, match="give True or 1 for an anomaly"):
        quality([1.0, 2.0, 3.0], truth, k=1)


def test_the_truth_may_come_as_objects():
    assert quality([1.0, 2.0], np.array([False, True], dtype=object), k=1) == quality([1.0, 2.0], [0, 1], k=1)
