"""What a person sees of an alarm: of a video, an image, a window of a time series, a row of a table."""

import json
import os
import shutil
import warnings
from io import BytesIO

import numpy as np
import pytest

from undistract import FeatureSet, Focus, InputError, Model, Reading, learn, read_sets
from undistract.errors import EvidenceWarning
from undistract.features import make_extractor
from undistract.report.overlay import taken_off
from undistract.report.png import png
from undistract.sets.drawn_clips import dots_under_light
from undistract.sets.videos import read_frames
from undistract.workflow.carried import carried
from undistract.workflow.exhibits import N_SHOWN, exhibit
from undistract.workflow.item_clips import KEPT_CLIPS, KeptClips, stretch
from undistract.workflow.item_kinds import kind_of
from undistract.workflow.item_pictures import VIEWS, item_picture, pattern_picture, views_of

Image = pytest.importorskip("PIL.Image")

LIGHT = np.linspace(-30, 30, 8)
SPECS = ("pixels(size=12x8)", "cells(cells=6x4,size=48x32)", "cells(pool=max)")
STRANGE = 75  # a frame with the stranger in its middle


def learned(sets, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # few and small sets are enough to look at
        return learn(sets, **options)


def held(one):
    """Read a set once, as a desk does."""
    return FeatureSet(one.name, one.rows, one.times, one.source, row_names=one.row_names)


def decoded(data):
    return np.asarray(Image.open(BytesIO(data)).convert("RGB")).astype(int)


def day(seed, n_rows=60, width=8):
    rng = np.random.default_rng(seed)
    light = np.resize(LIGHT, width)
    return rng.normal(size=width) + rng.normal(size=(n_rows, width)) + rng.normal(size=(n_rows, 1)) * light


# Videos


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
    pytest.importorskip("cv2")
    from undistract.report.clip_writer import write_clip

    folder = tmp_path_factory.mktemp("clips")
    (folder / "calm").mkdir()
    for seed in range(1, 11):
        write_clip(folder / "calm" / f"clip{seed}.mp4", dots_under_light(50, seed=seed))
    write_clip(folder / "match.mp4", dots_under_light(150, stranger=True))
    return folder


@pytest.fixture(scope="module", params=SPECS)
def video(request, clips):
    return watched(clips, Reading(features=request.param))


@pytest.fixture(scope="module")
def pixels(clips):
    return watched(clips, Reading(features=SPECS[0]))


def watched(clips, reading):
    model = learned(read_sets(clips / "calm", reading), reading=reading)
    return model, held(read_sets(clips / "match.mp4", reading)[0])


def test_a_video_says_which_seconds_and_pictures_there_are(video):
    model, one = video
    seen = exhibit(model, one, one.rows, 60, 90, STRANGE)
    views = list(VIEWS) if "pool" not in model.reading.features else ["before"]
    assert seen == {
        "kind": "video",
        "clip": True,
        "pictures": views,
        "seconds": [4.0, 10.9],
        "peak_second": pytest.approx(7.5),
    }


def test_there_is_a_picture_for_each_view_that_is_told_and_for_no_other(video):
    model, one = video
    made = {view: item_picture(model, one, one.rows, STRANGE, view) for view in VIEWS}
    assert [view for view, data in made.items() if data is not None] == views_of(model, one)
    for data in filter(None, made.values()):
        assert decoded(data).std() > 1  # something is drawn


def test_the_light_is_gone_from_the_picture_and_the_stranger_is_not(pixels):
    model, one = pixels
    before, after, taken = (decoded(item_picture(model, one, one.rows, STRANGE, view)) for view in VIEWS)
    assert before.shape == after.shape == taken.shape == (8, 12, 3)
    corners = np.ix_([0, -1], [0, -1])
    assert np.ptp(after[..., 0][corners]) < 0.6 * np.ptp(before[..., 0][corners])
    assert after[..., 0].argmin() // 12 in (3, 4)  # the dark square crosses in the middle
    colourful = np.abs(taken[..., 0] - taken[..., 2]).max()
    assert colourful > 100  # amber or blue: signed


def test_heat_lies_where_the_stranger_is(clips):
    reading = Reading(features="cells(cells=6x4,size=48x32,frames=2)")
    model = learned(read_sets(clips / "calm", reading), reading=reading, focus=Focus(n_remove=1))
    one = held(read_sets(clips / "match.mp4", reading)[0])
    picture = decoded(item_picture(model, one, one.rows, STRANGE, "after"))
    tinted = picture[..., 0] - picture[..., 2]  # amber has much red and no blue, the frame is grey
    row, column = np.unravel_index(tinted.argmax(), tinted.shape)
    place = 96 * 6 * (STRANGE - 60 + 0.5) / 30
    assert abs(row - 64 * 6 / 2) < 96  # a cell is 96 pixels wide
    assert abs(column - place) < 144


def test_a_pattern_is_drawn_where_features_have_places(pixels, video):
    model, _ = pixels
    drawn = decoded(pattern_picture(model, model.focus.patterns_[:, 0]))
    assert drawn.shape == (8, 12, 3)
    other = video[0]
    made = pattern_picture(other, np.ones(other.focus.n_features_in_))
    assert (made is None) == ("pool" in other.reading.features)


def test_the_right_side_read_as_the_left_is_the_row_without_what_distracts(pixels):
    """What is taken off a frame is what the projection takes off its row."""
    model, one = pixels
    ((frames, _),) = read_frames(one.source, between=(7.5, 7.5))
    row = one.rows[STRANGE].astype(float)
    clean = model.focus.denoise(row[None, :])[0]
    right = taken_off(frames[0], (row - clean).reshape(8, 12))
    again = make_extractor(SPECS[0])(right[None])[0]
    # Between the middles of areas the light is drawn straight: at the borders it is flat, some hundredths too little.
    np.testing.assert_allclose(again, clean, atol=0.04)
    assert np.abs(again - clean).mean() < 0.1 * np.abs(row - clean).mean()


def test_the_clip_shows_it_beside(video, tmp_path):
    model, one = video
    save = stretch(model, one, one.rows, 70, 80, STRANGE, tmp_path / "alarm.mp4")
    frames = np.concatenate([piece for piece, _ in read_frames(save)])
    sides = 1 if "pool" in model.reading.features else 2
    assert frames.shape == (50, 64 * 6 + 10, 96 * 6 * sides + 4 * (sides - 1), 3)
    if sides == 2:
        left, right = frames[:, : 64 * 6, : 96 * 6], frames[:, : 64 * 6, -96 * 6 :]
        assert np.abs(left.astype(int) - right).mean() > 2


def test_the_newest_clips_are_kept_and_an_older_version_is_found_while_it_is_there():
    kept, written = KeptClips(), []

    def write(path):
        path.write_bytes(b"a clip")
        os.utime(path, (len(written), len(written)))
        written.append(path)

    for number in range(KEPT_CLIPS + 5):
        kept.found([f"0-1-2-{number}"], write)
    assert [path.exists() for path in written] == [False] * 4 + [True] * (KEPT_CLIPS + 1)
    assert kept.found(["0-1-2-9", "0-1-2-99"], write) == written[9]
    assert kept.found(["0-1-2-0", "0-1-2-99"], write).name == "0-1-2-99.mp4"
    kept.close()
    assert not written[-1].parent.exists()


def test_a_window_over_a_video_shows_its_last_frame(clips):
    reading = Reading(features="pixels(size=6x4)", window=3, stride=2)
    model, one = watched(clips, reading)
    assert kind_of(model, one) == "video"
    picture = decoded(item_picture(model, one, one.rows, 30))
    wanted = one.rows[30, -24:].reshape(4, 6)
    scaled = 255 * (wanted - wanted.min()) / np.ptp(wanted)
    np.testing.assert_allclose(picture[..., 0], scaled, atol=1)
    seen = exhibit(model, one, one.rows, 29, 33, 30)
    assert seen["peak_second"] == pytest.approx(one.times[30])


def test_a_video_that_has_gone_is_told_of_by_its_rows_alone(clips, tmp_path, pixels):
    model, one = pixels
    gone = FeatureSet(one.name, one.rows, one.times, str(tmp_path / "gone.mp4"))
    seen = exhibit(model, gone, gone.rows, 60, 90, STRANGE)
    assert (seen["clip"], seen["pictures"]) == (False, list(VIEWS))
    reading = Reading(features="cells(pool=max)")
    copy = shutil.copy(clips / "match.mp4", tmp_path / "copy.mp4")
    other = learned(read_sets(clips / "calm", reading), reading=reading)
    lost = held(read_sets(copy, reading)[0])
    (tmp_path / "copy.mp4").unlink()
    assert exhibit(other, lost, lost.rows, 60, 90, STRANGE)["pictures"] == []
    assert item_picture(other, lost, lost.rows, STRANGE) is None
    with pytest.raises(InputError, match="There is no file"):
        stretch(model, gone, gone.rows, 60, 90, STRANGE, tmp_path / "out.mp4")


# Images


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    """Folders of grey images under a light that slopes."""
    folder = tmp_path_factory.mktemp("faces")
    rng = np.random.default_rng(0)
    slope = np.linspace(-1, 1, 24)[None, :, None]
    for person in range(8):
        (folder / f"person{person}").mkdir()
        face = rng.uniform(80, 170, size=(16, 24, 1))
        for number in range(20):
            lit = face + 60 * rng.normal() * slope + rng.normal(size=(16, 24, 1))
            shown = np.repeat(np.clip(lit, 0, 255).astype(np.uint8), 3, axis=2)
            Image.fromarray(shown).save(folder / f"person{person}" / f"{number}.png")
    return folder


@pytest.mark.parametrize(("features", "shape"), [("pixels(size=12x8)", (8, 12, 3)), ("gradients", (16, 24, 3))])
def test_an_image_has_three_pictures(faces, features, shape):
    reading = Reading(features=features)
    model = learned(read_sets(faces, reading), reading=reading)
    one = held(read_sets(faces / "person3", reading)[0])
    seen = exhibit(model, one, one.rows, 5, 6, 5)
    assert seen["kind"] == "image"
    assert seen["pictures"] == list(VIEWS)
    assert seen.get("size", [8, 12]) == [8, 12]
    for view in VIEWS:
        assert decoded(item_picture(model, one, one.rows, 5, view)).shape == shape
    if features == "gradients":  # the file itself, in natural order
        original = np.asarray(Image.open(faces / "person3" / "5.png"))
        np.testing.assert_array_equal(decoded(item_picture(model, one, one.rows, 5)), original)


@pytest.mark.parametrize("scale", [1.0, 255.0])
def test_rows_that_are_coloured_images_are_shown_in_colour(scale):
    rng = np.random.default_rng(0)
    scene = rng.uniform(size=12)
    sets = [FeatureSet(n, scale * (scene + rng.normal(scale=0.05, size=(40, 12)))) for n in range(8)]
    model = Model(learned(sets).watch, image_shape=(2, 2, 3))
    one = sets[0]
    shown = decoded(item_picture(model, one, one.rows, 3))
    row = one.rows[3].reshape(2, 2, 3)
    np.testing.assert_allclose(shown, 255 * (row - row.min()) / np.ptp(row), atol=1)
    assert exhibit(model, one, one.rows, 3, 4, 3) == {"kind": "image", "pictures": list(VIEWS), "size": [2, 2]}


# Windows and rows


def test_a_window_is_one_course_for_each_column():
    reading = Reading(window=5)
    names = [f"sensor {place}" for place in range(8)]
    days = [FeatureSet(seed, day(seed), feature_names=names) for seed in range(20)]
    from undistract.sets.windows import windowed

    model = learned([windowed(one, 5) for one in days], reading=reading)
    rows = day(99)
    rows[31, 2] += 15
    one = held(windowed(FeatureSet("odd", rows, feature_names=names), 5))
    seen = exhibit(model, one, one.rows, 27, 32, 30)
    assert (seen["kind"], seen["steps"], seen["left_out"]) == ("window", 5, 0)
    assert sorted(series["name"] for series in seen["series"]) == names
    strongest = seen["series"][0]
    assert strongest["name"] == "sensor 2"
    np.testing.assert_allclose(strongest["values"], rows[30:35, 2], rtol=1e-5)
    usual = np.median(one.rows, axis=0).reshape(5, 8)
    np.testing.assert_allclose(strongest["usual"], usual[:, 2], rtol=1e-5, atol=1e-6)
    clean = model.focus.denoise(one.rows[30:31]).reshape(5, 8)
    np.testing.assert_allclose(strongest["after"], clean[:, 2], rtol=1e-5, atol=1e-5)
    json.dumps(seen, allow_nan=False)


@pytest.mark.parametrize("detector", ["nearest", "isolation forest"])
def test_the_cell_that_carried_the_score_comes_first(detector):
    if detector != "nearest":
        from sklearn.ensemble import IsolationForest

        detector = IsolationForest(n_estimators=20, random_state=0)
    model = learned([FeatureSet(seed, day(seed)) for seed in range(20)], detector=detector)
    rows = day(99)
    rows[31, 2] += 25
    one = FeatureSet("odd", rows)
    seen = exhibit(model, one, rows, 31, 32, 31)
    first = seen["cells"][0]
    assert first["name"] == "x2"
    assert first["value"] == pytest.approx(rows[31, 2], rel=1e-5)
    assert first["usual"] == pytest.approx(np.median(rows[:, 2]), rel=1e-5)
    assert first["after"] == pytest.approx(model.focus.denoise(rows[31:32])[0, 2], rel=1e-5)
    parts = [cell["part"] for cell in seen["cells"]]
    assert parts == sorted(parts, reverse=True)
    assert seen == exhibit(model, one, rows, 31, 32, 31, usual=np.median(rows, axis=0))
    json.dumps(seen, allow_nan=False)


def test_shares_are_those_of_the_explanation_and_sum_to_the_score():
    from undistract.detect import explain

    model = learned([FeatureSet(seed, day(seed)) for seed in range(20)])
    rows = day(99)
    found = carried(model, rows, 31, np.median(rows, axis=0))
    why = explain(model.watch, rows, [31])[0]
    np.testing.assert_allclose(found, why.contributions / why.score, atol=1e-12)
    assert found.sum() == pytest.approx(1.0)


def test_a_model_without_rows_still_tells_what_is_kept():
    model = learned([FeatureSet(seed, day(seed)) for seed in range(20)], keep_rows=False)
    rows = day(99)
    rows[31] += 25 * (np.arange(8) == 2)
    seen = exhibit(model, FeatureSet("odd", rows), rows, 31, 32, 31)
    assert seen["cells"][0]["name"] == "x2"
    assert sum(cell["part"] for cell in seen["cells"]) == pytest.approx(1.0, abs=1e-4)


def test_of_many_columns_the_most_telling_are_shown_and_the_rest_counted():
    width = 100
    model = learned([FeatureSet(seed, day(seed, width=width)) for seed in range(8)], keep_rows=False)
    rows = day(99, width=width)
    rows[5, 70] += 40
    seen = exhibit(model, FeatureSet("odd", rows), rows, 5, 6, 5)
    assert len(seen["cells"]) == N_SHOWN
    assert seen["left_out"] == width - N_SHOWN
    assert seen["cells"][0]["name"] == "x70"


@pytest.mark.parametrize("alarm", [(-1, 3, 2), (3, 3, 3), (2, 5, 5), (50, 61, 55)])
def test_an_alarm_that_is_not_there_is_refused_with_numbers(alarm):
    model = learned([FeatureSet(seed, day(seed)) for seed in range(8)], keep_rows=False)
    with pytest.raises(InputError, match="has 60 rows"):
        exhibit(model, FeatureSet("odd", day(99)), day(99), *alarm)


def test_a_view_or_a_row_that_is_not_there_is_refused():
    model = learned([FeatureSet(seed, day(seed)) for seed in range(8)], keep_rows=False)
    one = FeatureSet("odd", day(99))
    assert item_picture(model, one, one.rows, 3) is None
    with pytest.raises(InputError, match="there are before, after, taken of rows 0 to 59"):
        item_picture(model, one, one.rows, 3, "../../etc/passwd")
    with pytest.raises(InputError, match="of row 60 was asked for"):
        item_picture(model, one, one.rows, 60)
    with pytest.raises(InputError, match="no stretch of a video"):
        stretch(model, one, one.rows, 3, 4, 3, "out.mp4")


def test_a_png_of_ours_is_read_by_others_as_it_was():
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 3), (1, 7, 3), (5, 1, 3), (33, 18, 3)):
        colours = rng.integers(0, 256, size=shape, dtype=np.uint8)
        np.testing.assert_array_equal(decoded(png(colours)), colours)
