"""Going to a moment of a video without reading all that comes before."""

from __future__ import annotations

from typing import Any

# Containers whose index tells where a moment lies, and whose packets say when they are due. The others are read from
# their start: after a leap into them nobody could say which frame is at hand.
INDEXED = ("mov", "mp4", "matroska", "webm")


def seek_before(av: Any, container: Any, stream: Any, moment: float) -> bool:
    """Go to the last key frame before a moment in seconds, or to the start; False where the file refuses to leap.

    Trying has upset such a file: it must be opened anew.

    Examples
    --------
    >>> with av.open("match.mp4") as container:  # doctest: +SKIP
    ...     seek_before(av, container, container.streams.video[0], 95.0)
    True
    """
    goal = int(moment / stream.time_base)
    first = stream.start_time or 0
    if goal <= first or not set(container.format.name.split(",")) & set(INDEXED):
        return True
    try:
        try:
            container.seek(goal, stream=stream)
            packet = next(container.demux(stream))
            # A damaged index may lead past the moment.
            found = packet.pts is not None and packet.pts <= goal
            container.seek(goal if found else first, stream=stream)
        except (av.FFmpegError, ValueError, StopIteration):
            container.seek(first, stream=stream)
    except av.FFmpegError:  # an index without any key frame
        return False
    return True
