"""A review in a real browser: a person answers, the list follows, and nothing is lost."""

from dataclasses import replace
from uuid import UUID

import pytest

from tests.web import reviews
from tests.web.browsing import answer, answers, events, shown
from undistract import FileError, Model, read_sets, score

pytest.importorskip("fastapi", reason="needs fastapi: pip install 'undistract[web]'")

pytest.importorskip("sqlalchemy", reason="needs SQLAlchemy: pip install 'undistract[web]'")

from undistract.workflow.desk import Desk


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return reviews.table(tmp_path_factory.mktemp("table"))


@pytest.fixture
def desk(files, tmp_path):
    return files.desk(tmp_path / "days.review")


@pytest.fixture
def address(serve, desk):
    return serve(desk)


def test_a_whole_review_goes_by_keyboard_up_to_the_summary(address, desk, visit):
    items = [item["id"] for item in desk.queue()["items"]]
    page = visit(address)
    assert shown(page) == items[0], "it opens on the strongest open alarm"
    keys = "ffau" * 5
    seen = [answer(page, key) for key in keys[:-1]]
    seen.append(shown(page))
    page.keyboard.press(keys[-1])
    page.wait_for_selector("#summary-dialog[open] #summary-alarms")
    page.wait_for_selector("body[data-learned='20']")
    assert sorted(seen) == sorted(items), "each item was shown once"
    words = {"f": "familiar", "a": "anomaly", "u": "unsure"}
    assert answers(desk) == [words[key] for key in keys]
    assert {event["who"] for event in events(desk)} == {"Anna"}
    assert "Every alarm has an answer." in page.inner_text("#summary-shown")
    # It opened before the last answer was kept, and stayed so: with one alarm it told of "0 answers so far".
    page.wait_for_selector("#summary-shown:has-text('20 answers so far')")
    page.wait_for_selector("#summary-dialog[open] .direction:has-text('taught by answers')")
    assert page.inner_text("#progress-words") == "20 answered, 0 open"
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    page.wait_for_selector("#summary-dialog[open] .direction:has-text('taught by answers')")
    assert page.complaints == []


def test_answers_re_rank_the_list_in_place_and_the_page_says_what_changed(address, desk, visit):
    page = visit(address)
    first = answer(page, "f")
    page.wait_for_selector("body[data-learned='1']")
    page.wait_for_selector("#changed:has-text('below the threshold now')")
    items = desk.queue()["items"]
    assert sum(not item["alarm"] for item in items) > 10, "one answer taught what the glare is"
    order = page.locator("#list .row").evaluate_all(
        "rows => rows.sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map(row => row.dataset.item)"
    )
    assert order == [item["id"] for item in items][: len(order)]
    assert page.locator("#list .step").count() > 3
    page.locator("#list").evaluate("list => { list.scrollTop = list.scrollHeight }")
    page.wait_for_selector(f"#row-{first}[data-answer='familiar'] .badge:has-text('familiar · Anna')")
    assert page.complaints == []


def test_what_was_taught_away_is_not_walked_before_what_is_strange_still(address, desk, visit):
    page = visit(address)
    answer(page, "f")  # the glare; the next item is glare, too, and falls while it is looked at
    page.wait_for_selector("body[data-learned='1']")
    fallen = shown(page)
    assert not desk.item(fallen)["alarm"]
    page.wait_for_selector("#exhibit[data-learned='1']")
    cell = desk.item(fallen)["exhibit"]["cells"][0]
    assert cell["after"] != pytest.approx(cell["value"], rel=0.1)
    row = page.locator("#exhibit tbody tr >> nth=0")
    assert row.locator("th").inner_text() == cell["name"], "it is drawn as it is learned now"
    assert float(row.locator("td >> nth=2").inner_text()) == pytest.approx(cell["after"], rel=1e-3)
    strongest = [item["id"] for item in desk.queue()["items"][:2]]
    page.keyboard.press("n")
    page.wait_for_selector(f"#centre[data-item='{strongest[0]}']")
    answer(page, "a")
    assert shown(page) == strongest[1]
    assert page.complaints == []


