"""The cases: rows with a known distractor, float64, sorted by set, the same for everybody.

    row = noise + mean of its group + amplitude · distractor

The noise fades from feature to feature. Set means differ along every feature as much as the noise. A few orthonormal
directions vary four times as much as the noise in every group, and no group mean moves along them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from undistract._arrays import Floats, Ints

STRENGTH = 4.0  # standard deviation along a distractor; the noise has 1 at most
BLOCK = 4096


@dataclass(frozen=True)
class Case:
    """How many rows, features and groups, and which ratio of a fit to dsyrk we ask for."""

    name: str
    n_rows: int
    n_features: int
    n_groups: int
    ask: float | None = None
    reduced: str = ""  # what is smaller than in the full case

    @property
    def n_distractors(self) -> int:
        """How many directions distract: a few, more where features are more, and fewer than a group has rows."""
        return max(1, min(round(self.n_features**0.5 / 4), self.n_rows // 8))

    @property
    def square(self) -> float:
        """Megabytes of one d × d matrix."""
        return 8e-6 * self.n_features**2

    @property
    def words(self) -> str:
        """Sizes as they are written in tables."""
        return f"{self.n_rows} × {self.n_features}, {self.n_groups} groups"

    def with_rows(self, n_rows: int) -> Case:
        """Return the case with fewer rows, as many in each group; there is no ask for it."""
        n_groups = max(2, self.n_groups * n_rows // self.n_rows)
        return replace(self, n_rows=n_rows, n_groups=n_groups, ask=None, reduced=f"rows, 1/{self.n_rows // n_rows}")


FULL = {
    case.name: case
    for case in (
        Case("A", 95_400, 784, 954, 1.25),
        Case("B", 1_000_000, 128, 1000, 1.15),
        Case("C", 20_000, 2048, 200, 1.3),
        Case("D", 2000, 4096, 40, 2.5),
        Case("E", 500, 20_000, 10, 1.6),
        Case("F", 1_000_000, 16, 100_000, 4.0),
    )
}
# A and B still have far more rows than features, D still has fewer than half as many. The others are short as they are.
REDUCED = FULL | {name: FULL[name].with_rows(n) for name, n in {"A": 47_700, "B": 250_000, "D": 1000}.items()}
TINY = Case("tiny", 400, 8, 10)  # learned first, so that every library is loaded before the clock runs
# The ask of case F where numba compiles the sums.
ASK_WITH_NUMBA = 2.5


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of a case."""

    X: Floats  # (n, d), C order
    labels: Ints  # (n,), sorted
    distractors: Floats  # (r, d), orthonormal


def sample(case: Case, seed: int = 0) -> Sample:
    """Draw the rows of a case in place, block by block: drawing needs no more memory than they do."""
    rng = np.random.default_rng([seed, case.n_rows, case.n_features, case.n_groups])
    scale = np.linspace(1.0, 0.5, case.n_features)  # (d,)
    directions = np.linalg.qr(rng.normal(size=(case.n_features, case.n_distractors)))[0].T  # (r, d)
    labels = np.arange(case.n_rows) * case.n_groups // case.n_rows
    X = np.empty((case.n_rows, case.n_features))
    means = np.empty((0, case.n_features))
    first = 0  # the group of means[0]
    for start in range(0, case.n_rows, BLOCK):
        rows, groups = X[start : start + BLOCK], labels[start : start + BLOCK]
        # Only the means that this block touches are held: at 1e5 groups they would be as large as the rows.
        fresh = rng.normal(size=(groups[-1] + 1 - first - len(means), case.n_features)) * scale
        means = np.concatenate([means, fresh - (fresh @ directions.T) @ directions])[groups[0] - first :]
        first = int(groups[0])
        rng.standard_normal(out=rows)
        rows *= scale
        rows += means[groups - first]
        rows += (STRENGTH * rng.normal(size=(len(rows), len(directions)))) @ directions
    return Sample(X, labels, directions)
