"""Taught: what people add to what the sets showed. A familiar deviation counts as variation inside sets.

    within' = within + c · Σ s ΔΔᵀ          c = odds / (PATIENCE · Σλ),   odds = .95 / .05

Δ is the deviation of a row from its context, s the strength of the verdict. Only `within` grows: as a set of its own, a
row would also move a mean, and reward the very direction that is to go. The expected ΔᵀB⁻¹Δ of a row of the training
sets is Σλ (B = total + ε I). So a direction passes .95 at the latest when the verdicts along it add up to PATIENCE
typical deviations. More verdicts weigh more, and it depends neither on units nor on the number of features.

What the sets showed goes as before; people can only add to it. In the filters and patterns of the kept directions,
where B is I and within is diag(λ), the new problem is small and its metric is I + YᵀY, Y the readings of the verdicts.

A confirmed anomaly protects its direction: see `protect`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular

from undistract.algebra.directions import Known
from undistract.algebra.spectrum import AUTOMATIC_CUTOFF, MOSTLY, Spectrum
from undistract.arrays import TINY, Floats, as_rows, check_range, quiet, same_features
from undistract.errors import InputError

# So many typical deviations along a direction make it go; chosen in benchmarks/feedback.
PATIENCE = 2.0
ODDS = AUTOMATIC_CUTOFF / (1 - AUTOMATIC_CUTOFF)
# A confirmed anomaly keeps at least this share of its deviation (squared), or of what a normal row has left.
LEAST_SEEN = 0.5


@dataclass(frozen=True, eq=False)
class Taught:
    """What people taught: deviations that are familiar, and others that must stay visible. They join with ``+``.

    Parameters
    ----------
    familiar : (n, d) array
        Deviations from the context that are to be ignored.
    strengths : (n,) array, optional
        How much each counts; 1 by default.
    protected : (p, d) array, optional
        Deviations of confirmed anomalies.

    Examples
    --------
    >>> light = Taught(familiar=[[3.0, 3.0, 0.0]])
    >>> both = light + Taught(familiar=[[0.0, 0.0, 1.0]], protected=[[1.0, -1.0, 0.0]])
    >>> len(both.familiar), len(both.protected), both.strengths
    (2, 1, array([1., 1.]))
    """

    familiar: Floats
    strengths: Floats = None  # type: ignore[assignment]
    protected: Floats = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        given = self.familiar if len(self.familiar) else self.protected
        if given is None or not len(given):
            raise InputError("Nothing was taught. Give at least one familiar or one protected deviation.")
        n_features = as_rows(given, "The deviations").shape[1]
        for name in ("familiar", "protected"):
            rows = getattr(self, name)
            rows = np.zeros((0, n_features)) if rows is None or not len(rows) else as_rows(rows, f"{name} deviations")
            same_features(n_features, rows.shape[1], f"A {name} deviation")
            with quiet():
                check_range((rows.astype(np.float64) ** 2).sum(axis=0), np.zeros(n_features, dtype=bool))
            object.__setattr__(self, name, rows.astype(np.float64))
        strengths = np.ones(len(self.familiar)) if self.strengths is None else np.array(self.strengths, dtype=float)
        if strengths.shape != (len(self.familiar),) or not (np.isfinite(strengths) & (strengths > 0)).all():
            raise InputError(
                f"There are {len(self.familiar)} familiar deviations and strengths {strengths.tolist()!r:.60}. "
                "Give one number above 0 for each."
            )
        object.__setattr__(self, "strengths", strengths)

    @property
    def n_features(self) -> int:
        """How many features a deviation has, d."""
        return int(self.familiar.shape[1])

    def __add__(self, other: Taught) -> Taught:
        """Join what was taught at two times, or by two people."""
        if not isinstance(other, Taught):
            return NotImplemented
        same_features(self.n_features, other.n_features, "What was taught besides")
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("familiar", "strengths", "protected"))
        return Taught(*(np.concatenate(pair) for pair in pairs))


def teach(spectrum: Spectrum, n_removed: int, taught: Taught) -> tuple[Spectrum, int]:
    """Add what people taught to a spectrum whose first `n_removed` directions go.

    Parameters
    ----------
    spectrum : Spectrum
        Of the training sets.
    n_removed : int
        How many of its directions go by what the sets showed.
    taught : Taught

    Returns
    -------
    spectrum : Spectrum
        What people told to ignore, then what the sets showed, then the rest.
    n_removed : int
        How many directions go now.

    Examples
    --------
    >>> from undistract.algebra import Moments
    >>> rng = np.random.default_rng(0)
    >>> spectrum = Spectrum.of(Moments.of(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10)))
    >>> better, n_removed = teach(spectrum, 0, Taught([[0, 7, 7, 0]]))
    >>> n_removed, (better.patterns[:, 0] / better.patterns[1, 0]).round(1) + 0.0
    (1, array([0., 1., 1., 0.]))
    """
    same_features(spectrum.n_features, taught.n_features, "What people taught")
    trained, n_trained, typical = spectrum, n_removed, float(spectrum.distraction.sum())
    if len(taught.familiar) and typical > 0:
        rows = taught.familiar * np.sqrt(taught.strengths * (ODDS / (PATIENCE * typical)))[:, None]
        spectrum, n_told = _solved(_widened(spectrum, rows), n_removed, rows)
        n_removed += n_told
    # What the sets showed goes as before, so an anomaly is what that leaves; where nothing is left, rounding is.
    protected = taught.protected - _taken(taught.protected, trained.patterns[:, :n_trained])
    protected = protected[np.linalg.norm(protected, axis=1) > 1e-9 * np.linalg.norm(taught.protected, axis=1)]
    spectrum, n_removed = protect(spectrum, n_removed, protected, trained)
    if n_removed == spectrum.n_features:
        raise InputError(
            f"With what people called familiar, all {n_removed} directions would be ignored and nothing would be left. "
            "Take some answers back, or give them for their context alone."
        )
    return spectrum, n_removed


def protect(
    spectrum: Spectrum, n_removed: int, protected: Floats, trained: Spectrum | None = None
) -> tuple[Spectrum, int]:
    """Give back what a confirmed anomaly is seen by.

    An anomaly is hidden where the removed patterns leave less than half of its deviation (squared), and also less
    than half of what they leave of a normal row. Then those combinations of them that move along it are kept after
    all. What still goes is orthogonal to it: the anomaly keeps its deviation whole. All such anomalies are looked at
    together, so their order does not matter.

    An anomaly may well be distracting too: a stranger in bright light. Much of its deviation goes then, but what is
    left stands out. The first half alone would give the light back (docs/feedback.md).

    Parameters
    ----------
    spectrum : Spectrum
        What goes stands first.
    n_removed : int
        How many directions go.
    protected : (p, d) array
        Deviations of confirmed anomalies.
    trained : Spectrum, optional
        Of the training sets alone, which say how normal rows vary; the spectrum itself by default.

    Returns
    -------
    spectrum : Spectrum
        The first n_removed directions turned within their span: those that go, then those that were given back.
    n_removed : int
        How many still go.

    Examples
    --------
    >>> from undistract.algebra import Moments
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([3 * m, 0, 0], [1, 9, 9], size=(100, 3)) for m in range(10)]
    >>> spectrum = Spectrum.of(Moments.of(sets))
    >>> turned, n_removed = protect(spectrum, 2, np.array([[0.0, 5.0, 5.0]]))
    >>> n_removed, bool(abs(turned.patterns[:, 0] @ [0.0, 1.0, 1.0]) < 1e-9)
    (1, True)
    """
    lengths = np.linalg.norm(protected, axis=1)
    lengths, deviations = lengths[lengths > 0], protected[lengths > 0] / lengths[lengths > 0, None]
    if n_removed == 0 or not len(deviations):
        return spectrum, n_removed
    patterns = spectrum.patterns[:, :n_removed]
    left = 1 - (_taken(deviations, patterns) ** 2).sum(axis=1)
    hidden = deviations[left < LEAST_SEEN * np.minimum(1.0, _normal_left(trained or spectrum, patterns) / lengths**2)]
    if not len(hidden):
        return spectrum, n_removed
    turn, triangle, _ = qr(patterns.T @ hidden.T, pivoting=True, check_finite=False)  # (r, r)
    sizes = np.abs(np.diag(triangle))
    n_back = int((sizes > 1e-9 * sizes[0]).sum())
    distraction = spectrum.distraction[:n_removed]
    # Each part keeps its most distracting combination first; the metric does not see a turn of the first columns.
    turn = np.hstack([_largest_first(some, distraction) for some in (turn[:, n_back:], turn[:, :n_back])])
    return _turned(spectrum, turn), n_removed - n_back


def _normal_left(trained: Spectrum, patterns: Floats) -> float:
    """How much of a normal row's deviation (squared) the patterns leave on average; within = Σ λ a aᵀ."""
    kept = (trained.patterns**2).sum(axis=0) - (_taken(trained.patterns.T, patterns) ** 2).sum(axis=1)
    return float(trained.distraction @ kept)


