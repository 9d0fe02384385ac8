"""Parts of the review page in a real browser: list, track, exhibits, dialogs."""

import pytest

from tests.web import reviews
from tests.web.browsing import shown

pytest.importorskip("fastapi", reason="needs fastapi: pip install 'undistract[web]'")


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    return reviews.long_array(tmp_path_factory.mktemp("long"))


def test_track_of_many_rows_zooms_pans_and_selects(long, serve, visit, tmp_path):
    desk = long.desk(tmp_path / "long.review")
    page = visit(serve(desk))
    page.wait_for_selector("#track[data-start='0'][data-stop='100000']")
    assert int(page.get_attribute("#track", "data-buckets")) < 2000, "the server reduces the scores"
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
    for _ in range(6):
        page.keyboard.press("+")
    page.wait_for_selector("#track[data-stop='40625']")
    start, stop = (int(page.get_attribute("#track", f"data-{edge}")) for edge in ("start", "stop"))
    items = [item for item in desk.queue(0, 2000)["items"] if start + 20 < item["peak"] < stop - 20]
    item = next(item for item in items if item["id"] != shown(page))
    page.mouse.click(left + width * (item["peak"] + 0.5 - start) / (stop - start), box["y"] + 50)
    page.wait_for_selector(f"#centre[data-item='{item['id']}']")
    assert page.complaints == []


def test_list_of_many_alarms_has_few_elements(long, serve, visit, tmp_path):
    desk = long.desk(tmp_path / "long.review")
    total = desk.queue()["total"]
    assert total > 1500
    page = visit(serve(desk))
    assert page.locator("#list .row").count() < 60
    page.locator("#list").evaluate("list => { list.scrollTop = list.scrollHeight }")
    last, first = (desk.queue(index, 1)["items"][0]["id"] for index in (total - 1, 0))
    page.click(f"#row-{last}")
    page.wait_for_selector(f"#centre[data-item='{last}']")
    assert page.locator("#list .row").count() < 60
    page.keyboard.press("b")
    page.wait_for_selector(f"#centre:not([data-item='{last}'])")
    page.keyboard.press("n")
    page.wait_for_selector(f"#centre[data-item='{last}']")
    page.keyboard.press("u")
    page.wait_for_selector(f"#centre[data-item='{first}']")
    assert page.complaints == []


def test_video_starts_at_its_peak_plays_and_seeks(serve, visit, tmp_path):
    pytest.importorskip("av", reason="needs PyAV: pip install 'undistract[video]'")
    pytest.importorskip("cv2", reason="needs OpenCV: pip install 'undistract[video]'")
    desk = reviews.clips(tmp_path).desk(tmp_path / "match.review")
    page = visit(serve(desk))
    video = page.locator("video")
    video.evaluate("video => video.readyState >= 2 || new Promise(done => { video.onloadeddata = done })")
    item = desk.item(shown(page))["exhibit"]
    peak = item["peak_second"] - item["seconds"][0]
    # These clips have ten frames per second.
    assert video.evaluate("video => video.currentTime") == pytest.approx(peak, abs=0.1)
    page.keyboard.press(" ")
    assert not video.evaluate("video => video.paused")
    page.keyboard.press(" ")
    assert video.evaluate("video => video.paused")
    video.evaluate("video => new Promise(done => { video.onseeked = done; video.currentTime = 1 })")
    assert video.evaluate("video => video.currentTime") == pytest.approx(1)
    page.screenshot(path=tmp_path / "video.png")
    assert page.complaints == []


def test_images_original_cleaned_and_removed(serve, visit, tmp_path):
    pytest.importorskip("PIL", reason="needs pillow: pip install 'undistract[images]'")
    page = visit(serve(reviews.pictures(tmp_path).desk(tmp_path / "today.review")))
    page.wait_for_selector("#exhibit img >> nth=2")
    assert page.locator("#exhibit figcaption").all_inner_texts() == [
        "original", "cleaned", "removed"
    ]  # fmt: skip
    loaded = "all => Promise.all(all.map(one => one.decode().then(() => one.naturalWidth)))"
    assert all(width > 0 for width in page.locator("#exhibit img").evaluate_all(loaded))
    page.screenshot(path=tmp_path / "picture.png")
    assert page.complaints == []


def test_windows_are_drawn_as_lines(serve, visit, tmp_path):
    page = visit(serve(reviews.windows(tmp_path).desk(tmp_path / "pump.review")))
    page.wait_for_selector("#exhibit svg >> nth=2")
    for kind in ("values", "after", "usual"):
        paths = page.locator(f"#exhibit .course.{kind}").evaluate_all("all => all.map(one => one.getAttribute('d'))")
        assert len(paths) == 3
        assert all(path.count("L") == 15 and "NaN" not in path for path in paths), "16 steps each"
    page.screenshot(path=tmp_path / "window.png")
    assert page.complaints == []


def test_table_row_help_and_export(serve, visit, tmp_path):
    page = visit(serve(reviews.table(tmp_path).desk(tmp_path / "days.review")), "Zoë 王")
    assert page.locator("#exhibit tbody tr").count() == 20
    bars = page.locator("#exhibit .bar").evaluate_all("all => all.map(one => parseFloat(one.style.width))")
    assert max(bars) == 100
    page.focus("#list")
    page.keyboard.press("?")
    page.wait_for_selector("#help-dialog[open]")
    assert {"f", "a", "u", "z", "p", "c", "n", "b", "space", "?"} <= set(
        page.locator("#help-dialog kbd").all_inner_texts()
    )
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    page.wait_for_selector("#list:focus")
    page.keyboard.press("e")
    with page.expect_download() as download:
        page.click("#export-json")
    assert download.value.suggested_filename == "verdicts.json"
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("#track[data-buckets]")
    assert page.inner_text("#reviewer") == "Reviewer: Zoë 王", "the name is stored"
    assert page.locator("dialog[open]").count() == 0
    assert page.inner_text("#progress-words").startswith("0 reviewed"), "a key in a dialog gives no verdict"
    assert page.complaints == []
