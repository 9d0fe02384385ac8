"""Verdicts and the active ones among them: small cases with known answers, and error messages."""

from time import time

import pytest

from tests.review.making import key, random_events, stands_by_definition, verdict
from undistract.errors import InputError
from undistract.review import ActiveVerdicts, Verdict, Withdrawal, active_verdicts, event_from_json


def answers(events, **options):
    return [one.answer for one in active_verdicts(events, **options).values()]


def test_last_verdict_on_an_item_is_active():
    assert answers([verdict(1, "anomaly", when=2.0), verdict(2, "false_alarm", when=1.0)]) == ["anomaly"]


def test_verdicts_on_different_rows_are_all_active_in_time_order():
    assert answers([verdict(1, "anomaly", when=2.0, start=9), verdict(2, "calm", when=1.0)]) == ["calm", "anomaly"]


def test_larger_key_wins_at_the_same_time():
    one, other = verdict(1, "anomaly", when=1.0), verdict(2, "false_alarm", when=1.0)
    assert list(active_verdicts([one, other]).values()) == [max(one, other, key=lambda event: event.key)]


def test_withdrawal_reactivates_the_previous_verdict():
    events = [verdict(1, "unsure", when=1.0), verdict(2, "false_alarm", when=2.0), Withdrawal(key(3), of=key(2))]
    assert answers(events) == ["unsure"]


def test_expiry_reactivates_the_previous_verdict():
    events = [verdict(1, "anomaly", when=1.0), verdict(2, "false_alarm", when=2.0, expires=100.0)]
    assert answers(events, now=99.9) == ["false_alarm"]
    assert answers(events, now=100.0) == ["anomaly"]


def test_expiry_is_checked_against_the_present_by_default():
    assert answers([verdict(1, expires=time() - 60)]) == []
    assert answers([verdict(1, expires=time() + 60)]) == ["false_alarm"]


def test_withdrawal_of_an_unknown_verdict_changes_nothing():
    assert answers([Withdrawal(key(9), of=key(8)), verdict(1)]) == ["false_alarm"]


def test_two_events_cannot_share_a_key():
    live = ActiveVerdicts([verdict(1, "false_alarm")])
    for other in (verdict(1, "anomaly"), Withdrawal(key(1), of=key(2))):
        with pytest.raises(InputError, match=key(1)):
            live.add(other)
    assert [one.answer for one in live.verdicts().values()] == ["false_alarm"]


@pytest.mark.parametrize("seed", range(100))
def test_live_fold_of_1000_events_equals_the_fold_of_the_log(seed):
    """Promise 2; the tests of the store fold what they read back."""
    events = random_events(seed, 1000, n_items=100)
    now = 500.0
    live = ActiveVerdicts()
    for place, event in enumerate(events):
        live.add(event)
        if place % 250 == 249:
            seen = events[: place + 1]
            assert list(live.verdicts(now).items()) == list(active_verdicts(seen[::-1] + seen, now=now).items())
    if seed % 10 == 0:  # the definition compares all pairs
        assert list(live.verdicts(now).items()) == list(stands_by_definition(events, now).items())


GOOD = {"key": key(1), "group_name": "match.mp4", "start": 1, "stop": 4, "peak": 2, "answer": "false_alarm"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("key", value) for value in ("", "abc", None, 7, key(1).upper(), key(1).replace("-", ""), key(1) + "\n")),
        *(("group_name", value) for value in (None, 3, b"match")),
        *(("start", value) for value in (-1, 3, 1.0, True, "1", None)),
        *(("stop", value) for value in (2, 2**53 + 1, float("inf"))),
        *(("answer", value) for value in ("", "Familiar", None, ["false_alarm"])),
        *(("scope", value) for value in ("", "set", None)),
        *(("who", value) for value in (None, "x" * 201, "\ud800")),
        *(("note", value) for value in (None, "x" * 2001, "a\udfff")),
        *(("when", value) for value in (-1, float("nan"), float("inf"), "now", None, True)),
        *(("strength", value) for value in (0, -1, 100.5, float("nan"), "1", None, True)),
        *(("expires", value) for value in (-1, float("nan"), 1e12, "never", False)),
        ("colour", "red"),
    ],
)
def test_invalid_field_is_named_in_the_error(field, value):
    assert Verdict.from_json(GOOD).item == ("match.mp4", 1, 4)
    with pytest.raises(InputError) as refusal:
        Verdict.from_json({**GOOD, field: value})
    assert field in str(refusal.value) or repr(value)[:20] in str(refusal.value)


@pytest.mark.parametrize("field", GOOD)
def test_missing_field_error_lists_the_received_fields(field):
    with pytest.raises(InputError, match=f"has the fields .*{field}.*; got (?!.*{field})"):
        Verdict.from_json({name: value for name, value in GOOD.items() if name != field})


@pytest.mark.parametrize("record", [None, [], "verdict", {}, {"kind": "opinion"}, {"kind": ["verdict"]}])
def test_non_event_is_rejected(record):
    with pytest.raises(InputError, match=r"must be (a mapping|verdict or withdrawal)"):
        event_from_json(record)


@pytest.mark.parametrize("of", ["", None, key(2).upper()])
def test_withdrawal_needs_the_key_of_a_verdict(of):
    with pytest.raises(InputError, match="verdict to withdraw"):
        Withdrawal(key(1), of)


@pytest.mark.parametrize(("field", "value"), [("key", "abc"), ("who", None), ("who", "x" * 201), ("when", -1)])
def test_withdrawal_is_checked_like_a_verdict(field, value):
    with pytest.raises(InputError, match=field):
        Withdrawal(**{"key": key(1), "of": key(2), field: value})


def test_limits_are_inclusive():
    """The largest and the smallest valid values; the test above goes one step further."""
    whole = Verdict(key(1), "", 0, 2**53, 0, "calm", "x" * 200, 0, "context", 100, 0, "x" * 2000)
    assert Verdict.from_json(whole.to_json()) == whole
    assert Verdict(key(1), "", 2, 3, 2, "calm", when=253_402_300_799.0).peak == 2
    with pytest.raises(InputError, match="up to the year 10 000"):
        Verdict(key(1), "", 2, 3, 2, "calm", when=253_402_300_800.0)


def test_errors_name_received_and_expected_values():
    fields = "key, group_name, start, stop, peak, answer, who, when, scope, strength, expires, note"
    messages = {
        "colour": (
            "red",
            f"A verdict has the fields {fields}; got 'colour', 'key', 'group_name', 'start', 'stop' and 2 more.",
        ),
        "who": ("x" * 201, "'who' must have at most 200 characters, got 201."),
        "note": (7, "'note' must be text of at most 2000 characters, got 7."),
        "scope": ("set", "The scope must be everywhere or context, got 'set'."),
        "strength": (101, "The strength must be a number above 0 and at most 100, got 101."),
    }
    for field, (value, message) in messages.items():
        with pytest.raises(InputError) as refusal:
            Verdict.from_json({**GOOD, field: value})
        assert str(refusal.value) == message


def test_verdicts_need_no_database_library():
    import subprocess
    import sys

    program = "import sys, undistract.review; print('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "False"