def _taken(rows: Floats, patterns: Floats) -> Floats:
    """Return the part of each row that lies in the span of the patterns."""
    if patterns.shape[1] == 0:
        return np.zeros_like(rows)
    basis = qr(patterns / np.linalg.norm(patterns, axis=0), mode="economic", check_finite=False)[0]
    taken: Floats = (rows @ basis) @ basis.T
    return taken


def _widened(spectrum: Spectrum, rows: Floats) -> Spectrum:
    """Add directions in which the sets never varied, but people saw something move; the metric there is ε."""
    if spectrum.patterns.shape[1] == spectrum.n_features:  # there is nothing beyond
        return spectrum
    basis = qr(spectrum.patterns, mode="economic", check_finite=False)[0] if spectrum.patterns.shape[1] else None
    beyond = rows if basis is None else rows - (rows @ basis) @ basis.T
    beyond = beyond if basis is None else beyond - (beyond @ basis) @ basis.T  # once more: rounding of the first
    axes, lengths, _ = np.linalg.svd(beyond.T, full_matrices=False)
    new = axes[:, lengths > 1e-9 * np.linalg.norm(rows)]  # (d, e)
    if not new.shape[1]:
        return spectrum
    tiny = 1e-12 * float(spectrum.directions.pattern_squares.sum() / spectrum.n_features)
    root = np.sqrt(max(spectrum.cushion, tiny, TINY))
    zeros = np.zeros(new.shape[1])
    return replace(
        spectrum,
        distraction=np.append(spectrum.distraction, zeros),
        debiased=np.append(spectrum.debiased, zeros),
        directions=Known(
            np.hstack([spectrum.filters, new / root]),
            np.hstack([spectrum.patterns, new * root]),
            np.append(spectrum.unevenness, zeros),
        ),
    )