def test_undo_takes_the_last_answer_back_and_shows_it_again(address, desk, visit):
    page = visit(address)
    first = answer(page, "f")
    page.wait_for_selector("body[data-learned='1']")
    page.keyboard.press("z")
    page.wait_for_selector(f"#centre[data-item='{first}']")
    page.wait_for_selector("#history .badge:has-text('taken back')")
    page.wait_for_selector(f"#row-{first}[data-answer='']")
    page.wait_for_selector("body[data-learned='2']")
    assert desk.summary()["verdicts"]["withdrawn"] == 1
    assert desk.queue()["answered"] == 0
    page.keyboard.press("z")
    page.wait_for_selector("#changed:has-text('no answer of yours')")
    assert page.complaints == []


def test_an_answer_can_be_undone_after_the_page_was_loaded_again(address, desk, visit):
    page = visit(address)
    first = answer(page, "a")
    page.wait_for_selector("body[data-learned='1']")
    page.reload()
    page.wait_for_selector("#track[data-buckets]")
    page.keyboard.press("z")
    page.wait_for_selector(f"#centre[data-item='{first}']")
    page.wait_for_selector("body[data-learned='2']")
    assert desk.queue()["answered"] == 0


def test_two_reviewers_see_each_other_live(address, visit):
    anna, ben = visit(address, "Anna"), visit(address, "Ben")
    first = shown(anna)
    assert shown(ben) == first
    anna.keyboard.press("a")
    ben.wait_for_selector("#history li:has-text('Anna')")
    ben.keyboard.press("n")
    ben.wait_for_selector(f"#centre:not([data-item='{first}'])")
    ben.wait_for_selector(f"#row-{shown(ben)}[aria-posinset='1']")  # he goes on where the list stood
    second = answer(ben, "u")
    for page, who in ((anna, "unsure · Ben"), (ben, "anomaly · Anna")):
        page.locator("#list").evaluate("list => { list.scrollTop = list.scrollHeight }")
        item = second if page is anna else first
        page.wait_for_selector(f"#row-{item} .badge:has-text('{who}')")
    assert anna.complaints == ben.complaints == []


def test_what_would_change_is_seen_before_it_is_accepted_or_left(address, desk, visit):
    page = visit(address)
    page.keyboard.press("p")
    page.wait_for_selector("#preview-shown h3:has-text('alarms would vanish')")
    page.wait_for_selector("#preview-shown .bars li")
    page.keyboard.press("Escape")
    page.wait_for_selector("#preview-dialog:not([open])", state="attached")
    assert events(desk) == []
    item = shown(page)
    page.keyboard.press("p")
    page.wait_for_selector("#preview-accept[aria-disabled='false']")
    page.select_option("#preview-scope", "context")
    page.fill("#preview-strength", "3")
    page.wait_for_selector("#preview-accept[aria-disabled='false']")
    page.select_option("#preview-expires", "7")
    page.fill("#preview-note", "the light at noon")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#centre:not([data-item='{item}'])")
    page.wait_for_selector("body[data-learned='1']")
    (event,) = events(desk)
    assert (event["answer"], event["scope"], event["strength"]) == ("familiar", "context", 3)
    assert f"{event['start']}-{event['stop']}" in item
    assert event["note"] == "the light at noon"
    assert (event["expires"] - event["when"]) / 86400 == pytest.approx(7, abs=0.01)
    assert page.complaints == []


def test_nothing_is_accepted_before_the_preview_is_there(address, desk, visit):
    page = visit(address)
    page.route("**/api/preview", lambda route: None)
    page.keyboard.press("p")
    page.wait_for_selector("#preview-accept[aria-disabled='true']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#preview-dialog[open]")
    page.focus("#preview-scope")
    page.keyboard.press("Escape")
    page.wait_for_selector("#preview-dialog:not([open])", state="attached")
    assert events(desk) == []


def test_answers_given_without_a_connection_are_kept_and_sent_later_in_order(address, desk, visit):
    page = visit(address)
    page.route("**/api/verdicts", lambda route: route.abort())
    answer(page, "f")
    page.wait_for_selector("#saving:has-text('1 answer not saved yet')")
    page.wait_for_selector("#trouble:has-text('sent again')")
    answer(page, "a")
    page.wait_for_selector("#saving:has-text('2 answers not saved yet')")
    assert page.inner_text("#progress-words") == "2 answered, 18 open"
    assert events(desk) == []
    page.unroute("**/api/verdicts")
    page.wait_for_selector("#saving[data-waiting='0']")
    assert answers(desk) == ["familiar", "anomaly"]
    assert page.locator("#trouble").is_hidden()


