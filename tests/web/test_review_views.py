"""The parts of the review page in a real browser: list, track, exhibits, dialogs."""

import pytest

from tests.web.standin import StandIn

pytest.importorskip("fastapi", reason="browser tests need: pip install 'undistract[web]' playwright")


def shown(page):
    return page.get_attribute("#centre", "data-item")


def test_a_calm_stretch_is_given_by_its_rows(review, visit):
    desk = StandIn()
    page = visit(review(desk))
    page.keyboard.press("c")
    page.fill("#calm-from", "900")
    page.fill("#calm-to", "949")
    page.keyboard.press("Enter")
    page.wait_for_selector("#saving[data-waiting='0']")
    assert [(event["item"], event["answer"]) for event in desk.events] == [("0-900-950", "calm")]
    page.keyboard.press("z")
    page.wait_for_selector("body[data-event='2']")
    assert desk.summary()["verdicts"]["calm"] == 0


def test_the_track_zooms_pans_and_goes_to_the_alarm_that_is_clicked(review, visit):
    desk = StandIn(n_items=8, n_rows=100_000)
    page = visit(review(desk))
    page.wait_for_selector("#track[data-start='0'][data-stop='100000']")
    assert int(page.get_attribute("#track", "data-buckets")) < 2000, "the server thins what the page draws"
    page.keyboard.press("+")
    page.wait_for_selector("#track[data-start='25000'][data-stop='75000']")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#track[data-start='37500'][data-stop='87500']")
    page.click("[data-does='left']")
    page.wait_for_selector("#track[data-start='25000'][data-stop='75000']")
    page.click("[data-does='wider']")
    page.wait_for_selector("#track[data-start='0'][data-stop='100000']")
    box = page.locator("#track").bounding_box()
    left, width = box["x"] + 48, box["width"] - 56
    page.mouse.move(left + width / 2, box["y"] + 50)
    page.mouse.wheel(0, -100)
    page.wait_for_selector("#track[data-start='10000'][data-stop='90000']")
    page.mouse.down()
    page.mouse.move(left + width / 2 + width / 8, box["y"] + 50, steps=3)
    page.mouse.up()
    page.wait_for_selector("#track[data-start='0'][data-stop='80000']")
    page.keyboard.press("0")
    page.wait_for_selector("#track[data-start='0'][data-stop='100000']")
    other = next(item for item in desk.items.values() if item["set"] == 0 and item["id"] != shown(page))
    page.mouse.click(left + width * other["peak"] / 100_000, box["y"] + 50)
    page.wait_for_selector(f"#centre[data-item='{other['id']}']")
    assert page.complaints == []


def test_thousands_of_alarms_are_walked_with_few_elements(review, visit):
    desk = StandIn(n_items=5000, n_rows=20_000)
    page = visit(review(desk))
    assert page.locator("#list .row").count() < 60
    page.locator("#list").evaluate("list => { list.scrollTop = list.scrollHeight }")
    page.wait_for_selector(f"#row-{desk.queue(4999, 1)['items'][0]['id']}")
    assert page.locator("#list .row").count() < 60
    last, first = (desk.queue(place, 1)["items"][0]["id"] for place in (4999, 0))
    page.click(f"#row-{last}")
    page.wait_for_selector(f"#centre[data-item='{last}']")
    page.keyboard.press("u")
    page.wait_for_selector(f"#centre[data-item='{first}']")
    assert page.complaints == []


def test_help_and_export_open_by_key_and_give_the_focus_back(review, visit):
    page = visit(review(StandIn()))
    page.focus("#list")
    page.keyboard.press("?")
    page.wait_for_selector("#help-dialog[open]")
    keys = page.locator("#help-dialog kbd").all_inner_texts()
    assert {"f", "a", "u", "z", "p", "c", "n", "b", "space", "?"} <= set(keys)
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    page.wait_for_selector("#list:focus")
    page.keyboard.press("e")
    with page.expect_download() as got:
        page.click("#export-json")
    assert got.value.suggested_filename == "verdicts.json"
    assert page.complaints == []


def test_the_name_is_asked_once(review, visit):
    page = visit(review(StandIn()), "Zoë 王")
    page.reload()
    page.wait_for_selector("#track[data-buckets]")
    assert page.inner_text("#reviewer") == "Reviewer: Zoë 王"
    assert page.locator("dialog[open]").count() == 0


def test_a_video_plays_by_the_space_bar_and_can_be_sought(review, visit, tmp_path):
    pytest.importorskip("av", reason="needs PyAV: pip install 'undistract[video]'")
    from tests.clips import dots, write_clip

    desk = StandIn(n_items=8)
    desk.clip_path = write_clip(tmp_path / "clip.mp4", dots(60), movflags="faststart")
    page = visit(review(desk))
    item = next(one["id"] for one in desk.items.values() if one["set"] == 3)
    page.click(f"#row-{item}")
    page.wait_for_selector(f"#centre[data-item='{item}'] video")
    video = page.locator("video")
    video.evaluate("video => video.readyState >= 2 || new Promise(done => { video.onloadeddata = done })")
    assert video.evaluate("video => video.currentTime") == pytest.approx(3.0, abs=0.2), "it stands at the peak"
    page.keyboard.press(" ")
    assert not video.evaluate("video => video.paused")
    page.keyboard.press(" ")
    assert video.evaluate("video => video.paused")
    video.evaluate("video => new Promise(done => { video.onseeked = done; video.currentTime = 1 })")
    assert page.complaints == []
