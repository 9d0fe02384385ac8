"""Model files of `KernelFocus`: functions and inconsistent models are never written."""

from dataclasses import replace

import numpy as np
import pytest

from undistract import FileError, InputError, KernelFocus, load, save

DAYS = np.repeat(np.arange(8), 10)


def fitted(**options):
    X = np.random.default_rng(0).normal(size=(80, 4)) + DAYS[:, None]
    return KernelFocus(n_remove=1, n_components=20, random_state=0, **options).fit(X, groups=DAYS)


def test_loaded_stream_continues(tmp_path):
    rng = np.random.default_rng(0)
    X, more = rng.normal(size=(2, 80, 4))
    focus = KernelFocus(approx="nystroem", n_components=20, random_state=0).partial_fit(X, groups=DAYS, batch_id="mon")
    loaded = load(save(focus, tmp_path / "stream"))
    for model in (focus, loaded):
        model.partial_fit(more, groups=DAYS, batch_id="tue").partial_fit(X, groups=DAYS, batch_id="mon")
    assert loaded.moments_.n_rows == 160
    assert np.array_equal(loaded.transform(more), focus.transform(more))


def test_function_kernel_is_not_saved(tmp_path):
    with pytest.raises(InputError, match="a file cannot hold"):
        save(KernelFocus(lambda x, y: x @ y), tmp_path / "code")


def changed(focus, **parts):
    focus.map_ = replace(focus.map_, **parts)


@pytest.mark.parametrize(
    "damage",
    [
        lambda focus: changed(focus, rows=focus.map_.rows[:, :3]),
        lambda focus: changed(focus, basis=focus.map_.basis[1:]),
        lambda focus: changed(focus, basis=focus.map_.basis[:, 1:]),
        lambda focus: changed(focus, basis=np.full_like(focus.map_.basis, np.nan)),
        lambda focus: changed(focus, news=False),
        lambda focus: changed(focus, news=1),
        lambda focus: changed(focus, floor=-1.0),
        lambda focus: changed(focus, kernel=replace(focus.map_.kernel, name="anything")),
        lambda focus: changed(focus, kernel=replace(focus.map_.kernel, parameters={})),
        lambda focus: changed(focus, kernel=replace(focus.map_.kernel, parameters={"gamma": np.nan})),
        lambda focus: changed(focus, kernel=replace(focus.map_.kernel, origin=np.zeros(3))),
        lambda focus: changed(focus, kernel=replace(focus.map_.kernel, origin=None)),
        lambda focus: setattr(focus, "n_features_in_", 5),
        lambda focus: setattr(focus, "focus_", type(focus.focus_)()),
    ],
)
def test_inconsistent_model_is_not_saved(tmp_path, damage):
    focus = fitted()
    damage(focus)
    with pytest.raises((InputError, FileError)):
        save(focus, tmp_path / "inconsistent")


def test_frequencies_of_wrong_width_are_not_saved(tmp_path):
    focus = fitted(approx="fourier")
    changed(focus, frequencies=focus.map_.frequencies[1:])
    with pytest.raises((InputError, FileError)):
        save(focus, tmp_path / "inconsistent")
