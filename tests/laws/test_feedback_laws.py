"""Laws of feedback: independent of order, can be undone without a trace; confirmed anomalies stay visible."""

from uuid import UUID

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from undistract import Focus, FocusDetector, Moments, NearestDetector, Source, Spectrum
from undistract.algebra import Feedback, select_directions
from undistract.algebra.feedback import DEVIATIONS_TO_REMOVE, MIN_VISIBLE, apply_feedback, protect_directions
from undistract.errors import InputError
from undistract.pipeline.model import Model
from undistract.pipeline.verdicts import FeedbackItem, Verdict

from .strategies import law, plain_groups, relative, seeds, wide_groups

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


@st.composite
def taught_moments(draw, groups=None):
    rows = draw(groups if groups is not None else st.one_of(plain_groups(), wide_groups()))
    moments = Moments.of(rows)
    rng = np.random.default_rng(draw(seeds))
    spread = np.sqrt(np.diag(moments.total).mean()) or 1.0
    ignored = rng.normal(size=(draw(st.integers(1, 5)), moments.n_features)) * spread
    confirmed = rng.normal(size=(draw(st.integers(0, 3)), moments.n_features)) * spread
    return moments, Feedback(ignored, rng.uniform(0.1, 5, size=len(ignored)), confirmed)


def lesson(number, answer, evidence, **more):
    return FeedbackItem(Verdict(str(UUID(int=number)), "match", number, number + 1, number, answer, **more), evidence)


def day_groups(n_groups=6, n_features=16):
    rng = np.random.default_rng(0)
    return [Source(day, rng.normal(size=n_features) + rng.normal(size=(12, n_features))) for day in range(n_groups)]


@pytest.fixture(scope="module")
def watch():
    return FocusDetector(Focus(), NearestDetector(n_neighbors=3)).fit_groups(day_groups())


@pytest.fixture(scope="module")
def focus():
    return Focus().fit_groups(day_groups())


@st.composite
def lessons_about(draw, n_features=16):
    rng = np.random.default_rng(draw(seeds))
    answers = draw(st.lists(st.sampled_from(["false_alarm", "anomaly", "unsure", "calm"]), min_size=1, max_size=8))
    evidence = {"false_alarm": (n_features,), "anomaly": (n_features,), "calm": (7, n_features)}
    return [
        lesson(number, answer, rng.normal(size=evidence[answer]) * 4 if answer in evidence else None)
        for number, answer in enumerate(answers)
    ]


def state_of(learned):
    """Return all fitted numbers."""
    if isinstance(learned, Focus):
        return [learned.components_, learned.distraction_, learned.filters_, learned.moments_.within]
    numbers = [learned.scores_, learned.detector_.scores_, np.array(learned.threshold_.value), *learned.known_]
    return state_of(learned.focus_) + numbers


def same_bits(first, second):
    return all(np.array_equal(a, b) for a, b in zip(state_of(first), state_of(second), strict=True))


def after_all(learned, lessons):
    """Return the remaining feedback after some of it is undone."""
    model = Model(learned).with_feedback(lessons)
    return lambda rest: model.with_feedback(rest).detector


def learned(moments, taught):
    """Return the spectrum of the groups, its number of removed directions, and both after feedback."""
    spectrum = Spectrum.of(moments)
    try:
        n_removed = select_directions(spectrum).n_removed
        return spectrum, n_removed, *apply_feedback(spectrum, n_removed, taught)
    except InputError:  # all directions would be removed
        assume(False)


def within(moments, taught):
    """Return the formula."""
    typical = Spectrum.of(moments).distraction.sum()
    added = (taught.ignored * taught.weights[:, None]).T @ taught.ignored
    return moments.within + 19 / (DEVIATIONS_TO_REMOVE * typical) * added


@law
@given(taught_moments())
def test_distraction_stays_in_range_after_feedback(example):
    _, _, spectrum, _ = learned(*example)
    assert (spectrum.distraction >= 0).all()
    assert (spectrum.distraction <= 1).all()
    assert (spectrum.debiased <= 1 + 1e-9).all()
    assert (spectrum.feedback_share <= 1).all()
    # Filters and patterns are still biorthogonal.
    n = len(spectrum.distraction)
    assert np.abs(spectrum.filters.T @ spectrum.patterns - np.eye(n)).max() < 1e-6


