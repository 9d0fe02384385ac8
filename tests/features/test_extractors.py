"""Extractors: each one, and the contract that all of them share."""

import numpy as np
import pytest

from tests.clips import dots
from undistract import InputError
from undistract.features import EXTRACTORS, Cells, Flow, Gradients, Network, Pixels, make_extractor

# Every registered extractor passes the contract below; `network` needs a model file and has its own tests.
SPECS = [
    *(name for name in EXTRACTORS if name != "network"),
    "cells(pool=max)",
    "flow(pool=max)",
    "flow+pixels(size=6x4)",
]


@pytest.fixture(params=SPECS)
def extract(request):
    if "flow" in request.param:
        pytest.importorskip("cv2")
    return make_extractor(request.param)


def test_rows_are_finite_float32_one_per_frame_and_named(extract):
    rows = extract(dots(9)[..., 0])
    assert rows.shape == (9, len(extract.feature_names))
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert len(set(extract.feature_names)) == rows.shape[1]


def test_name_makes_the_same_extractor(extract):
    again = make_extractor(extract.name)
    assert again == extract
    assert again.name == extract.name
    np.testing.assert_array_equal(again(dots(8)), extract(dots(8)))


def test_row_depends_only_on_its_context(extract):
    frames = dots(16)[..., 0]
    rows = extract(frames)
    for start in (0, 3, 9):
        later = extract(frames[start:])
        np.testing.assert_array_equal(later[extract.context :], rows[start + extract.context :])


def test_colour_frames_are_converted_to_grey(extract):
    colour = dots(8)  # grey dots, in three channels
    # The weights of grey sum to one up to rounding, which optical flow may turn into 0.01 pixels.
    np.testing.assert_allclose(extract(colour), extract(colour[..., 0]), atol=0.02)


def test_first_rows_repeat_the_first_complete_one():
    rows = Cells()(dots(12)[..., 0])
    assert Cells().context == 5
    np.testing.assert_array_equal(rows[:5], np.repeat(rows[5:6], 5, axis=0))
    assert not np.array_equal(rows[5], rows[6])


def test_pixels_are_area_means_for_any_size():
    frames = np.random.default_rng(0).integers(0, 256, size=(2, 7, 10), dtype=np.uint8)
    rows = Pixels(size=(4, 3))(frames).reshape(2, 3, 4)
    np.testing.assert_allclose(rows.mean(axis=(1, 2)), frames.mean(axis=(1, 2)) / 255, rtol=1e-5)
    # Each pixel is split into 4 x 3 parts, then blocks of parts are averaged.
    fine = frames.repeat(3, axis=1).repeat(4, axis=2).reshape(2, 3, 7, 4, 10)
    np.testing.assert_allclose(rows, fine.mean(axis=(2, 4)) / 255, rtol=1e-5)


def test_gradients_depend_on_direction_and_not_on_brightness():
    x = np.arange(64)[None, :].repeat(64, axis=0)
    upright = (100 + 50 * np.sin(x / 3)).astype(np.uint8)[None]
    lying = upright.transpose(0, 2, 1)
    extract = Gradients(size=(64, 64), cells=(1, 1), bins=4)
    assert extract(upright)[0].argmax() == 0
    assert extract(lying)[0].argmax() == 2  # 90 degrees of 180
    np.testing.assert_allclose(extract(upright + np.uint8(40)), extract(upright), atol=1e-5)


def test_gradients_accept_180_bins():
    # Regression: more than 127 bins raised an OverflowError.
    frames = np.zeros((1, 16, 16), np.uint8)
    frames[:, 8:] = 255  # a horizontal edge: the gradient is along y
    extract = Gradients(size=(16, 16), cells=(1, 1), bins=180)
    assert extract.feature_names[int(extract(frames)[0].argmax())] == "edges at 90° at 0,0"


def test_flow_measures_speed_and_direction():
    pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    scene = np.kron(rng.integers(60, 200, size=(20, 30)), np.ones((8, 8))).astype(np.uint8)
    extract = Flow(size=(240, 160), cells=(1, 1), bins=4)
    names = extract.feature_names
    for shift, direction in [((0, 3), "0°"), ((3, 0), "90°"), ((0, -3), "180°")]:  # down is 90 degrees, as rows count
        frames = np.stack([scene, np.roll(scene, shift, axis=(0, 1))])
        row = extract(frames)[1]
        assert names[row[:4].argmax()] == f"motion at {direction} at 0,0"
        assert row[4] == pytest.approx(3, abs=0.4)  # the border rolls over


