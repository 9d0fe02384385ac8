"""Fixed data sets for the recorded numbers, made with seeded numpy generators only.

Rows of a group have a common mean, unit noise, and a strong nuisance along a few directions that are the same for all
groups. The generator code must not change: the recorded numbers belong to exactly these rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.contract import calls

REAL_DATA = Path(os.environ.get("UNDISTRACT_DATA", Path(__file__).parents[3] / "shared" / "data"))


@dataclass(frozen=True)
class Data:
    """Rows (n, d) and the group of each row (n,)."""

    rows: np.ndarray
    groups: np.ndarray

    @property
    def by_group(self) -> dict[int, np.ndarray]:
        """The rows of each group, by the name of the group."""
        return {int(name): self.rows[self.groups == name] for name in np.unique(self.groups)}

    def probe(self, n_rows: int = 8) -> np.ndarray:
        """Rows close to the data but not in it, in the data's dtype."""
        rng = np.random.default_rng(99)
        chosen = np.linspace(0, len(self.rows) - 1, n_rows).astype(int)
        scale = self.rows.std(axis=0, dtype=np.float64)
        noise = rng.normal(size=(n_rows, self.rows.shape[1])) * scale
        return (self.rows[chosen] + noise).astype(self.rows.dtype)


def draw(seed: int, sizes: list[int], n_features: int, *, n_nuisance: int = 2, between: float = 2.0) -> Data:
    """Draw groups of the given sizes with `n_nuisance` directions of strong variation within groups."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    means = between * rng.normal(size=(len(sizes), n_features))
    nuisance = rng.normal(size=(n_nuisance, n_features))
    # The second nuisance is weaker than the first, so that no two eigenvalues are close.
    strength = 8.0 / np.arange(1, n_nuisance + 1)
    amounts = rng.normal(size=(len(groups), n_nuisance)) * strength
    rows = means[groups] + rng.normal(size=(len(groups), n_features)) + amounts @ nuisance
    return Data(rows, groups)


def tall() -> Data:
    """Many more rows than features."""
    return draw(1, [125] * 12, 6)


def wide() -> Data:
    """Fewer rows than half the number of features: solved through the rows."""
    return draw(2, [5] * 8, 120)


def large() -> Data:
    """Enough features that only the leading directions are solved for."""
    return draw(3, [40] * 24, 420, n_nuisance=3)


def tiny_groups() -> Data:
    """Groups of two or three rows."""
    return draw(4, [2, 3] * 15, 8)


def one_row_groups() -> Data:
    """Half of the groups have one row, which says nothing about variation within groups."""
    return draw(5, [1, 20] * 8, 6)


def constant_features() -> Data:
    """One feature is constant, another is constant within each group only."""
    data = draw(6, [30] * 10, 7)
    data.rows[:, 2] = 3.5
    data.rows[:, 4] = data.groups * 0.75
    return data


def far_from_origin() -> Data:
    """A mean a million times the standard deviation: sums of squares without centring would lose 12 digits."""
    data = draw(7, [40] * 10, 6)
    return Data(data.rows + 1e6, data.groups)


def single_precision() -> Data:
    """Rows in float32."""
    data = draw(8, [40] * 12, 8)
    return Data(data.rows.astype(np.float32), data.groups)


def few_groups() -> Data:
    """Three groups, which can differ in at most two directions."""
    return draw(9, [60] * 3, 10)


def many_groups() -> Data:
    """Two hundred groups of five rows."""
    return draw(10, [5] * 200, 6)


def rank_deficient() -> Data:
    """Twelve features that are combinations of five."""
    data = draw(11, [40] * 10, 5)
    mixing = np.random.default_rng(110).normal(size=(5, 12))
    return Data(data.rows @ mixing, data.groups)


def duplicate_rows() -> Data:
    """Every row comes four times."""
    data = draw(12, [10] * 10, 6)
    return Data(np.repeat(data.rows, 4, axis=0), np.repeat(data.groups, 4))


def unequal_groups() -> Data:
    """Groups of 4 to 300 rows, in mixed order; also fitted with weights by size."""
    data = draw(13, [4, 9, 20, 45, 90, 150, 300, 7, 60], 6)
    order = np.random.default_rng(130).permutation(len(data.rows))
    return Data(data.rows[order], data.groups[order])


def uneven_nuisance() -> Data:
    """The nuisance occurs in four of twelve groups only, so the heterogeneity is high."""
    data = draw(14, [40] * 12, 6)
    extra = np.random.default_rng(140).normal(size=(len(data.rows), 1)) * [0, 0, 9, 0, 0, 0]
    return Data(data.rows + extra * (data.groups < 4)[:, None], data.groups)


def illuminated_digits() -> Data:
    """Scanned digits under varying light, from the package's own data sets: 64 features, 8 groups."""
    groups = calls.illuminated_digits()
    rows = np.concatenate([rows[:60] for rows in groups])
    return Data(rows, np.repeat(np.arange(len(groups)), [len(rows[:60]) for rows in groups]))


def yale_faces() -> Data:
    """Real faces of ten people under many light directions, block means of 4 x 6 pixels: 84 features."""
    with np.load(REAL_DATA / "yale_faces" / "extended_yale_b_48x42.npz", allow_pickle=False) as file:
        images = file["images"].astype(np.float64)
        subject = file["subject"]
    chosen = np.isin(subject, np.unique(subject)[:10])
    blocks = images[chosen].reshape(-1, 12, 4, 7, 6).mean(axis=(2, 4))
    return Data(blocks.reshape(len(blocks), -1), subject[chosen].astype(np.int64))


MADE: dict[str, Callable[[], Data]] = {
    made.__name__: made
    for made in (
        tall,
        wide,
        large,
        tiny_groups,
        one_row_groups,
        constant_features,
        far_from_origin,
        single_precision,
        few_groups,
        many_groups,
        rank_deficient,
        duplicate_rows,
        unequal_groups,
        uneven_nuisance,
        illuminated_digits,
        yale_faces,
    )
}


def is_available(name: str) -> bool:
    """Return whether a data set can be made here: real data is not part of the repository."""
    return name != "yale_faces" or (REAL_DATA / "yale_faces" / "extended_yale_b_48x42.npz").is_file()