@law
@given(taught_moments(groups=plain_groups()))
def test_directions_solve_the_problem_with_added_within_group_variance(example):
    moments, taught = example
    start = Spectrum.of(moments)
    assume(len(taught.ignored) < moments.n_features)
    updated, _ = apply_feedback(start, 0, Feedback(taught.ignored, taught.weights))
    inside = within(moments, taught)
    metric = inside + moments.between + start.ridge * np.eye(moments.n_features)
    if (np.diag(moments.total) > 0).all():
        product, expected = inside @ updated.filters, metric @ updated.filters * updated.distraction
        assert np.abs(product - expected).max() < 1e-6 * np.abs(expected).max()


@law
@given(taught_moments())
def test_directions_removed_by_groups_stay_removed(example):
    start, n_before, spectrum, n_removed = learned(*example)
    assert n_removed >= n_before
    before, after = start.patterns[:, :n_before], spectrum.patterns[:, :n_removed]
    if n_before:
        basis = np.linalg.qr(after)[0]
        assert relative(basis @ (basis.T @ before), before) < 1e-6


@law
@given(taught_moments(groups=wide_groups()))
def test_few_rows_and_matrices_give_the_same_feedback(example):
    moments, taught = example
    few, many = (apply_feedback(Spectrum.of(some), 0, taught) for some in (moments, moments.without_rows()))
    assert few[1] == many[1]
    spans = [np.linalg.qr(spectrum.patterns[:, :n])[0] for spectrum, n in (few, many)]
    assert np.abs(spans[0] @ spans[0].T - spans[1] @ spans[1].T).max() < 1e-6


@law
@given(taught_moments(), st.integers(1, 4))
def test_confirmed_anomaly_keeps_half_of_its_length_or_of_a_normal_row(example, n_removed):
    moments, taught = example
    spectrum = Spectrum.of(moments)
    n_removed = min(n_removed, spectrum.n_varying)
    gone = np.linalg.qr(spectrum.patterns[:, :n_removed])[0]
    normal = np.trace(moments.within) - np.trace(gone.T @ moments.within @ gone)
    turned, n_left = protect_directions(spectrum, n_removed, taught.confirmed)
    assert n_removed - len(taught.confirmed) <= n_left <= n_removed
    basis = np.linalg.qr(turned.patterns[:, :n_left])[0]
    for anomaly in taught.confirmed:
        size = (anomaly**2).sum()
        visible = size - ((anomaly @ basis) ** 2).sum()
        assert visible >= MIN_VISIBLE * min(size, normal) - 1e-9 * (size + np.trace(moments.within))
    # Only rotated: the removed span is a part of the one before, and readings stay independent.
    wanted = np.linalg.qr(spectrum.patterns[:, :n_removed])[0]
    assert relative(wanted @ (wanted.T @ basis), basis) < 1e-6 if n_left else True
    metric = spectrum.filters.T @ spectrum.patterns
    assert np.abs(turned.filters.T @ turned.patterns - metric).max() < 1e-6


def test_anomaly_hidden_by_the_groups_keeps_nothing():
    rng = np.random.default_rng(0)
    moments = Moments.of([rng.normal([3 * m, 0, 0, 0], [1, 9, 1, 1], size=(100, 4)) for m in range(10)])
    spectrum = Spectrum.of(moments)
    removed, ignored = spectrum.patterns[:, 0], np.array([0.0, 0.0, 40.0, 0.0])
    assert apply_feedback(spectrum, 1, Feedback([ignored], confirmed=[removed]))[1] == 2


def test_anomaly_with_nuisance_does_not_restore_the_nuisance():
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal(size=(10, 40, 6)) + rng.normal(size=(10, 1, 6)))
    light, outline = 50 * np.eye(6)[:2]
    ignored = Focus().fit_moments(moments, feedback=Feedback([light]))
    strange = Focus().fit_moments(moments, feedback=Feedback([light], confirmed=[2 * light + outline / 5]))
    vanished = Focus().fit_moments(moments, feedback=Feedback([light], confirmed=[2 * light + outline / 100]))
    assert (ignored.n_removed_, strange.n_removed_, vanished.n_removed_) == (1, 1, 0)


@law
@given(lessons_about(), st.randoms())
def test_order_of_feedback_does_not_matter_to_the_bit(focus, lessons, random):
    shuffled = random.sample(lessons, len(lessons))
    assert same_bits(Model(focus).with_feedback(lessons).detector, Model(focus).with_feedback(shuffled).detector)


