"""Extractors: what each reads, and what all have in common."""

import numpy as np
import pytest

from tests.clips import dots
from undistract import InputError
from undistract.features import EXTRACTORS, Cells, Flow, Gradients, Network, Pixels, make_extractor
from undistract.features.places import place_map

SPECS = ["pixels", "gradients", "cells", "cells(pool=max)", "flow", "flow(pool=max)", "flow+pixels(size=6x4)"]


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


def test_the_name_makes_the_same_extractor_again(extract):
    again = make_extractor(extract.name)
    assert again == extract
    assert again.name == extract.name
    np.testing.assert_array_equal(again(dots(8)), extract(dots(8)))


def test_a_row_depends_on_its_context_and_nothing_else(extract):
    frames = dots(16)[..., 0]
    rows = extract(frames)
    for start in (0, 3, 9):
        some = extract(frames[start:])
        np.testing.assert_array_equal(some[extract.context :], rows[start + extract.context :])


def test_colour_frames_are_read_as_grey(extract):
    colour = dots(8)  # grey dots, in three channels
    # The three weights of grey sum to one up to rounding; optical flow may turn that into a hundredth of a pixel.
    np.testing.assert_allclose(extract(colour), extract(colour[..., 0]), atol=0.02)


def test_the_first_rows_repeat_the_first_that_has_all_its_context():
    rows = Cells()(dots(12)[..., 0])
    assert Cells().context == 5
    np.testing.assert_array_equal(rows[:5], np.repeat(rows[5:6], 5, axis=0))
    assert not np.array_equal(rows[5], rows[6])


def test_pixels_are_means_of_areas_also_where_sizes_do_not_divide():
    frames = np.random.default_rng(0).integers(0, 256, size=(2, 7, 10), dtype=np.uint8)
    rows = Pixels(size=(4, 3))(frames).reshape(2, 3, 4)
    np.testing.assert_allclose(rows.mean(axis=(1, 2)), frames.mean(axis=(1, 2)) / 255, rtol=1e-5)
    # Each pixel cut into 4 x 3 parts, then whole blocks of parts.
    fine = frames.repeat(3, axis=1).repeat(4, axis=2).reshape(2, 3, 7, 4, 10)
    np.testing.assert_allclose(rows, fine.mean(axis=(2, 4)) / 255, rtol=1e-5)


def test_gradients_see_which_way_edges_run_and_not_how_bright_the_scene_is():
    x = np.arange(64)[None, :].repeat(64, axis=0)
    upright = (100 + 50 * np.sin(x / 3)).astype(np.uint8)[None]
    lying = upright.transpose(0, 2, 1)
    extract = Gradients(size=(64, 64), cells=(1, 1), bins=4)
    assert extract(upright)[0].argmax() == 0
    assert extract(lying)[0].argmax() == 2  # 90 degrees of 180
    np.testing.assert_allclose(extract(upright + np.uint8(40)), extract(upright), atol=1e-5)


def test_directions_may_be_as_fine_as_degrees():
    # More than 127 of them were an OverflowError.
    frames = np.zeros((1, 16, 16), np.uint8)
    frames[:, 8:] = 255  # one level edge: the gradient runs along y
    extract = Gradients(size=(16, 16), cells=(1, 1), bins=180)
    assert extract.feature_names[int(extract(frames)[0].argmax())] == "edges at 90° at 0,0"


def test_flow_says_how_fast_and_which_way_a_thing_went():
    pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    scene = np.kron(rng.integers(60, 200, size=(20, 30)), np.ones((8, 8))).astype(np.uint8)
    extract = Flow(size=(240, 160), cells=(1, 1), bins=4)
    names = extract.feature_names
    for shift, way in [((0, 3), "0°"), ((3, 0), "90°"), ((0, -3), "180°")]:  # down is 90 degrees, as rows count
        frames = np.stack([scene, np.roll(scene, shift, axis=(0, 1))])
        row = extract(frames)[1]
        assert names[row[:4].argmax()] == f"motion at {way} at 0,0"
        assert row[4] == pytest.approx(3, abs=0.4)  # the border rolls over


