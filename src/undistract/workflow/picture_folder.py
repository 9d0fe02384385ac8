"""Rows as pictures in a folder: one .png file each, named as the image it came from, or by its number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from undistract.files import WholeFolder
from undistract.report.png import png
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.row_files import Chunk

HALF_STEP = 0.5 / 255  # what lies beyond black or white by less than this is drawn as it is


def write_pictures(
    folder: Path, chunks: Iterable[Chunk], sets: Sequence[FeatureSet], shape: tuple[int, ...]
) -> tuple[int, float]:
    """Write each row as a grey picture: 0 is black, 1 is white, and what lies beyond is cut off.

    Parameters
    ----------
    folder : Path
        New, or empty. It appears with all pictures in it, or not at all.
    chunks : iterable of Chunk
        Their rows (n, height · width).
    sets : sequence of FeatureSet
        All that come; where there are several, each gets a folder of its own.
    shape : (height, width)

    Returns
    -------
    n_rows, cut_off : int and float
        How many pictures there are, and which share of their values lay beyond black or white.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> day = FeatureSet("mon", [[0.0, 1.0], [0.5, 1.5]], row_names=["a.jpg", "b.jpg"])
    >>> with TemporaryDirectory() as place:
    ...     told = write_pictures(Path(place, "new"), [Chunk(day, day.rows)], [day], (1, 2))
    ...     told, sorted(file.name for file in Path(place, "new").iterdir())
    ((2, 0.25), ['a.png', 'b.png'])
    """
    folders = dict(zip(map(id, sets), folder_names(sets), strict=True))
    n_rows = n_beyond = n_values = 0
    names: Sequence[str] = ()
    here, number = None, 0  # the set at hand, and how many of its rows are written
    with WholeFolder(folder) as made:
        for one, rows, _ in chunks:
            if one is not here:
                here, number, names = one, 0, picture_names(one)
            n_beyond += int(((rows < -HALF_STEP) | (rows > 1 + HALF_STEP)).sum())
            n_values += rows.size
            for row in rows:
                name = names[number] if names else f"{number:06}.png"
                made.write(f"{folders[id(one)]}{name}", png(np.asarray(row).reshape(shape), limits=(0.0, 1.0)))
                number += 1
            n_rows += len(rows)
    return n_rows, n_beyond / max(n_values, 1)


def folder_names(sets: Sequence[FeatureSet]) -> list[str]:
    """Name a folder for each set, with a slash behind; none where there is one set alone.

    What a set is called comes from a file, and must not lead anywhere else.

    Examples
    --------
    >>> folder_names([FeatureSet(name, [[1.0]]) for name in ("anna/left", "../anna", "anna_left")])
    ['anna_left/', 'anna/', 'anna_left-2/']
    >>> folder_names([FeatureSet(name, [[1.0]]) for name in ("anna", "../anna", "anna-2")])
    ['anna/', 'anna-2/', 'anna-2-2/']
    """
    if len(sets) == 1:
        return [""]
    names: dict[str, str] = {}  # as a disk may compare them → as they are written
    seen: Counter[str] = Counter()
    for one in sets:
        name = plain = _plain(str(one.name)) or "set"
        while name.casefold() in names:
            seen[plain] += 1
            name = f"{plain}-{seen[plain] + 1}"
        names[name.casefold()] = f"{name}/"
    return list(names.values())


def picture_names(one: FeatureSet) -> list[str]:
    """Name a picture for each row that has a name; rows without one go by their number.

    Examples
    --------
    >>> picture_names(FeatureSet("anna", [[1.0], [2.0]], row_names=["a.jpg", "b.pgm"]))
    ['a.png', 'b.png']
    >>> picture_names(FeatureSet("anna", [[1.0], [2.0]], row_names=["a.jpg", "a.pgm"]))
    ['a.jpg.png', 'a.pgm.png']
    """
    if one.row_names is None:
        return []
    for names in ([Path(name).stem for name in one.row_names], list(one.row_names)):
        plain = [_plain(name) for name in names]
        if all(plain) and len({name.casefold() for name in plain}) == len(plain):
            return [f"{name}.png" for name in plain]
    return []


def _plain(name: str) -> str:
    return re.sub(r"[^\w .-]+", "_", name).strip("._ ")[:200]
