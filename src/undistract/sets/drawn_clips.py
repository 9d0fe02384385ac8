"""Clips that are drawn: dots that wander under changing light, and perhaps one that does not belong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Frames = npt.NDArray[np.uint8]  # (n, height, width, 3)

WIDTH, HEIGHT, N_DOTS, RADIUS, LIGHT = 96, 64, 14, 5, 24


def dots_under_light(n_frames: int = 150, *, seed: int = 0, stranger: bool = False) -> Frames:
    """Draw dots that wander while the light changes; a stranger crosses in the middle, larger and straight on.

    Light adds a slope of brightness that turns and fades by itself, as clouds do. Dots bounce off the borders.

    Examples
    --------
    >>> calm, odd = dots_under_light(30), dots_under_light(30, stranger=True)
    >>> calm.shape, bool((calm[0] == odd[0]).all()), bool((calm[15] == odd[15]).all())
    ((30, 64, 96, 3), True, False)
    """
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    places = rng.uniform([0, 0], [WIDTH, HEIGHT], size=(N_DOTS, 2))
    speeds = rng.normal(scale=1.5, size=(N_DOTS, 2))
    light = rng.normal(size=(-(-n_frames // 5) + 1, 3))  # new light every fifth frame, in between it blends
    frames = np.empty((n_frames, HEIGHT, WIDTH, 3), dtype=np.uint8)
    first, last = 2 * n_frames // 5, 3 * n_frames // 5
    for number in range(n_frames):
        grey = np.full((HEIGHT, WIDTH), 110.0)
        for column, row in places + speeds * number:
            column, row = _bounced(column, WIDTH), _bounced(row, HEIGHT)
            grey[(x - column) ** 2 + (y - row) ** 2 < RADIUS**2] = 140
        if stranger and first <= number < last:
            column = WIDTH * (number - first + 0.5) / (last - first)
            grey[(abs(x - column) < 9) & (abs(y - HEIGHT / 2) < 9)] = 60
        step, share = divmod(number / 5, 1)
        whole, across, down = (1 - share) * light[int(step)] + share * light[int(step) + 1]
        grey += LIGHT * (whole + across * (2 * x / WIDTH - 1) + down * (2 * y / HEIGHT - 1))
        frames[number] = np.clip(grey, 0, 255)[..., None]
    return frames


def _bounced(place: float, size: int) -> float:
    return size - abs(place % (2 * size) - size)