def test_an_answer_whose_receipt_got_lost_is_kept_once(address, desk, visit):
    page = visit(address)
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
    assert [event["key"] for event in events(desk)] == lost


def test_answers_are_kept_also_where_the_page_came_over_plain_http(address, desk, visit):
    # From another machine without TLS there is no crypto.randomUUID: keys were pressed, and no answer was ever sent.
    page = visit(address)
    page.evaluate("delete Crypto.prototype.randomUUID")
    for key in "fau":
        answer(page, key)
    page.wait_for_selector("body[data-learned='3']")
    assert answers(desk) == ["familiar", "anomaly", "unsure"]
    assert {UUID(event["key"]).version for event in events(desk)} == {4}
    assert page.complaints == []


def test_a_complaint_of_the_server_goes_with_its_cause(address, desk, visit, monkeypatch):
    page = visit(address)
    store = desk._live._store
    real = store.events

    def away(after=0):
        raise FileError("The log is away.")

    monkeypatch.setattr(store, "events", away)
    page.wait_for_selector("#trouble:has-text('The log is away.')")
    monkeypatch.setattr(store, "events", real)
    page.wait_for_selector("#trouble", state="hidden")
    assert page.complaints == []


def test_where_there_is_no_threshold_nothing_is_below_it(files, serve, visit, tmp_path):
    # A set that is judged by its own rows was told to lie below a threshold that nobody has.
    model = Model.load(files.model)
    own = replace(score(read_sets(files.data, model.reading), model, adapt=True), model=str(files.model))
    page = visit(serve(Desk.open(own.save(tmp_path / "own.scores"), data=[files.data])))
    assert "Threshold\nthere is none" in page.inner_text("#why")


def test_leaving_with_unsaved_answers_asks_first(address, visit):
    page = visit(address)
    page.route("**/api/verdicts", lambda route: route.abort())
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-waiting='1']")
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"


def test_an_answer_that_is_refused_is_told_and_not_shown_as_given(address, desk, visit):
    page = visit(address)
    first = shown(page)
    refusal = {"status": 422, "content_type": "application/json", "body": '{"error": "This review is closed."}'}
    page.route("**/api/verdicts", lambda route: route.fulfill(**refusal))
    page.keyboard.press("f")
    page.wait_for_selector("#trouble:has-text('This review is closed.')")
    page.wait_for_selector(f"#row-{first}[data-answer='']")
    assert page.inner_text("#progress-words") == "0 answered, 20 open"
    page.click("[data-does='dismiss']")
    assert page.locator("#trouble").is_hidden()
    page.keyboard.press("z")
    page.wait_for_selector("#changed:has-text('no answer of yours')")


def test_a_key_pressed_just_after_a_dialog_closed_is_not_lost(address, visit):
    # The field of the closed dialog held the focus until the next frame, and swallowed the key.
    page = visit(address)
    page.evaluate(
        """() => document.getElementById("calm-from").dispatchEvent(
            new KeyboardEvent("keydown", { key: "e", bubbles: true }))"""
    )
    page.wait_for_selector("#export-dialog[open]")


def test_a_calm_stretch_is_given_by_its_rows_and_can_be_taken_back(address, desk, visit):
    page = visit(address)
    page.keyboard.press("c")
    page.fill("#calm-from", "5")
    page.fill("#calm-to", "5")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble:has-text('A calm stretch of 1 row')")
    page.click("[data-does='dismiss']")
    page.keyboard.press("c")
    page.fill("#calm-from", "100")
    page.fill("#calm-to", "114")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-learned='1']")
    (event,) = events(desk)
    assert (event["set_name"], event["start"], event["stop"], event["answer"]) == ("monday", 100, 115, "calm")
    page.keyboard.press("z")
    page.wait_for_selector("body[data-learned='2']")
    assert desk.summary()["verdicts"]["calm"] == 0
