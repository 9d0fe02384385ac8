"""Random events by seed, and the active verdicts among them by definition."""

import random
from uuid import UUID

from undistract.review import ANSWERS, SCOPES, Verdict, Withdrawal


def key(number):
    """Return the same key for the same number."""
    return str(UUID(int=random.Random(number).getrandbits(128)))


def verdict(number, answer="false_alarm", *, start=0, **fields):
    return Verdict(key(number), "match.mp4", start, start + 3, start + 1, answer, **fields)


def random_events(seed, count, *, n_items=50, undo=0.3):
    """Draw verdicts on few items, some of which expire, many at the same time, and withdrawals."""
    chance = random.Random(seed)
    events, said = [], []
    for _ in range(count):
        own, when = str(UUID(int=chance.getrandbits(128))), float(chance.randrange(count // 3 + 1))
        who = chance.choice(["Ada", "Bo", "", "Çelik 猫"])
        if said and chance.random() < undo:
            events.append(Withdrawal(own, chance.choice(said), who, when))
            continue
        start = chance.randrange(n_items)
        events.append(
            Verdict(
                own,
                chance.choice(["match.mp4", "day\n2", ""]),
                start,
                start + chance.choice([1, 5]),
                start,
                chance.choice(ANSWERS),
                who,
                when,
                chance.choice(SCOPES),
                chance.choice([0.5, 1.0, 100.0]),
                chance.choice([None, None, float(chance.randrange(count))]),
                chance.choice(["", "<b>light</b>", "a\0b"]),
            )
        )
        said.append(own)
    return events


def stands_by_definition(events, now):
    """Return the active verdicts, slowly: compare all pairs."""
    gone = {event.of for event in events if isinstance(event, Withdrawal)}
    counting = [
        event
        for event in events
        if isinstance(event, Verdict)
        and event.key not in gone
        and not (event.expires is not None and event.expires <= now)
    ]
    last = {
        one.key: one
        for one in counting
        if not any(one.item == other.item and (one.when, one.key) < (other.when, other.key) for other in counting)
    }
    return dict(sorted(last.items(), key=lambda pair: (pair[1].when, pair[0])))
