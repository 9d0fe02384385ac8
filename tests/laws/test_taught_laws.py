"""What people teach: any order, any number of times, taken back without a trace; what they confirm stays visible."""

from uuid import UUID

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from undistract import FeatureSet, Focus, FocusDetector, Moments, NearestDetector, Spectrum
from undistract.algebra import Taught, cut
from undistract.algebra.taught import LEAST_SEEN, PATIENCE, protect, teach
from undistract.errors import InputError
from undistract.review.feedback import Lesson, Teachable
from undistract.review.verdicts import Verdict

from .strategies import law, plain_sets, relative, seeds, wide_sets

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


@st.composite
def taught_moments(draw, sets=None):
    rows = draw(sets if sets is not None else st.one_of(plain_sets(), wide_sets()))
    moments = Moments.of(rows)
    rng = np.random.default_rng(draw(seeds))
    spread = np.sqrt(np.diag(moments.total).mean()) or 1.0
    familiar = rng.normal(size=(draw(st.integers(1, 5)), moments.n_features)) * spread
    protected = rng.normal(size=(draw(st.integers(0, 3)), moments.n_features)) * spread
    return moments, Taught(familiar, rng.uniform(0.1, 5, size=len(familiar)), protected)


def lesson(number, answer, evidence, **more):
    return Lesson(Verdict(str(UUID(int=number)), "match", number, number + 1, number, answer, **more), evidence)


def day_sets(n_sets=6, n_features=16):
    rng = np.random.default_rng(0)
    return [FeatureSet(day, rng.normal(size=n_features) + rng.normal(size=(12, n_features))) for day in range(n_sets)]


@pytest.fixture(scope="module")
def watch():
    return FocusDetector(Focus(), NearestDetector(n_neighbors=3)).fit_sets(day_sets())


@pytest.fixture(scope="module")
def focus():
    return Focus().fit_sets(day_sets())


@st.composite
def lessons_about(draw, n_features=16):
    rng = np.random.default_rng(draw(seeds))
    answers = draw(st.lists(st.sampled_from(["familiar", "anomaly", "unsure", "calm"]), min_size=1, max_size=8))
    evidence = {"familiar": (n_features,), "anomaly": (n_features,), "calm": (7, n_features)}
    return [
        lesson(number, answer, rng.normal(size=evidence[answer]) * 4 if answer in evidence else None)
        for number, answer in enumerate(answers)
    ]


def state_of(learned):
    """Every number that was learned."""
    if isinstance(learned, Focus):
        return [learned.components_, learned.distraction_, learned.filters_, learned.moments_.within]
    numbers = [learned.scores_, learned.detector_.scores_, np.array(learned.threshold_.value), *learned.known_]
    return state_of(learned.focus_) + numbers


def same_bits(one, other):
    return all(np.array_equal(a, b) for a, b in zip(state_of(one), state_of(other), strict=True))


def after_all(learned, lessons):
    """What remains when lessons were taught and some of them taken back: the learned thing is taught again."""
    teachable = Teachable(learned)
    return lambda rest: Teachable(teachable.taught(lessons), teachable.training).taught(rest)


def learned(moments, taught):
    """The spectrum of the sets, what goes of it, and both after people taught."""
    spectrum = Spectrum.of(moments)
    try:
        n_removed = cut(spectrum).n_removed
        return spectrum, n_removed, *teach(spectrum, n_removed, taught)
    except InputError:  # everything would go
        assume(False)


def within(moments, taught):
    """The formula, to the letter."""
    typical = Spectrum.of(moments).distraction.sum()
    said = (taught.familiar * taught.strengths[:, None]).T @ taught.familiar
    return moments.within + 19 / (PATIENCE * typical) * said


@law
@given(taught_moments())
def test_what_people_say_never_leaves_the_range_of_distraction(example):
    _, _, spectrum, _ = learned(*example)
    assert (spectrum.distraction >= 0).all()
    assert (spectrum.distraction <= 1).all()
    assert (spectrum.debiased <= 1 + 1e-9).all()
    assert (spectrum.taught <= 1).all()
    # Filters still read each pattern by itself.
    n = len(spectrum.distraction)
    assert np.abs(spectrum.filters.T @ spectrum.patterns - np.eye(n)).max() < 1e-6