def test_moving_dot_has_the_largest_cell_value():
    frames = np.full((10, 120, 160), 90, np.uint8)
    for number, frame in enumerate(frames):
        frame[35:45, 10 + 8 * number : 20 + 8 * number] = 220
    extract = Cells()
    by_cell = extract(frames).reshape(10, 12, 16, 3)
    row, column = np.unravel_index(by_cell[-1, :, :, 2].argmax(), (12, 16))
    assert row in (3, 4)
    assert 4 <= column <= 9
    np.testing.assert_array_equal(Cells(pool="max")(frames), by_cell.max(axis=(1, 2)))
    # Static background has no change.
    assert by_cell[-1, 8:].max() == 0


def test_combined_extractors_concatenate_features():
    both = make_extractor("pixels(size=3x2)+gradients(cells=2x2)")
    frames = dots(4)
    np.testing.assert_array_equal(
        both(frames), np.hstack([Pixels(size=(3, 2))(frames), Gradients(cells=(2, 2))(frames)])
    )
    assert both.image_shape is None
    assert both.name == "pixels(size=3x2)+gradients(size=240x160,cells=2x2,bins=8)"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "cannot be parsed"),
        ("pixel", "Did you mean 'pixels'"),
        ("zebra", r"Unknown extractor 'zebra'\. Available: pixels\(size=24x16\)"),
        ("pixels+", "ends with"),
        ("pixels++flow", "cannot be parsed from"),
        ("pixels(size=24)", "must be WIDTHxHEIGHT"),
        ("pixels(size=0x4)", "must be from 1 to"),
        ("pixels(sise=2x2)", "the setting 'sise' does not exist"),
        ("pixels(size=2x2,size=3x3)", "occurs twice"),
        ("flow(bins=many)", "must be an integer"),
        ("flow(size=8x8)", "must be from 32 to"),
        ("cells(pool=mean)", "must be one of none, max"),
        ("network", "network needs path"),
        ("network(path=a.onnx,mean=1/2)", "three numbers"),
        ("pixels(size=2x2", "cannot be parsed from"),
        ("pixels) + flow", "cannot be parsed from"),
    ],
)
def test_invalid_spec_raises_helpful_error(spec, message):
    with pytest.raises(InputError, match=message):
        make_extractor(spec)


def test_specs_may_have_spaces_and_quoted_values():
    spaced = make_extractor(' network( path="a,b (1)+c.onnx" , size=8x6 ) + pixels ')
    assert spaced.parts[0].path == "a,b (1)+c.onnx"
    assert make_extractor(spaced.name) == spaced
    assert set(EXTRACTORS) == {"pixels", "gradients", "cells", "flow", "network"}


def test_integer_settings_survive_round_trip():
    # Regression: (0, 0, 0) was written 0x0x0 like a size.
    extract = Network("street.onnx", mean=(0, 0, 0), std=(1, 1, 1))
    assert make_extractor(extract.name) == extract


@pytest.mark.parametrize("frames", [np.zeros((2, 5, 5)), np.zeros((5, 5), np.uint8), np.zeros((0, 5, 5), np.uint8)])
def test_invalid_frames_raise_error(frames):
    with pytest.raises(InputError, match="Frames have shape"):
        Pixels()(frames)


def test_map_of_values_keeps_the_sum(extract):
    values = np.random.default_rng(0).uniform(size=(3, len(extract.feature_names)))
    maps = extract.feature_map(values)
    if "pool=max" in extract.name:
        assert maps is None
        return
    np.testing.assert_allclose(maps.sum(axis=(1, 2)), values.sum(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(maps[1], extract.feature_map(values[1]))


def test_map_position_matches_the_feature_name():
    extract = make_extractor("cells(cells=4x3)")
    for number in (0, 17, 35):
        column, row = extract.feature_names[number].rpartition(" at ")[2].split(",")
        value_map = extract.feature_map(np.eye(36)[number])
        assert np.argwhere(value_map).tolist() == [[int(row), int(column)]]