@law
@given(lessons_about(), st.data())
def test_undone_feedback_leaves_no_trace(focus, lessons, data):
    gone = data.draw(st.integers(0, len(lessons) - 1))
    rest = lessons[:gone] + lessons[gone + 1 :]
    taught_again = after_all(focus, lessons)
    assert same_bits(taught_again(rest), Model(focus).with_feedback(rest).detector)
    assert same_bits(taught_again(lessons), Model(focus).with_feedback(lessons).detector)
    assert same_bits(taught_again([]), focus)


def test_detector_with_undone_feedback_has_no_trace(watch):
    rng = np.random.default_rng(3)
    lessons = [
        lesson(1, "false_alarm", rng.normal(size=16) * 9),
        lesson(2, "calm", rng.normal(size=(9, 16))),
        lesson(3, "anomaly", rng.normal(size=16) * 9),
    ]
    taught_again = after_all(watch, lessons)
    assert not same_bits(Model(watch).with_feedback(lessons[:1]).detector, watch)
    assert same_bits(taught_again(lessons[:1]), Model(watch).with_feedback(lessons[:1]).detector)
    assert same_bits(taught_again([]), watch)


@law
@given(lessons_about())
def test_unsure_verdicts_change_nothing(focus, lessons):
    sure = [lesson for lesson in lessons if lesson.verdict.answer != "unsure"]
    assert same_bits(Model(focus).with_feedback(lessons).detector, Model(focus).with_feedback(sure).detector)


def test_normal_verdict_adds_a_group(watch):
    rows = np.random.default_rng(1).normal(size=(40, 16))
    taught = Model(watch).with_feedback([lesson(1, "calm", rows)]).detector
    expected = Focus().fit_groups([*day_groups(), Source("more", rows)])
    assert taught.focus_.moments_.n_groups == 7
    assert np.allclose(taught.focus_.moments_.within, expected.moments_.within, rtol=1e-12)
    assert len(taught.known_) == 7


def test_feedback_is_removed_even_with_few_groups():
    rng = np.random.default_rng(0)
    moments = Moments.of([rng.normal(size=(20, 60)) * np.exp(2 * rng.normal(size=60)) for _ in range(3)])
    shake = np.ones(60)
    assert Focus().fit_moments(moments).n_removed_ == 0
    after = Focus().fit_moments(moments, feedback=Feedback([20 * shake] * 3))
    assert after.n_removed_ == 1
    assert after.projection_.ignored_share(shake[None, :])[0] > 0.9


def test_one_large_deviation_is_enough_and_a_modest_one_is_not():
    rng = np.random.default_rng(0)
    for n_features in (4, 20, 200):  # any number of features
        moments = Moments.of(rng.normal(size=n_features) + rng.normal(size=(50, n_features)) for _ in range(80))
        direction = rng.normal(size=n_features)
        far = direction / np.linalg.norm(direction) * np.sqrt(n_features)  # as long as a typical row
        assert Focus().fit_moments(moments, feedback=Feedback([far / 2])).n_removed_ == 0
        assert Focus().fit_moments(moments, feedback=Feedback([2 * far])).n_removed_ == 1
        assert Focus().fit_moments(moments, feedback=Feedback([far / 2] * 8)).n_removed_ == 1
        assert Focus().fit_moments(moments, feedback=Feedback([far / 2], [8.0])).n_removed_ == 1


def test_units_do_not_matter_to_feedback():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=9) + rng.normal(size=(50, 9)) for _ in range(80)]
    shake = rng.normal(size=(3, 9)) * 4
    small = Focus().fit_moments(Moments.of(groups), feedback=Feedback(shake))
    large = Focus().fit_moments(Moments.of([1000 * rows for rows in groups]), feedback=Feedback(1000 * shake))
    assert small.n_removed_ == large.n_removed_ == 3
    assert np.allclose(small.distraction_, large.distraction_)


def test_ignoring_everything_is_an_error():
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal(size=3) + rng.normal(size=(50, 3)) for _ in range(80))
    with pytest.raises(InputError, match=r"would remove all 3 directions. Undo some answers"):
        Focus().fit_moments(moments, feedback=Feedback(90 * np.eye(3)))


@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique"])
def test_all_kinds_of_removal_apply_feedback(removal):
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal(size=9) + rng.normal(size=(50, 9)) for _ in range(80))
    shake = rng.normal(size=9) * 9
    focus = Focus(removal=removal).fit_moments(moments, feedback=Feedback([shake]))
    moved = focus.transform(np.stack([moments.mean, moments.mean + shake]))
    # The removed direction is pulled a little towards the existing variance.
    assert np.linalg.norm(moved[1] - moved[0]) < 0.2 * np.linalg.norm(shake)