@law
@given(taught_moments(sets=plain_sets()))
def test_directions_solve_the_problem_with_more_variation_inside_sets(example):
    moments, taught = example
    start = Spectrum.of(moments)
    assume(len(taught.familiar) < moments.n_features)
    found, _ = teach(start, 0, Taught(taught.familiar, taught.strengths))
    inside = within(moments, taught)
    metric = inside + moments.between + start.cushion * np.eye(moments.n_features)
    if (np.diag(moments.total) > 0).all():
        left, right = inside @ found.filters, metric @ found.filters * found.distraction
        assert np.abs(left - right).max() < 1e-6 * np.abs(right).max()


@law
@given(taught_moments())
def test_what_the_sets_showed_goes_as_before(example):
    start, n_before, spectrum, n_removed = learned(*example)
    assert n_removed >= n_before
    before, after = start.patterns[:, :n_before], spectrum.patterns[:, :n_removed]
    if n_before:
        basis = np.linalg.qr(after)[0]
        assert relative(basis @ (basis.T @ before), before) < 1e-6


@law
@given(taught_moments(sets=wide_sets()))
def test_few_rows_and_many_give_the_same_when_people_teach(example):
    moments, taught = example
    few, many = (teach(Spectrum.of(some), 0, taught) for some in (moments, moments.without_rows()))
    assert few[1] == many[1]
    spans = [np.linalg.qr(spectrum.patterns[:, :n])[0] for spectrum, n in (few, many)]
    assert np.abs(spans[0] @ spans[0].T - spans[1] @ spans[1].T).max() < 1e-6


@law
@given(taught_moments(), st.integers(1, 4))
def test_a_confirmed_anomaly_keeps_half_of_its_length_or_of_a_normal_row(example, n_removed):
    moments, taught = example
    spectrum = Spectrum.of(moments)
    n_removed = min(n_removed, spectrum.n_moving)
    gone = np.linalg.qr(spectrum.patterns[:, :n_removed])[0]
    normal = np.trace(moments.within) - np.trace(gone.T @ moments.within @ gone)
    turned, n_left = protect(spectrum, n_removed, taught.protected)
    assert n_removed - len(taught.protected) <= n_left <= n_removed
    basis = np.linalg.qr(turned.patterns[:, :n_left])[0]
    for anomaly in taught.protected:
        size = (anomaly**2).sum()
        left = size - ((anomaly @ basis) ** 2).sum()
        assert left >= LEAST_SEEN * min(size, normal) - 1e-9 * (size + np.trace(moments.within))
    # Turned, not changed: what is removed lies in what would have been, and readings stay independent.
    wanted = np.linalg.qr(spectrum.patterns[:, :n_removed])[0]
    assert relative(wanted @ (wanted.T @ basis), basis) < 1e-6 if n_left else True
    metric = spectrum.filters.T @ spectrum.patterns
    assert np.abs(turned.filters.T @ turned.patterns - metric).max() < 1e-6


def test_an_anomaly_that_the_sets_hide_gives_nothing_back():
    rng = np.random.default_rng(0)
    moments = Moments.of([rng.normal([3 * m, 0, 0, 0], [1, 9, 1, 1], size=(100, 4)) for m in range(10)])
    spectrum = Spectrum.of(moments)
    gone, told = spectrum.patterns[:, 0], np.array([0.0, 0.0, 40.0, 0.0])
    assert teach(spectrum, 1, Taught([told], protected=[gone]))[1] == 2


def test_a_stranger_in_the_light_does_not_give_the_light_back():
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal(size=(10, 40, 6)) + rng.normal(size=(10, 1, 6)))
    light, outline = 50 * np.eye(6)[:2]
    familiar = Focus().fit_moments(moments, taught=Taught([light]))
    strange = Focus().fit_moments(moments, taught=Taught([light], protected=[2 * light + outline / 5]))
    vanished = Focus().fit_moments(moments, taught=Taught([light], protected=[2 * light + outline / 100]))
    assert (familiar.n_removed_, strange.n_removed_, vanished.n_removed_) == (1, 1, 0)


@law
@given(lessons_about(), st.randoms())
def test_the_order_of_lessons_does_not_matter_to_the_bit(focus, lessons, random):
    shuffled = random.sample(lessons, len(lessons))
    assert same_bits(Teachable(focus).taught(lessons), Teachable(focus).taught(shuffled))


