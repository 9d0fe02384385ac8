"""Pictures of what alarmed: a row that is an image, or the frame it was made of; before, after, and what was taken.

a row is an image     as it is · without what distracts · what was taken out (signed)
its features lie      the frame · and over it what carried the score · and over it what was taken out
all else              the frame alone
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from undistract.arrays import Floats, Rows
from undistract.errors import InputError
from undistract.report.contents import Shown, image_pictures
from undistract.report.overlay import overlaid
from undistract.report.plots import AMBER, BLUE
from undistract.report.png import Picture, png, shrunk
from undistract.report.stretch import LARGEST_WIDTH, fitted
from undistract.sets.feature_set import FeatureSet
from undistract.sets.images import read_image
from undistract.sets.videos import read_frames
from undistract.workflow.carried import carried, kept_deviation
from undistract.workflow.item_kinds import frame_map, frame_shape, kind_of, last_image
from undistract.workflow.model import Model

VIEWS = ("before", "after", "taken")


def views_of(model: Model, one: FeatureSet) -> list[str]:
    """Say which pictures `item_picture` can make: "before", "after", "taken".

    Examples
    --------
    >>> from undistract import Focus
    >>> views_of(Model(Focus(), image_shape=(2, 2)), FeatureSet("faces", [[1.0, 2.0, 3.0, 4.0]]))
    ['before', 'after', 'taken']
    """
    kind = kind_of(model, one)
    if kind not in ("video", "image"):
        return []
    if frame_shape(model, one.n_features) is not None:
        return list(VIEWS)
    lost = one.source is None or not Path(one.source).exists() or (kind == "image" and one.row_names is None)
    if lost:
        return []
    return list(VIEWS if frame_map(model, np.zeros(one.n_features)) is not None else VIEWS[:1])


def item_picture(
    model: Model, one: FeatureSet, rows: Rows, row: int, view: str = "before", *, usual: Floats | None = None
) -> bytes | None:
    """Draw a row as a PNG; None where there is nothing to draw.

    A frame that cannot be read any more is an `InputError`.

    Parameters
    ----------
    model : Model
    one : FeatureSet
        The set of the row, with its source and the names of its rows; its times are asked for, so it should hold them.
    rows : (n, d) array
        The rows of the set.
    row : int
    view : {"before", "after", "taken"}
    usual : (d,) array, optional
        The median of the rows, where it is known already.

    Examples
    --------
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> sets = [FeatureSet(n, rng.normal(size=4) + rng.normal(size=(50, 4)) * [9, 1, 1, 1]) for n in range(9)]
    >>> learned = learn(sets)
    >>> model = Model(learned.watch, image_shape=(2, 2))
    >>> item_picture(model, sets[0], sets[0].rows, 7, "taken")[1:4]
    b'PNG'
    """
    if view not in VIEWS or not 0 <= row < len(rows):
        raise InputError(
            f"view {view!r} of row {row} was asked for; there are {', '.join(VIEWS)} of rows 0 to {len(rows) - 1}."
        )
    if view not in views_of(model, one):
        return None
    shown = row_pictures(model, rows[row])
    if shown:
        chosen = shown[VIEWS.index(view)]
        return png(shrunk(chosen.pixels, LARGEST_WIDTH), limits=chosen.limits, signed=chosen.signed)
    frame = _frame(one, row)
    if view == "before":
        return png(frame)
    middle = np.median(rows, axis=0) if usual is None else usual
    if view == "after":
        found = frame_map(model, np.maximum(carried(model, rows, row, middle), 0.0))
    else:
        found = frame_map(model, (rows[row] - middle - kept_deviation(model, rows[row][None, :], middle)[0]) ** 2)
    assert found is not None  # views_of has asked
    return png(overlaid(frame, found, float(found.max()), AMBER[0] if view == "after" else BLUE[0]))


def row_pictures(model: Model, row: Rows) -> tuple[Shown, ...]:
    """Show a row that is an image: as it is, without what distracts, what was taken out; none where it is no image.

    Examples
    --------
    >>> from undistract import Focus
    >>> row_pictures(Model(Focus()), np.ones(3))
    ()
    """
    shape = frame_shape(model, len(row))
    if shape is None:
        return ()
    clean = model.focus.denoise(row[None, :])[0]
    return image_pictures(*(last_image(values, shape) for values in (row, clean)))


def pattern_picture(model: Model, direction: Floats) -> bytes | None:
    """Draw a direction (d,), such as one that is ignored, as a PNG around zero; None where features have no place.

    Examples
    --------
    >>> from undistract import Focus
    >>> pattern_picture(Model(Focus(), image_shape=(1, 2)), np.array([-1.0, 1.0]))[1:4]
    b'PNG'
    >>> pattern_picture(Model(Focus()), np.array([-1.0, 1.0])) is None
    True
    """
    shape = frame_shape(model, len(direction))
    if shape is not None:
        image = last_image(direction, shape)
        found = image if image.ndim == 2 else image.mean(axis=2)
    else:
        found = frame_map(model, np.abs(direction))  # several kinds lie in one place, each with a sign of its own
    return None if found is None else png(shrunk(found, LARGEST_WIDTH), signed=True)


def _frame(one: FeatureSet, row: int) -> Picture:
    """Read the frame or the image file of a row."""
    assert one.source is not None
    source, times, names = Path(one.source), one.times, one.row_names
    if names is not None and source.is_dir():
        image = shrunk(read_image(source / names[row]), LARGEST_WIDTH)
        return np.asarray(image, dtype=np.uint8)
    # Where a damaged file has lost the frame, the next within a second will do.
    now = 0.0 if times is None else float(times[row])
    frames, _ = next(iter(read_frames(source, between=(now - 0.0005, now + 1.0))))
    return fitted(frames[0])
