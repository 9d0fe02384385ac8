"""Rows of frames do not depend on the chunks of frames."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from undistract.sources.images import frame_rows


class LooksBack:
    """The difference to the frame `context` earlier; the first rows repeat the first complete one."""

    def __init__(self, context):
        self.context = context

    def __call__(self, frames):
        values = frames.reshape(len(frames), -1).astype(float)
        change = values - np.roll(values, self.context, axis=0)
        change[: self.context] = change[self.context] if len(frames) > self.context else 0.0
        return change


@given(st.integers(1, 12), st.integers(0, 4), st.lists(st.integers(1, 11), max_size=5))
def test_rows_are_those_of_all_frames_at_once(n_frames, context, cuts):
    frames = np.random.default_rng(n_frames).integers(0, 256, (n_frames, 2, 3), dtype=np.uint8)
    times = np.arange(n_frames) / 10
    bounds = [0, *sorted({min(cut, n_frames) for cut in cuts}), n_frames]
    chunks = [(frames[a:b], times[a:b]) for a, b in itertools.pairwise(bounds) if a < b]
    extract = LooksBack(context)
    rows, row_times = zip(*frame_rows(chunks, extract), strict=True)
    assert np.array_equal(np.concatenate(rows), extract(frames))
    assert np.array_equal(np.concatenate(row_times), times)