def _solved(spectrum: Spectrum, n_removed: int, rows: Floats) -> tuple[Spectrum, int]:
    """Solve anew where directions are kept: 1 - λ' are the eigenvalues of I - Λ in the metric I + YᵀY."""
    readings = rows @ spectrum.filters[:, n_removed:]  # Y, (n, k)
    # A triangle of Y and I, not a factor of I + YᵀY: beside what lies a billion deviations out, I would be rounding.
    stacked = np.vstack([readings, np.eye(readings.shape[1])])
    lower = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][: readings.shape[1]].T
    rest = np.diag(1.0 - spectrum.distraction[n_removed:])
    half = solve_triangular(lower, rest, lower=True, check_finite=False)
    values, vectors = eigh(solve_triangular(lower, half.T, lower=True, check_finite=False), driver="evd")
    filters = solve_triangular(lower.T, vectors, check_finite=False)  # in coordinates of the kept directions
    distraction = np.clip(1.0 - values, 0.0, 1.0)  # smallest value first: largest distraction first
    # Where the sets rest inside, as many directions move now as people saw move there.
    resting = np.linalg.svd(readings[:, spectrum.n_moving - n_removed :], compute_uv=False)
    n_moving = spectrum.n_moving + int((resting > 1e-9 * np.linalg.norm(readings)).sum())
    distraction[n_moving - n_removed :] = 0.0
    said = ((readings @ filters) ** 2).sum(axis=0)
    share = np.minimum(said / np.maximum(distraction, 1e-12), 1.0)
    weights = filters**2 / (filters**2).sum(axis=0)
    first = (distraction >= AUTOMATIC_CUTOFF) & (share >= MOSTLY)
    order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])
    n_told = int(first.sum())

    def placed(old: Floats, new: Floats) -> Floats:
        told, others = np.split(new[..., order], [n_told], axis=-1)
        placed: Floats = np.concatenate([told, old[..., :n_removed], others], axis=-1)
        return placed

    def mixed(old: Floats, theirs: float) -> Floats:
        return placed(old, (1 - share) * (old[n_removed:] @ weights) + share * theirs)

    old = spectrum
    solved = replace(
        old,
        variances=None,
        distraction=placed(old.distraction, distraction),
        # What people say has no set whose mean could wander, and is meant for every set.
        debiased=mixed(old.debiased, 1.0),
        directions=Known(
            placed(old.filters, old.filters[:, n_removed:] @ filters),
            placed(old.patterns, old.patterns[:, n_removed:] @ (lower @ vectors)),
            mixed(old.unevenness, 0.0),
        ),
        n_moving=n_moving,
        taught=placed(np.zeros(len(old.distraction)), share),
    )
    if old.variances is not None:
        # People added to what varies; the cushion is still told in mean variances of the sets.
        squares = solved.directions.pattern_squares
        total, within = np.maximum(squares - old.cushion, 0.0).sum(), solved.distraction @ squares
        solved = replace(solved, variances=replace(old.variances, total=float(total), within=float(within)))
    return solved, n_told


def _largest_first(turn: Floats, distraction: Floats) -> Floats:
    if turn.shape[1] == 0:
        return turn
    _, vectors = eigh(turn.T @ (distraction[:, None] * turn))
    largest: Floats = turn @ vectors[:, ::-1]
    return largest


def _turned(spectrum: Spectrum, turn: Floats) -> Spectrum:
    """Turn the first directions within their span; readings of variance mix by squares."""
    n, mixed = len(turn), turn**2

    def values(old: Floats) -> Floats:
        return np.append(old[:n] @ mixed, old[n:])

    def columns(old: Floats) -> Floats:
        return np.hstack([old[:, :n] @ turn, old[:, n:]])

    return replace(
        spectrum,
        distraction=values(spectrum.distraction),
        debiased=values(spectrum.debiased),
        taught=None if spectrum.taught is None else values(spectrum.taught),
        directions=Known(columns(spectrum.filters), columns(spectrum.patterns), values(spectrum.unevenness)),
    )
