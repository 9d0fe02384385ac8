"""Evidence for alarms: of a video, an image, a window of a time series, a row of a table."""

import json
import os
import shutil
import warnings
from io import BytesIO

import numpy as np
import pytest

from undistract import Focus, InputError, Model, ReadOptions, Source, learn, read_sources
from undistract.datasets.synthetic import make_illuminated_clip
from undistract.errors import EvidenceWarning
from undistract.features import make_extractor
from undistract.pipeline.rows import row_type
from undistract.report.images import png, subtract
from undistract.review.evidence import (
    N_CLIPS,
    N_SHOWN,
    VIEWS,
    ClipCache,
    evidence_view,
    item_picture,
    pattern_picture,
    score_contributions,
    views_of,
    write_item_clip,
)
from undistract.sources.videos import read_frames

Image = pytest.importorskip("PIL.Image")

LIGHT = np.linspace(-30, 30, 8)
SPECS = ("pixels(size=12x8)", "cells(cells=6x4,size=48x32)", "cells(pool=max)")
STRANGE = 75  # a frame with the stranger in its middle


def learned(groups, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # few small groups are enough here
        return learn(groups, **options)


def held(one):
    """Load the rows of a source, as a session does."""
    return Source(one.name, one.rows, one.times, one.origin, row_names=one.row_names)


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
    from undistract.report.video import write_clip

    folder = tmp_path_factory.mktemp("clips")
    (folder / "calm").mkdir()
    for seed in range(1, 11):
        write_clip(folder / "calm" / f"clip{seed}.mp4", make_illuminated_clip(50, seed=seed))
    write_clip(folder / "match.mp4", make_illuminated_clip(150, stranger=True))
    return folder


@pytest.fixture(scope="module", params=SPECS)
def video(request, clips):
    return watched(clips, ReadOptions(features=request.param))


@pytest.fixture(scope="module")
def pixels(clips):
    return watched(clips, ReadOptions(features=SPECS[0]))


def watched(clips, reading):
    model = learned(read_sources(clips / "calm", reading), reading=reading)
    return model, held(read_sources(clips / "match.mp4", reading)[0])


def test_video_evidence_has_seconds_and_pictures(video):
    model, one = video
    seen = evidence_view(model, one, 60, 90, STRANGE)
    views = list(VIEWS) if "pool" not in model.reading.features else ["before"]
    assert seen == {
        "kind": "video",
        "clip": True,
        "pictures": views,
        "seconds": [4.0, 10.9],
        "peak_second": pytest.approx(7.5),
    }


def test_exactly_the_listed_views_have_a_picture(video):
    model, one = video
    made = {view: item_picture(model, one, STRANGE, view) for view in VIEWS}
    assert [view for view, data in made.items() if data is not None] == views_of(model, one)
    for data in filter(None, made.values()):
        assert decoded(data).std() > 1  # something is drawn


def test_picture_shows_the_stranger_without_the_light(pixels):
    model, one = pixels
    before, after, taken = (decoded(item_picture(model, one, STRANGE, view)) for view in VIEWS)
    assert before.shape == after.shape == taken.shape == (8, 12, 3)
    corners = np.ix_([0, -1], [0, -1])
    assert np.ptp(after[..., 0][corners]) < 0.6 * np.ptp(before[..., 0][corners])
    assert after[..., 0].argmin() // 12 in (3, 4)  # the dark square crosses in the middle
    colourful = np.abs(taken[..., 0] - taken[..., 2]).max()
    assert colourful > 100  # amber or blue: signed


def test_overlay_is_strongest_at_the_stranger(clips):
    reading = ReadOptions(features="cells(cells=6x4,size=48x32,frames=2)")
    model = learned(read_sources(clips / "calm", reading), reading=reading, focus=Focus(n_remove=1))
    one = held(read_sources(clips / "match.mp4", reading)[0])
    picture = decoded(item_picture(model, one, STRANGE, "after"))
    tinted = picture[..., 0] - picture[..., 2]  # amber has much red and no blue, the frame is grey
    row, column = np.unravel_index(tinted.argmax(), tinted.shape)
    place = 96 * 6 * (STRANGE - 60 + 0.5) / 30
    assert abs(row - 64 * 6 / 2) < 96  # a cell is 96 pixels wide
    assert abs(column - place) < 144


def test_pattern_is_drawn_if_features_have_positions(pixels, video):
    model, _ = pixels
    drawn = decoded(pattern_picture(model, model.focus.patterns_[:, 0]))
    assert drawn.shape == (8, 12, 3)
    other = video[0]
    made = pattern_picture(other, np.ones(other.focus.n_features_in_))
    assert (made is None) == ("pool" in other.reading.features)


def test_features_of_the_right_side_are_the_denoised_row(pixels):
    """The part that is subtracted from a frame is the part that the projection removes from its row."""
    model, one = pixels
    ((frames, _),) = read_frames(one.origin, between=(7.5, 7.5))
    row = one.rows[STRANGE].astype(float)
    clean = model.focus.denoise(row[None, :])[0]
    right = subtract(frames[0], (row - clean).reshape(8, 12))
    again = make_extractor(SPECS[0])(right[None])[0]
    # Light is interpolated linearly between the centres of cells and is constant at the borders: a few hundredths off.
    np.testing.assert_allclose(again, clean, atol=0.04)
    assert np.abs(again - clean).mean() < 0.1 * np.abs(row - clean).mean()


def test_clip_has_two_sides(video, tmp_path):
    model, one = video
    save = write_item_clip(model, one, 70, 80, STRANGE, tmp_path / "alarm.mp4")
    frames = np.concatenate([piece for piece, _ in read_frames(save)])
    sides = 1 if "pool" in model.reading.features else 2
    assert frames.shape == (50, 64 * 6 + 10, 96 * 6 * sides + 4 * (sides - 1), 3)
    if sides == 2:
        left, right = frames[:, : 64 * 6, : 96 * 6], frames[:, : 64 * 6, -96 * 6 :]
        assert np.abs(left.astype(int) - right).mean() > 2


def test_cache_keeps_the_newest_clips():
    kept, written = ClipCache(), []

    def write(path):
        path.write_bytes(b"a clip")
        os.utime(path, (len(written), len(written)))
        written.append(path)

    for number in range(N_CLIPS + 5):
        kept.get([f"0-1-2-{number}"], write)
    assert [path.exists() for path in written] == [False] * 4 + [True] * (N_CLIPS + 1)
    assert kept.get(["0-1-2-9", "0-1-2-99"], write) == written[9]
    assert kept.get(["0-1-2-0", "0-1-2-99"], write).name == "0-1-2-99.mp4"
    kept.close()
    assert not written[-1].parent.exists()


def test_window_over_a_video_shows_its_last_frame(clips):
    reading = ReadOptions(features="pixels(size=6x4)", window=3, stride=2)
    model, one = watched(clips, reading)
    assert row_type(model, one) == "video"
    picture = decoded(item_picture(model, one, 30))
    wanted = one.rows[30, -24:].reshape(4, 6)
    scaled = 255 * (wanted - wanted.min()) / np.ptp(wanted)
    np.testing.assert_allclose(picture[..., 0], scaled, atol=1)
    seen = evidence_view(model, one, 29, 33, 30)
    assert seen["peak_second"] == pytest.approx(one.times[30])


def test_missing_video_has_only_the_evidence_of_its_rows(clips, tmp_path, pixels):
    model, one = pixels
    gone = Source(one.name, one.rows, one.times, str(tmp_path / "gone.mp4"))
    seen = evidence_view(model, gone, 60, 90, STRANGE)
    assert (seen["clip"], seen["pictures"]) == (False, list(VIEWS))
    reading = ReadOptions(features="cells(pool=max)")
    copy = shutil.copy(clips / "match.mp4", tmp_path / "copy.mp4")
    other = learned(read_sources(clips / "calm", reading), reading=reading)
    lost = held(read_sources(copy, reading)[0])
    (tmp_path / "copy.mp4").unlink()
    assert evidence_view(other, lost, 60, 90, STRANGE)["pictures"] == []
    assert item_picture(other, lost, STRANGE) is None
    with pytest.raises(InputError, match="There is no file"):
        write_item_clip(model, gone, 60, 90, STRANGE, tmp_path / "out.mp4")


# Images


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    """Folders of grey images with a linear light gradient."""
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
def test_image_has_three_pictures(faces, features, shape):
    reading = ReadOptions(features=features)
    model = learned(read_sources(faces, reading), reading=reading)
    one = held(read_sources(faces / "person3", reading)[0])
    seen = evidence_view(model, one, 5, 6, 5)
    assert seen["kind"] == "image"
    assert seen["pictures"] == list(VIEWS)
    assert seen.get("size", [8, 12]) == [8, 12]
    for view in VIEWS:
        assert decoded(item_picture(model, one, 5, view)).shape == shape
    if features == "gradients":  # the file itself, in natural order
        original = np.asarray(Image.open(faces / "person3" / "5.png"))
        np.testing.assert_array_equal(decoded(item_picture(model, one, 5)), original)


@pytest.mark.parametrize("scale", [1.0, 255.0])
def test_color_images_are_shown_in_color(scale):
    rng = np.random.default_rng(0)
    scene = rng.uniform(size=12)
    groups = [Source(n, scale * (scene + rng.normal(scale=0.05, size=(40, 12)))) for n in range(8)]
    model = Model(learned(groups).detector, image_shape=(2, 2, 3))
    one = groups[0]
    shown = decoded(item_picture(model, one, 3))
    row = one.rows[3].reshape(2, 2, 3)
    np.testing.assert_allclose(shown, 255 * (row - row.min()) / np.ptp(row), atol=1)
    assert evidence_view(model, one, 3, 4, 3) == {"kind": "image", "pictures": list(VIEWS), "size": [2, 2]}


# Windows and rows


def test_window_has_a_curve_per_column():
    reading = ReadOptions(window=5)
    names = [f"sensor {place}" for place in range(8)]
    days = [Source(seed, day(seed), feature_names=names) for seed in range(20)]
    from undistract.sources.windows import windowed

    model = learned([windowed(one, 5) for one in days], reading=reading)
    rows = day(99)
    rows[31, 2] += 15
    one = held(windowed(Source("odd", rows, feature_names=names), 5))
    seen = evidence_view(model, one, 27, 32, 30)
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
def test_cell_with_the_largest_contribution_comes_first(detector):
    if detector != "nearest":
        from sklearn.ensemble import IsolationForest

        detector = IsolationForest(n_estimators=20, random_state=0)
    model = learned([Source(seed, day(seed)) for seed in range(20)], detector=detector)
    rows = day(99)
    rows[31, 2] += 25
    one = Source("odd", rows)
    seen = evidence_view(model, one, 31, 32, 31)
    first = seen["cells"][0]
    assert first["name"] == "x2"
    assert first["value"] == pytest.approx(rows[31, 2], rel=1e-5)
    assert first["usual"] == pytest.approx(np.median(rows[:, 2]), rel=1e-5)
    assert first["after"] == pytest.approx(model.focus.denoise(rows[31:32])[0, 2], rel=1e-5)
    parts = [cell["part"] for cell in seen["cells"]]
    assert parts == sorted(parts, reverse=True)
    assert seen == evidence_view(model, one, 31, 32, 31, median=np.median(rows, axis=0))
    json.dumps(seen, allow_nan=False)


def test_shares_are_those_of_the_explanation_and_sum_to_one():
    from undistract.detect import explain

    model = learned([Source(seed, day(seed)) for seed in range(20)])
    rows = day(99)
    found = score_contributions(model, rows, 31, np.median(rows, axis=0))
    why = explain(model.detector, rows, [31])[0]
    np.testing.assert_allclose(found, why.contributions / why.score, atol=1e-12)
    assert found.sum() == pytest.approx(1.0)


def test_model_without_rows_uses_the_kept_deviation():
    model = learned([Source(seed, day(seed)) for seed in range(20)], keep_rows=False)
    rows = day(99)
    rows[31] += 25 * (np.arange(8) == 2)
    seen = evidence_view(model, Source("odd", rows), 31, 32, 31)
    assert seen["cells"][0]["name"] == "x2"
    assert sum(cell["part"] for cell in seen["cells"]) == pytest.approx(1.0, abs=1e-4)


def test_of_many_columns_the_strongest_are_shown_and_the_others_counted():
    width = 100
    model = learned([Source(seed, day(seed, width=width)) for seed in range(8)], keep_rows=False)
    rows = day(99, width=width)
    rows[5, 70] += 40
    seen = evidence_view(model, Source("odd", rows), 5, 6, 5)
    assert len(seen["cells"]) == N_SHOWN
    assert seen["left_out"] == width - N_SHOWN
    assert seen["cells"][0]["name"] == "x70"


@pytest.mark.parametrize("alarm", [(-1, 3, 2), (3, 3, 3), (2, 5, 5), (50, 61, 55)])
def test_invalid_alarm_raises_with_numbers(alarm):
    model = learned([Source(seed, day(seed)) for seed in range(8)], keep_rows=False)
    with pytest.raises(InputError, match="stop <= 60, got start"):
        evidence_view(model, Source("odd", day(99)), *alarm)


def test_unknown_view_or_row_raises():
    model = learned([Source(seed, day(seed)) for seed in range(8)], keep_rows=False)
    one = Source("odd", day(99))
    assert item_picture(model, one, 3) is None
    with pytest.raises(InputError, match="one of before, after, taken and the row from 0 to 59"):
        item_picture(model, one, 3, "../../etc/passwd")
    with pytest.raises(InputError, match="got view 'before' of row 60"):
        item_picture(model, one, 60)
    with pytest.raises(InputError, match="must be a part of a video"):
        write_item_clip(model, one, 3, 4, 3, "out.mp4")


def test_png_is_decoded_unchanged():
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 3), (1, 7, 3), (5, 1, 3), (33, 18, 3)):
        colours = rng.integers(0, 256, size=shape, dtype=np.uint8)
        np.testing.assert_array_equal(decoded(png(colours)), colours)
