"""Laws of what stands: neither order nor repetition matters, and taking back is exact."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.strategies import law, seeds
from tests.review.making import random_events, stands_by_definition
from undistract.review import Standing, Verdict, Withdrawal, event_from_json, standing

counts = st.integers(0, 60)
moments = st.floats(0, 60)


def same(one, other):
    """Whether the verdicts are the same and in the same order."""
    return list(one.items()) == list(other.items())


def drawn(seed, count):
    return random_events(seed, count, n_items=4)


@law
@given(seeds, counts, moments)
def test_what_stands_is_the_last_answer_that_counts(seed, count, now):
    events = drawn(seed, count)
    assert same(standing(events, now=now), stands_by_definition(events, now))


@law
@given(seeds, counts, moments)
def test_neither_order_nor_repetition_changes_what_stands(seed, count, now):
    events = drawn(seed, count)
    chance = random.Random(seed)
    mixed = events + [chance.choice(events) for _ in events]
    chance.shuffle(mixed)
    assert same(standing(mixed, now=now), standing(events, now=now))


@law
@given(seeds, counts, moments)
def test_every_step_of_the_live_fold_is_the_fold_of_the_log_so_far(seed, count, now):
    events, live = drawn(seed, count), Standing()
    for place, event in enumerate(events):
        live.add(event)
        assert same(live.verdicts(now), standing(events[: place + 1], now=now))


@law
@given(seeds, counts, moments)
def test_withdrawing_gives_exactly_what_there_was_without_the_verdict(seed, count, now):
    events = drawn(seed, count + 1)
    one = next(event for event in events if isinstance(event, Verdict))
    back = Withdrawal("0" * 8 + "-0000-0000-0000-" + "0" * 12, of=one.key)
    without = [event for event in events if event != one]
    assert same(standing([*events, back], now=now), standing(without, now=now))
    assert same(standing([back, *events], now=now), standing(without, now=now))


@law
@given(seeds, counts, moments)
def test_an_expired_verdict_is_as_if_it_had_never_been(seed, count, now):
    events = drawn(seed, count)
    alive = [event for event in events if isinstance(event, Withdrawal) or event.expires is None or event.expires > now]
    assert same(standing(events, now=now), standing(alive, now=now))


@law
@given(seeds, counts)
def test_an_event_survives_the_way_through_json(seed, count):
    import json

    for event in drawn(seed, count):
        assert event_from_json(json.loads(json.dumps(event.to_json()))) == event