def test_a_running_dot_is_the_strangest_cell_and_stays_so_when_pooled():
    frames = np.full((10, 120, 160), 90, np.uint8)
    for number, frame in enumerate(frames):
        frame[35:45, 10 + 8 * number : 20 + 8 * number] = 220
    extract = Cells()
    by_cell = extract(frames).reshape(10, 12, 16, 3)
    row, column = np.unravel_index(by_cell[-1, :, :, 2].argmax(), (12, 16))
    assert row in (3, 4)
    assert 4 <= column <= 9
    np.testing.assert_array_equal(Cells(pool="max")(frames), by_cell.max(axis=(1, 2)))
    # The rest of the scene is still, and reads as still.
    assert by_cell[-1, 8:].max() == 0


def test_side_by_side_is_each_for_itself():
    both = make_extractor("pixels(size=3x2)+gradients(cells=2x2)")
    frames = dots(4)
    np.testing.assert_array_equal(
        both(frames), np.hstack([Pixels(size=(3, 2))(frames), Gradients(cells=(2, 2))(frames)])
    )
    assert both.image_shape is None
    assert both.name == "pixels(size=3x2)+gradients(size=240x160,cells=2x2,bins=8)"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "cannot be read"),
        ("pixel", "Did you mean 'pixels'"),
        ("zebra", r"There is no extractor 'zebra'\. There are: pixels\(size=24x16\)"),
        ("pixels+", "ends with"),
        ("pixels++flow", "cannot be read from"),
        ("pixels(size=24)", "expected WIDTHxHEIGHT"),
        ("pixels(size=0x4)", "at least 1"),
        ("pixels(sise=2x2)", "the setting 'sise' does not exist"),
        ("pixels(size=2x2,size=3x3)", "given twice"),
        ("flow(bins=many)", "expected a whole number"),
        ("flow(size=8x8)", "at least 32"),
        ("cells(pool=mean)", "expected one of none, max"),
        ("network", "network needs path"),
        ("network(path=a.onnx,mean=1/2)", "three numbers"),
        ("pixels(size=2x2", "cannot be read from"),
        ("pixels) + flow", "cannot be read from"),
    ],
)
def test_a_spec_that_cannot_be_read_says_what_can(spec, words):
    with pytest.raises(InputError, match=words):
        make_extractor(spec)


def test_specs_may_have_spaces_and_quoted_values():
    spaced = make_extractor(' network( path="a,b (1)+c.onnx" , size=8x6 ) + pixels ')
    assert spaced.parts[0].path == "a,b (1)+c.onnx"
    assert make_extractor(spaced.name) == spaced
    assert set(EXTRACTORS) == {"pixels", "gradients", "cells", "flow", "network"}


def test_whole_numbers_are_written_so_that_they_are_read_again():
    # 0, 0, 0 was written 0x0x0, as if it were a size.
    extract = Network("street.onnx", mean=(0, 0, 0), std=(1, 1, 1))
    assert make_extractor(extract.name) == extract


@pytest.mark.parametrize("frames", [np.zeros((2, 5, 5)), np.zeros((5, 5), np.uint8), np.zeros((0, 5, 5), np.uint8)])
def test_what_is_no_frame_is_refused(frames):
    with pytest.raises(InputError, match="Frames have shape"):
        Pixels()(frames)


def test_values_are_laid_out_where_their_features_lie_and_none_is_lost(extract):
    values = np.random.default_rng(0).uniform(size=(3, len(extract.feature_names)))
    maps = place_map(extract, values)
    if "pool=max" in extract.name:
        assert maps is None
        return
    np.testing.assert_allclose(maps.sum(axis=(1, 2)), values.sum(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(maps[1], place_map(extract, values[1]))


def test_a_place_is_that_of_its_name():
    extract = make_extractor("cells(cells=4x3)")
    for number in (0, 17, 35):
        column, row = extract.feature_names[number].rpartition(" at ")[2].split(",")
        found = place_map(extract, np.eye(36)[number])
        assert np.argwhere(found).tolist() == [[int(row), int(column)]]
