"""Laws of active verdicts: order and repetition do not matter, and a withdrawal is exact."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.strategies import law, seeds
from tests.review.making import random_events, stands_by_definition
from undistract.review import ActiveVerdicts, Verdict, Withdrawal, active_verdicts, event_from_json

counts = st.integers(0, 60)
moments = st.floats(0, 60)


def same(one, other):
    """Return True if the verdicts are the same and in the same order."""
    return list(one.items()) == list(other.items())


def drawn(seed, count):
    return random_events(seed, count, n_items=4)


@law
@given(seeds, counts, moments)
def test_active_verdicts_are_those_of_the_definition(seed, count, now):
    events = drawn(seed, count)
    assert same(active_verdicts(events, now=now), stands_by_definition(events, now))


@law
@given(seeds, counts, moments)
def test_order_and_repetition_do_not_matter(seed, count, now):
    events = drawn(seed, count)
    chance = random.Random(seed)
    mixed = events + [chance.choice(events) for _ in events]
    chance.shuffle(mixed)
    assert same(active_verdicts(mixed, now=now), active_verdicts(events, now=now))


@law
@given(seeds, counts, moments)
def test_live_fold_equals_the_fold_of_the_log_at_every_step(seed, count, now):
    events, live = drawn(seed, count), ActiveVerdicts()
    for place, event in enumerate(events):
        live.add(event)
        assert same(live.verdicts(now), active_verdicts(events[: place + 1], now=now))


@law
@given(seeds, counts, moments)
def test_withdrawal_equals_never_having_recorded_the_verdict(seed, count, now):
    events = drawn(seed, count + 1)
    one = next(event for event in events if isinstance(event, Verdict))
    back = Withdrawal("0" * 8 + "-0000-0000-0000-" + "0" * 12, of=one.key)
    without = [event for event in events if event != one]
    assert same(active_verdicts([*events, back], now=now), active_verdicts(without, now=now))
    assert same(active_verdicts([back, *events], now=now), active_verdicts(without, now=now))


@law
@given(seeds, counts, moments)
def test_expired_verdict_equals_no_verdict(seed, count, now):
    events = drawn(seed, count)
    alive = [event for event in events if isinstance(event, Withdrawal) or event.expires is None or event.expires > now]
    assert same(active_verdicts(events, now=now), active_verdicts(alive, now=now))


@law
@given(seeds, counts)
def test_event_survives_json(seed, count):
    import json

    for event in drawn(seed, count):
        assert event_from_json(json.loads(json.dumps(event.to_json()))) == event
