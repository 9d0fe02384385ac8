"""Verdicts and what stands of them: small cases known by hand, and refusals in words."""

from time import time

import pytest

from tests.review.making import key, random_events, stands_by_definition, verdict
from undistract.errors import InputError
from undistract.review import Standing, Verdict, Withdrawal, event_from_json, standing


def answers(events, **options):
    return [one.answer for one in standing(events, **options).values()]


def test_the_last_answer_about_an_item_stands():
    assert answers([verdict(1, "anomaly", when=2.0), verdict(2, "familiar", when=1.0)]) == ["anomaly"]


def test_answers_about_other_rows_stand_side_by_side_in_the_order_of_time():
    assert answers([verdict(1, "anomaly", when=2.0, start=9), verdict(2, "calm", when=1.0)]) == ["calm", "anomaly"]


def test_at_the_same_moment_the_larger_key_is_the_last():
    one, other = verdict(1, "anomaly", when=1.0), verdict(2, "familiar", when=1.0)
    assert list(standing([one, other]).values()) == [max(one, other, key=lambda event: event.key)]


def test_taking_the_last_answer_back_lets_the_one_before_it_stand():
    events = [verdict(1, "unsure", when=1.0), verdict(2, "familiar", when=2.0), Withdrawal(key(3), of=key(2))]
    assert answers(events) == ["unsure"]


def test_an_expired_answer_lets_the_one_before_it_stand():
    events = [verdict(1, "anomaly", when=1.0), verdict(2, "familiar", when=2.0, expires=100.0)]
    assert answers(events, now=99.9) == ["familiar"]
    assert answers(events, now=100.0) == ["anomaly"]


def test_without_a_time_the_present_decides_what_has_expired():
    assert answers([verdict(1, expires=time() - 60)]) == []
    assert answers([verdict(1, expires=time() + 60)]) == ["familiar"]


def test_a_withdrawal_of_what_nobody_said_changes_nothing():
    assert answers([Withdrawal(key(9), of=key(8)), verdict(1)]) == ["familiar"]


def test_two_events_cannot_share_a_key():
    live = Standing([verdict(1, "familiar")])
    for other in (verdict(1, "anomaly"), Withdrawal(key(1), of=key(2))):
        with pytest.raises(InputError, match=key(1)):
            live.add(other)
    assert [one.answer for one in live.verdicts().values()] == ["familiar"]


@pytest.mark.parametrize("seed", range(100))
def test_the_live_fold_of_a_thousand_events_with_undo_is_that_of_the_log(seed):
    """Promise 2; the tests of the store fold what they read back."""
    events = random_events(seed, 1000, n_items=100)
    now = 500.0
    live = Standing()
    for place, event in enumerate(events):
        live.add(event)
        if place % 250 == 249:
            seen = events[: place + 1]
            assert list(live.verdicts(now).items()) == list(standing(seen[::-1] + seen, now=now).items())
    if seed % 10 == 0:  # the definition looks at every pair
        assert list(live.verdicts(now).items()) == list(stands_by_definition(events, now).items())


GOOD = {"key": key(1), "set_name": "match.mp4", "start": 1, "stop": 4, "peak": 2, "answer": "familiar"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("key", value) for value in ("", "abc", None, 7, key(1).upper(), key(1).replace("-", ""), key(1) + "\n")),
        *(("set_name", value) for value in (None, 3, b"match")),
        *(("start", value) for value in (-1, 3, 1.0, True, "1", None)),
        *(("stop", value) for value in (2, 2**53 + 1, float("inf"))),
        *(("answer", value) for value in ("", "Familiar", None, ["familiar"])),
        *(("scope", value) for value in ("", "set", None)),
        *(("who", value) for value in (None, "x" * 201, "\ud800")),
        *(("note", value) for value in (None, "x" * 2001, "a\udfff")),
        *(("when", value) for value in (-1, float("nan"), float("inf"), "now", None, True)),
        *(("strength", value) for value in (0, -1, 100.5, float("nan"), "1", None, True)),
        *(("expires", value) for value in (-1, float("nan"), 1e12, "never", False)),
        ("colour", "red"),
    ],
)
def test_a_field_that_cannot_be_is_refused_by_name_or_value(field, value):
    assert Verdict.from_json(GOOD).item == ("match.mp4", 1, 4)
    with pytest.raises(InputError) as refusal:
        Verdict.from_json({**GOOD, field: value})
    assert field in str(refusal.value) or repr(value)[:20] in str(refusal.value)


@pytest.mark.parametrize("field", GOOD)
def test_a_missing_field_is_told_by_what_was_found(field):
    with pytest.raises(InputError, match=f"has the fields .*{field}.*; found (?!.*{field})"):
        Verdict.from_json({name: value for name, value in GOOD.items() if name != field})


@pytest.mark.parametrize("record", [None, [], "verdict", {}, {"kind": "opinion"}, {"kind": ["verdict"]}])
def test_what_is_no_event_is_refused(record):
    with pytest.raises(InputError, match=r"expected (names with values|verdict or withdrawal)"):
        event_from_json(record)


@pytest.mark.parametrize("of", ["", None, key(2).upper()])
def test_a_withdrawal_names_a_verdict_by_its_key(of):
    with pytest.raises(InputError, match="verdict to withdraw"):
        Withdrawal(key(1), of)


@pytest.mark.parametrize(("field", "value"), [("key", "abc"), ("who", None), ("who", "x" * 201), ("when", -1)])
def test_a_withdrawal_is_checked_like_a_verdict(field, value):
    with pytest.raises(InputError, match=field):
        Withdrawal(**{"key": key(1), "of": key(2), field: value})


def test_limits_themselves_are_allowed():
    """The largest and the smallest that can be; one step further is refused above."""
    whole = Verdict(key(1), "", 0, 2**53, 0, "calm", "x" * 200, 0, "context", 100, 0, "x" * 2000)
    assert Verdict.from_json(whole.to_json()) == whole
    assert Verdict(key(1), "", 2, 3, 2, "calm", when=253_402_300_799.0).peak == 2
    with pytest.raises(InputError, match="before the year 10 000"):
        Verdict(key(1), "", 2, 3, 2, "calm", when=253_402_300_800.0)


def test_refusals_tell_what_was_found_and_what_was_expected():
    fields = "key, set_name, start, stop, peak, answer, who, when, scope, strength, expires, note"
    told = {
        "colour": (
            "red",
            f"A verdict has the fields {fields}; found 'colour', 'key', 'set_name', 'start', 'stop' and 2 more.",
        ),
        "who": ("x" * 201, "The text of 'who' is 201 characters long, expected at most 200 characters."),
        "note": (7, "The text of 'note' is 7, expected at most 2000 characters."),
        "scope": ("set", "The scope is 'set', expected everywhere or context."),
        "strength": (101, "The strength is 101, expected a number over 0, at most 100."),
    }
    for field, (value, words) in told.items():
        with pytest.raises(InputError) as refusal:
            Verdict.from_json({**GOOD, field: value})
        assert str(refusal.value) == words


def test_verdicts_can_be_read_without_a_database_library():
    import subprocess
    import sys

    program = "import sys, undistract.review; print('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "False"
