"""What a video promised, and what of it could be read.

promised   0 1 2 3 4 5 6 7 8 9
read       0 1 2 . . 5 6 . . .         lost: 3-4 (cannot be decoded), 7-9 (the file ends early)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from undistract.arrays import Ints, Rows

UNDECODED, GAP, EARLY_END = "cannot be decoded", "missing from the file", "the file ends early"
# A pause is taken for a loss only where almost all other steps are alike: frames may come when they like.
REGULAR_SHARE = 0.95


@dataclass(frozen=True)
class Lost:
    """A stretch of frames that could not be read.

    Parameters
    ----------
    first_frame, last_frame : int
        Counted from 0 over all frames that the file promised.
    start, stop : float
        In seconds: when the first was due, and when the first frame after them was.
    why : str

    Examples
    --------
    >>> print(Lost(40, 49, 4.0, 5.0, "cannot be decoded"))
    frames 40 to 49 (4.00 s to 5.00 s): cannot be decoded
    """

    first_frame: int
    last_frame: int
    start: float
    stop: float
    why: str

    @property
    def n_frames(self) -> int:
        """How many frames it spans."""
        return self.last_frame - self.first_frame + 1

    def __str__(self) -> str:
        return f"frames {self.first_frame} to {self.last_frame} ({self.start:.2f} s to {self.stop:.2f} s): {self.why}"


@dataclass(frozen=True)
class VideoReport:
    """What was found in a video file.

    Parameters
    ----------
    source : str
        The file's name.
    width, height : int
        Of a frame as it is shown, after rotation.
    n_frames : int
        How many could be read.
    seconds : float
        From the first frame to the end of the last.
    lost : tuple of Lost

    Examples
    --------
    >>> print(VideoReport("a.mp4", 320, 240, 50, 6.0, (Lost(40, 49, 4.0, 5.0, "cannot be decoded"),)))
    a.mp4: 50 frames of 320 x 240 in 6.00 s; 10 lost: frames 40 to 49 (4.00 s to 5.00 s): cannot be decoded
    """

    source: str
    width: int
    height: int
    n_frames: int
    seconds: float
    lost: tuple[Lost, ...] = ()

    @property
    def n_lost(self) -> int:
        """How many frames were promised and could not be read."""
        return sum(lost.n_frames for lost in self.lost)

    def __str__(self) -> str:
        words = f"{self.source}: {self.n_frames} frames of {self.width} x {self.height} in {self.seconds:.2f} s"
        if not self.lost:
            return words
        more = f" and {len(self.lost) - 5} more stretches" if len(self.lost) > 5 else ""
        return f"{words}; {self.n_lost} lost: {'; '.join(map(str, self.lost[:5]))}{more}"


@dataclass
class Ledger:
    """Books what a reader meets: times promised by packets, times of frames that came out, in ticks."""

    tick: Fraction  # seconds
    step: float  # seconds from frame to frame, as the file says
    promised_frames: int = 0  # as the file says; 0 where it does not
    promised_end: float | None = None  # seconds
    packets: list[int] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    n_frames: int = 0  # that came out, with a time or without
    troubled: bool = False  # the decoder complained

    def lost(self) -> tuple[Lost, ...]:
        """Compare what was promised with what came."""
        due = np.unique(np.array(self.packets + self.frames, dtype=np.int64))
        if not len(due):
            return ()
        seconds = due * float(self.tick)
        came = np.isin(due, np.array(self.frames, dtype=np.int64))
        # Some packets are not meant to be shown: without a complaint and with a full count nothing is missing.
        if not self.troubled and self.n_frames >= self.promised_frames:
            came[:] = True
        step = float(np.median(np.diff(seconds))) if len(due) > 1 else self.step
        pauses = self._pauses(seconds, step)  # frames missing before each due one, (n,)
        number = np.arange(len(due)) + np.cumsum(pauses)
        after = np.append(seconds[1:], seconds[-1] + step)
        found = [
            Lost(int(number[i] - pauses[i]), int(number[i]) - 1, float(after[i - 1]), float(seconds[i]), GAP)
            if gap
            else Lost(int(number[i]), int(number[j]), float(seconds[i]), float(after[j]), UNDECODED)
            for gap, i, j in _stretches(came, pauses)
        ]
        n_after = self._missing_at_end(int(number[-1]) + 1, float(after[-1]), step)
        if n_after:
            first, end = int(number[-1]) + 1, float(after[-1])
            found.append(Lost(first, first + n_after - 1, end, end + n_after * step, EARLY_END))
        return tuple(found)

    def _pauses(self, seconds: Rows, step: float) -> Ints:
        pauses = np.zeros(len(seconds), dtype=np.int64)
        steps = np.diff(seconds)
        enough = self.promised_frames and len(seconds) >= self.promised_frames
        if len(steps) < 10 or step <= 0 or enough or np.mean(np.abs(steps - step) <= step / 4) < REGULAR_SHARE:
            return pauses
        # A damaged clock can leap by years; no more than was promised can be missing.
        most = self.promised_frames - len(seconds) if self.promised_frames else 10**6
        pauses[1:] = np.where(steps > 1.5 * step, np.clip(np.rint(steps / step) - 1, 0, most), 0)
        return pauses if pauses.sum() <= most else np.zeros_like(pauses)

    def _missing_at_end(self, n_known: int, end: float, step: float) -> int:
        if self.promised_frames:
            return max(self.promised_frames - n_known, 0)
        if self.promised_end is None or step <= 0:
            return 0
        # Ends are rounded to a frame or so.
        missing = int((self.promised_end - end) / step + 0.5)
        return missing if 1 < missing <= 10**6 else 0


def _stretches(came: Rows, pauses: Ints) -> list[tuple[bool, int, int]]:
    """List (is a pause before i, i, j) and (not a pause, first lost i, last lost j), in order."""
    found: list[tuple[bool, int, int]] = []
    for i in np.flatnonzero(~came | (pauses > 0)).tolist():
        if pauses[i]:
            found.append((True, i, i))
        if not came[i]:
            if found and not found[-1][0] and found[-1][2] == i - 1 and not pauses[i]:
                found[-1] = (False, found[-1][1], i)
            else:
                found.append((False, i, i))
    return found
