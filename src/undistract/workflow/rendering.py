"""A clip that was scored, with its scores drawn below."""

from __future__ import annotations

from pathlib import Path

from undistract.detect import find_alarms
from undistract.errors import InputError
from undistract.files import keep_apart
from undistract.report.render import render_video
from undistract.sets.paths import VIDEOS
from undistract.workflow.scoring import ScoredSets


def render(scored: ScoredSets, path: str | Path) -> Path:
    """Draw the score track, the alarms and the ignored share below the one clip that was scored.

    Examples
    --------
    >>> render(ScoredSets((), None, None), "out.mp4")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: 0 sets were scored; one video can be drawn at a time...
    """
    path = Path(path)
    if len(scored) != 1:
        raise InputError(
            f"{len(scored)} sets were scored; one video can be drawn at a time. Score one, or leave --render out."
        )
    one = scored.sets[0]
    if one.source is None or Path(one.source).suffix.lower() not in VIDEOS or one.after.times is None:
        raise InputError(f"Set {one.after.name!r} is not a video; only videos can be drawn. Leave --render out.")
    if path.suffix.lower() != ".mp4":
        raise InputError(f"A clip cannot be written as {path.name!r}; end the name in .mp4.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {str(path.parent)!r}. Make it first, or save somewhere else.")
    keep_apart(path, scored.read_from())
    return render_video(
        one.source,
        one.after.times,
        one.after.values,
        save=path,
        threshold=None if scored.threshold is None else scored.threshold.value,
        alarms=[] if scored.threshold is None else find_alarms(one.after, scored.threshold),
        ignored_share=one.ignored,
    )
