"""The eight ways to hold a picture: turned by quarters, plain and mirrored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undistract.arrays import Rows


def orientations(images: Rows) -> Iterator[tuple[str, Rows]]:
    """Turn and mirror (n, height, width) images in all eight ways, each with its words.

    Examples
    --------
    >>> import numpy as np
    >>> corner = np.array([[[1, 0], [0, 0]]])
    >>> for words, (image,) in orientations(corner):
    ...     print(image.ravel(), f"the corner{words}")
    [1 0 0 0] the corner
    [0 0 1 0] the corner turned 90°
    [0 0 0 1] the corner turned 180°
    [0 1 0 0] the corner turned 270°
    [0 1 0 0] the corner mirrored
    [1 0 0 0] the corner mirrored turned 90°
    [0 0 1 0] the corner mirrored turned 180°
    [0 0 0 1] the corner mirrored turned 270°
    """
    for mirrored, faces in (("", images), (" mirrored", images[:, :, ::-1])):
        for quarter in range(4):
            turned = f" turned {90 * quarter}°" if quarter else ""
            yield f"{mirrored}{turned}", np.rot90(faces, quarter, axes=(1, 2))
