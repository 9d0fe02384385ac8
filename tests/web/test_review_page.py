"""The review page in a real browser: a person answers, the list follows, and nothing is lost."""

import pytest

from tests.web.standin import StandIn

pytest.importorskip("fastapi", reason="browser tests need: pip install 'undistract[web]' playwright")


def shown(page):
    return page.get_attribute("#centre", "data-item")


def answers(desk):
    return [event["answer"] for event in desk.events if "answer" in event]


def test_a_whole_review_goes_by_keyboard_up_to_the_summary(review, visit):
    desk = StandIn(n_items=8)
    page = visit(review(desk))
    assert shown(page) == desk.queue()["items"][0]["id"], "it opens on the strongest open alarm"
    seen = []
    for number, key in enumerate("faufaufa"):
        seen.append(shown(page))
        page.keyboard.press(key)
        if number < 7:
            page.wait_for_selector(f"#centre:not([data-item='{seen[-1]}'])")
    page.wait_for_selector("#summary-dialog[open] #summary-alarms")
    page.wait_for_selector("#saving[data-waiting='0']")
    assert sorted(seen) == sorted(desk.items), "each item was shown once"
    assert answers(desk) == ["familiar", "anomaly", "unsure"] * 2 + ["familiar", "anomaly"]
    assert {event["who"] for event in desk.events} == {"Anna"}
    assert "Every alarm has an answer." in page.inner_text("#summary-shown")
    assert "8 answered, 0 open" in page.inner_text("#progress-words")
    page.keyboard.press("Escape")
    assert page.complaints == []


def test_an_answer_re_ranks_the_list_in_place_and_says_what_changed(review, visit):
    page = visit(review(StandIn(n_items=12)))
    first = shown(page)
    page.keyboard.press("f")
    page.wait_for_selector("body[data-version='1']")
    page.wait_for_selector("#changed:has-text('4 alarms went down')")
    assert page.get_attribute(f"#row-{first}", "data-answer") == "familiar"
    assert page.inner_text(f"#row-{first} .badge") == "familiar · Anna"
    assert page.locator("#list .step").count() > 3
    assert page.locator(".row.below:has-text('below the threshold now')").count() == 3
    assert page.complaints == []


def test_undo_takes_the_last_answer_back_and_shows_it_again(review, visit):
    desk = StandIn(n_items=6)
    page = visit(review(desk))
    first = shown(page)
    page.keyboard.press("f")
    page.wait_for_selector(f"#centre:not([data-item='{first}'])")
    page.wait_for_selector("body[data-version='1']")
    page.keyboard.press("z")
    page.wait_for_selector(f"#centre[data-item='{first}']")
    page.wait_for_selector("#history .badge:has-text('taken back')")
    page.wait_for_selector(f"#row-{first}[data-answer='']")
    assert desk.summary()["verdicts"]["withdrawn"] == 1
    assert desk.queue()["answered"] == 0
    page.keyboard.press("z")
    page.wait_for_selector("#changed:has-text('no answer of yours')")
    assert page.complaints == []


def test_two_reviewers_see_each_other_live(review, visit):
    address = review(StandIn(n_items=6))
    anna, ben = visit(address, "Anna"), visit(address, "Ben")
    first = shown(anna)
    assert shown(ben) == first
    anna.keyboard.press("a")
    ben.wait_for_selector(f"#row-{first} .badge:has-text('anomaly · Anna')")
    ben.wait_for_selector("#history li:has-text('Anna')")
    ben.keyboard.press("n")
    ben.wait_for_selector(f"#centre:not([data-item='{first}'])")
    second = shown(ben)
    ben.keyboard.press("u")
    anna.wait_for_selector(f"#row-{second} .badge:has-text('unsure · Ben')")
    assert anna.complaints == ben.complaints == []


def test_the_preview_is_seen_before_it_is_accepted_or_left(review, visit):
    desk = StandIn(n_items=9)
    page = visit(review(desk))
    first = shown(page)
    page.keyboard.press("p")
    page.wait_for_selector("#preview-shown:has-text('3 alarms would vanish (everywhere, 1)')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#preview-dialog:not([open])", state="attached")
    assert desk.events == []
    page.keyboard.press("p")
    page.select_option("#preview-scope", "context")
    page.fill("#preview-strength", "3")
    page.select_option("#preview-expires", "7")
    page.fill("#preview-note", "the light at noon")
    page.wait_for_selector("#preview-shown:has-text('(context, 3)')")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#centre:not([data-item='{first}'])")
    page.wait_for_selector("#saving[data-waiting='0']")
    (event,) = desk.events
    assert (event["item"], event["answer"], event["scope"], event["strength"]) == (first, "familiar", "context", 3)
    assert event["note"] == "the light at noon"
    assert 6.9 < (event["expires"] - event["when"]) / 86400 < 7.1
    assert page.complaints == []


def test_nothing_is_accepted_before_the_preview_is_there(review, visit):
    desk = StandIn(n_items=6)
    page = visit(review(desk))
    page.route("**/api/preview", lambda route: None)
    page.keyboard.press("p")
    page.wait_for_selector("#preview-accept[aria-disabled='true']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#preview-dialog[open]")
    page.focus("#preview-scope")
    page.keyboard.press("Escape")
    page.wait_for_selector("#preview-dialog:not([open])", state="attached")
    assert desk.events == []


def test_answers_given_without_a_connection_are_kept_and_sent_later_in_order(review, visit):
    desk = StandIn(n_items=6)
    page = visit(review(desk))
    page.route("**/api/verdicts", lambda route: route.abort())
    page.keyboard.press("f")
    page.wait_for_selector("#saving:has-text('1 answer not saved yet')")
    page.wait_for_selector("#trouble:has-text('sent again')")
    first = shown(page)
    page.keyboard.press("a")
    page.wait_for_selector(f"#centre:not([data-item='{first}'])")
    page.wait_for_selector("#saving:has-text('2 answers not saved yet')")
    assert desk.events == []
    page.unroute("**/api/verdicts")
    page.wait_for_selector("#saving[data-waiting='0']")
    assert answers(desk) == ["familiar", "anomaly"]
    assert page.locator("#trouble").is_hidden()


def test_an_answer_whose_receipt_got_lost_is_kept_once(review, visit):
    desk = StandIn(n_items=6)
    page = visit(review(desk))
    lost = []

    def lose(route):
        route.fetch()  # the server has it
        lost.append(route.request.post_data_json["key"])
        route.abort()  # and the page never hears of it
        page.unroute("**/api/verdicts")

    page.route("**/api/verdicts", lose)
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-waiting='1']")
    page.wait_for_selector("#saving[data-waiting='0']")
    assert [event["key"] for event in desk.events] == lost


def test_leaving_with_unsaved_answers_asks_first(review, visit):
    page = visit(review(StandIn(n_items=6)))
    page.route("**/api/verdicts", lambda route: route.abort())
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-waiting='1']")
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"


def test_an_answer_that_is_refused_is_told_and_not_shown_as_given(review, visit):
    desk = StandIn(n_items=6)
    desk.fail = "This review is closed. Open another one."
    page = visit(review(desk))
    first = shown(page)
    page.keyboard.press("f")
    page.wait_for_selector("#trouble:has-text('This review is closed.')")
    page.wait_for_selector(f"#row-{first}[data-answer='']")
    assert "0 answered" in page.inner_text("#progress-words")
    page.click("[data-does='dismiss']")
    assert page.locator("#trouble").is_hidden()
