"""Silhouettes under light: the paper's experiment at its own size, on the data it was made with.

    training   62 handwritten characters and the outlines of 99 kinds of objects, each class turned and flipped in six
               ways, one set each; light falls on half of the images
    test       all outlines of another kind, with a few of yet another hidden among them, under the same light

The light is a gradient across the image (see `light.py`), so two directions of the 784 are there to be found. The
paper's own test is sunflowers among *Faces 2*. Its training kept *Faces 3*, which are nearly the same outlines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from undistract.arrays import Rows, listed
from undistract.errors import InputError
from undistract.sets.downloads import pictures
from undistract.sets.light import UnderLight, under_light
from undistract.sets.orientations import orientations
from undistract.sets.pictures import Pictures
from undistract.sets.publishers import CHARACTERS, SILHOUETTES

# Four quarter turns and two flips; upside down is mirrored and turned by half.
SIX_WAYS = ("", " turned 90°", " turned 180°", " turned 270°", " mirrored", " mirrored turned 180°")


def silhouettes_under_light(
    *,
    data: str | Path | None = None,
    normal: str | int = "Faces 2",
    odd: str | int = "sunflower",
    leave_out: Sequence[str | int] = (),
    n_hidden: int = 30,
    amplitude: float = 0.5,
    lit_training: float = 0.5,
    lit_test: float = 0.5,
    per_class: int = 100,
    seed: int = 0,
) -> UnderLight[str]:
    """Make training sets of characters and outlines, and a test set of two kinds of outlines that training never saw.

    Parameters
    ----------
    data : path, optional
        The folder with the images (see docs/data.md). Without it the folder that the environment variable
        UNDISTRACT_DATA names; without that, they are downloaded once.
    normal, odd : str or int
        The kind of outline that the test set is made of, and the one that hides in it: its name, or its label from 1.
    leave_out : sequence of str or int
        More kinds of outlines that training must not see, such as ``["Faces 3"]``.
    n_hidden : int
        How many images of `odd` hide in the test set, chosen at random.
    amplitude : float
        Standard deviation of the light at the middle of an edge; ink is 1.
    lit_training, lit_test : float
        Which share of the images light falls on. It does not know which of them are anomalies.
    per_class : int
        At most so many images of a class in training, chosen at random. Few kinds of outlines have a hundred.
    seed : int
        The same seed gives the same sets.

    Examples
    --------
    >>> outlines = silhouettes_under_light(leave_out=["Faces 3"])  # doctest: +SKIP
    >>> outlines, len(outlines.training), outlines.test.shape  # doctest: +SKIP
    (UnderLight(normal='Faces 2', odd='sunflower'), 960, (465, 784))
    """
    if per_class < 1:
        raise InputError(f"per_class is {per_class}; expected at least one image of each class.")
    outlines, characters = pictures(SILHOUETTES, data), pictures(CHARACTERS, data)
    usual, strange, *others = (_label(outlines, one) for one in (normal, odd, *leave_out))
    if usual == strange:
        raise InputError(f"normal and odd are both {outlines.name(usual)!r}; expected two different kinds of outlines.")
    rng = np.random.default_rng(seed)

    def training() -> Iterator[tuple[str, Rows]]:
        for source, unseen in ((characters, set()), (outlines, {usual, strange, *others})):
            for label in sorted(set(source.labels.tolist()) - unseen):
                some = rng.permutation(source.of(label))[:per_class]
                for words, turned in orientations(some):
                    if words in SIX_WAYS:
                        yield f"{source.name(label)}{words}", turned

    return under_light(
        training(),
        (outlines.name(usual), outlines.of(usual)),
        (outlines.name(strange), outlines.of(strange)),
        n_hidden=n_hidden,
        amplitude=amplitude,
        lit_training=lit_training,
        lit_test=lit_test,
        source="EMNIST and Caltech-101 silhouettes",
        rng=rng,
    )


def _label(outlines: Pictures, kind: str | int) -> int:
    """Find the label of a kind of outline that is given by its name or by the label itself."""
    names, first = outlines.class_names, outlines.first_label
    if isinstance(kind, str) and kind in names:
        return first + names.index(kind)
    if not isinstance(kind, str) and kind in range(first, first + len(names)):
        return int(kind)
    raise InputError(
        f"There is no kind of outline {kind!r}; expected a label from {first} to {first + len(names) - 1}, or one of "
        f"the {len(names)} names ({listed(names)})."
    )