@law
@given(lessons_about(), st.data())
def test_a_lesson_that_is_taken_back_leaves_no_trace(focus, lessons, data):
    gone = data.draw(st.integers(0, len(lessons) - 1))
    rest = lessons[:gone] + lessons[gone + 1 :]
    taught_again = after_all(focus, lessons)
    assert same_bits(taught_again(rest), Teachable(focus).taught(rest))
    assert same_bits(taught_again(lessons), Teachable(focus).taught(lessons))
    assert same_bits(taught_again([]), focus)


def test_a_watch_that_was_taught_forgets_without_a_trace(watch):
    rng = np.random.default_rng(3)
    lessons = [
        lesson(1, "familiar", rng.normal(size=16) * 9),
        lesson(2, "calm", rng.normal(size=(9, 16))),
        lesson(3, "anomaly", rng.normal(size=16) * 9),
    ]
    taught_again = after_all(watch, lessons)
    assert not same_bits(Teachable(watch).taught(lessons[:1]), watch)
    assert same_bits(taught_again(lessons[:1]), Teachable(watch).taught(lessons[:1]))
    assert same_bits(taught_again([]), watch)


@law
@given(lessons_about())
def test_unsure_teaches_nothing(focus, lessons):
    sure = [one for one in lessons if one.verdict.answer != "unsure"]
    assert same_bits(Teachable(focus).taught(lessons), Teachable(focus).taught(sure))


def test_a_calm_stretch_is_one_more_set(watch):
    rows = np.random.default_rng(1).normal(size=(40, 16))
    taught = Teachable(watch).taught([lesson(1, "calm", rows)])
    whole = Focus().fit_sets([*day_sets(), FeatureSet("more", rows)])
    assert taught.focus_.moments_.n_sets == 7
    assert np.allclose(taught.focus_.moments_.within, whole.moments_.within, rtol=1e-12)
    assert len(taught.known_) == 7


def test_what_people_told_goes_even_where_sets_are_too_few_to_tell():
    rng = np.random.default_rng(0)
    moments = Moments.of([rng.normal(size=(20, 60)) * np.exp(2 * rng.normal(size=60)) for _ in range(3)])
    shake = np.ones(60)
    assert Focus().fit_moments(moments).n_removed_ == 0
    after = Focus().fit_moments(moments, taught=Taught([20 * shake] * 3))
    assert after.n_removed_ == 1
    assert after.projection_.ignored_share(shake[None, :])[0] > 0.9


def test_one_row_that_lies_far_out_is_enough_and_a_modest_one_is_not():
    rng = np.random.default_rng(0)
    for n_features in (4, 20, 200):  # whatever their number
        moments = Moments.of(rng.normal(size=n_features) + rng.normal(size=(50, n_features)) for _ in range(80))
        direction = rng.normal(size=n_features)
        far = direction / np.linalg.norm(direction) * np.sqrt(n_features)  # as long as a typical row
        assert Focus().fit_moments(moments, taught=Taught([far / 2])).n_removed_ == 0
        assert Focus().fit_moments(moments, taught=Taught([2 * far])).n_removed_ == 1
        assert Focus().fit_moments(moments, taught=Taught([far / 2] * 8)).n_removed_ == 1
        assert Focus().fit_moments(moments, taught=Taught([far / 2], [8.0])).n_removed_ == 1


def test_units_do_not_matter_to_what_people_teach():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=9) + rng.normal(size=(50, 9)) for _ in range(80)]
    shake = rng.normal(size=(3, 9)) * 4
    small = Focus().fit_moments(Moments.of(sets), taught=Taught(shake))
    large = Focus().fit_moments(Moments.of([1000 * rows for rows in sets]), taught=Taught(1000 * shake))
    assert small.n_removed_ == large.n_removed_ == 3
    assert np.allclose(small.distraction_, large.distraction_)


def test_everything_cannot_be_ignored():
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal(size=3) + rng.normal(size=(50, 3)) for _ in range(80))
    with pytest.raises(InputError, match=r"all 3 directions would be ignored .* Take some answers back"):
        Focus().fit_moments(moments, taught=Taught(90 * np.eye(3)))


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique"])
def test_every_kind_of_removal_takes_out_what_people_told(removal):
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal(size=9) + rng.normal(size=(50, 9)) for _ in range(80))
    shake = rng.normal(size=9) * 9
    focus = Focus(removal=removal).fit_moments(moments, taught=Taught([shake]))
    moved = focus.transform(np.stack([moments.mean, moments.mean + shake]))
    # The direction that goes is drawn a little towards what varies anyway.
    assert np.linalg.norm(moved[1] - moved[0]) < 0.2 * np.linalg.norm(shake)
