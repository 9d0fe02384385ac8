"""Feedback: the answers of users as moments. A deviation to ignore is added to the within-group covariance.

    within' = within + c · Σ s ΔΔᵀ          c = odds / (DEVIATIONS_TO_REMOVE · Σλ),   odds = .95 / .05

Δ is the deviation of a row from its context, s the weight of the verdict. Only `within` grows: as a separate group, a
row would also move a mean, and so protect the direction that is to be removed. The expected ΔᵀB⁻¹Δ of a training row is
Σλ (B = total + ε I). So a direction passes .95 at the latest when the verdicts along it add up to
DEVIATIONS_TO_REMOVE typical deviations. More verdicts weigh more, and the rule depends neither on units nor on the
number of features.

The directions that the groups removed stay removed; feedback only adds to them. In the coordinates of the kept
directions B is I and within is diag(λ), so the new problem is small: its metric is I + YᵀY, with Y the readings of the
deviations.

A confirmed anomaly protects its direction: see `protect_directions`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular

from undistract._arrays import TINY, Floats, as_rows, check_range, check_same_n_features, ignore_fp_warnings
from undistract.algebra.evidence import AUTOMATIC_CUTOFF, MIN_FEEDBACK_SHARE
from undistract.algebra.spectrum import DenseDirections, Spectrum
from undistract.errors import InputError

# A direction is removed when the deviations along it add up to this many typical ones; chosen in benchmarks/feedback.
DEVIATIONS_TO_REMOVE = 2.0
ODDS = AUTOMATIC_CUTOFF / (1 - AUTOMATIC_CUTOFF)
# A confirmed anomaly keeps at least this share of its squared deviation, or of what a normal row keeps.
MIN_VISIBLE = 0.5


@dataclass(frozen=True, eq=False)
class Feedback:
    """User feedback: deviations to ignore, and deviations of confirmed anomalies to keep visible. Add with ``+``.

    Parameters
    ----------
    ignored : (n, d) array
        Deviations from the context that are false alarms.
    weights : (n,) array, optional
        Weight of each; 1 by default.
    confirmed : (p, d) array, optional
        Deviations of confirmed anomalies.

    Examples
    --------
    >>> light = Feedback(ignored=[[3.0, 3.0, 0.0]])
    >>> both = light + Feedback(ignored=[[0.0, 0.0, 1.0]], confirmed=[[1.0, -1.0, 0.0]])
    >>> len(both.ignored), len(both.confirmed), both.weights
    (2, 1, array([1., 1.]))
    """

    ignored: Floats
    weights: Floats = None  # type: ignore[assignment]
    confirmed: Floats = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        deviations = self.ignored
        if not len(deviations):
            deviations = self.confirmed
        if deviations is None or not len(deviations):
            raise InputError("The feedback is empty. Pass at least one ignored or one confirmed deviation.")
        n_features = as_rows(deviations, "The deviations").shape[1]
        for name in ("ignored", "confirmed"):
            rows = getattr(self, name)
            is_empty = rows is None or not len(rows)
            rows = np.zeros((0, n_features)) if is_empty else as_rows(rows, f"{name} deviations")
            check_same_n_features(n_features, rows.shape[1], f"A {name} deviation")
            with ignore_fp_warnings():
                check_range((rows.astype(np.float64) ** 2).sum(axis=0), np.zeros(n_features, dtype=bool))
            object.__setattr__(self, name, rows.astype(np.float64))
        weights = np.ones(len(self.ignored))
        if self.weights is not None:
            weights = np.array(self.weights, dtype=float)
        if weights.shape != (len(self.ignored),) or not (np.isfinite(weights) & (weights > 0)).all():
            raise InputError(
                f"weights must have one positive number for each of the {len(self.ignored)} ignored deviations, "
                f"got {weights.tolist()!r:.60}."
            )
        object.__setattr__(self, "weights", weights)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return int(self.ignored.shape[1])

    def __add__(self, other: Feedback) -> Feedback:
        """Return the combined feedback."""
        if not isinstance(other, Feedback):
            return NotImplemented
        check_same_n_features(self.n_features, other.n_features, "The added feedback")
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("ignored", "weights", "confirmed"))
        return Feedback(*(np.concatenate(pair) for pair in pairs))


def apply_feedback(spectrum: Spectrum, n_removed: int, feedback: Feedback) -> tuple[Spectrum, int]:
    """Return the spectrum and the number of removed directions after user feedback.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum of the training groups.
    n_removed : int
        Number of its directions that are removed because of the groups.
    feedback : Feedback

    Returns
    -------
    spectrum : Spectrum
        Directions removed by feedback, then those removed by the groups, then all others.
    n_removed : int
        Number of removed directions after the feedback.

    Examples
    --------
    >>> from undistract.algebra import Moments
    >>> rng = np.random.default_rng(0)
    >>> spectrum = Spectrum.of(Moments.of(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10)))
    >>> updated, n_removed = apply_feedback(spectrum, 0, Feedback([[0, 7, 7, 0]]))
    >>> n_removed, (updated.patterns[:, 0] / updated.patterns[1, 0]).round(1) + 0.0
    (1, array([0., 1., 1., 0.]))
    """
    check_same_n_features(spectrum.n_features, feedback.n_features, "The feedback")
    trained = spectrum
    n_trained = n_removed
    total_distraction = float(spectrum.distraction.sum())  # the expected ΔᵀB⁻¹Δ of a training row
    if len(feedback.ignored) and total_distraction > 0:
        weights = feedback.weights * (ODDS / (DEVIATIONS_TO_REMOVE * total_distraction))
        rows = feedback.ignored * np.sqrt(weights)[:, None]
        spectrum, n_added = _solve_with_feedback(_widened(spectrum, rows), n_removed, rows)
        n_removed += n_added
    # Directions that the groups removed stay removed, so protect only the remaining part of an anomaly; if nothing
    # remains, only rounding errors do.
    confirmed = feedback.confirmed - _project_onto(feedback.confirmed, trained.patterns[:, :n_trained])
    confirmed = confirmed[np.linalg.norm(confirmed, axis=1) > 1e-9 * np.linalg.norm(feedback.confirmed, axis=1)]
    spectrum, n_removed = protect_directions(spectrum, n_removed, confirmed, trained)
    if n_removed == spectrum.n_features:
        raise InputError(
            f"The feedback would remove all {n_removed} directions. Undo some answers, or limit them to one source."
        )
    return spectrum, n_removed


def protect_directions(
    spectrum: Spectrum, n_removed: int, confirmed: Floats, trained: Spectrum | None = None
) -> tuple[Spectrum, int]:
    """Keep the directions that make confirmed anomalies visible.

    An anomaly is hidden if the removed patterns leave less than half of its squared deviation, and also less than half
    of what they leave of a normal row. Then the combinations of removed patterns that move along it are kept after
    all. The remaining removed directions are orthogonal to it, so the anomaly keeps its full deviation. All such
    anomalies are handled together, so their order does not matter.

    An anomaly may contain nuisance variation too: a stranger in bright light. Much of its deviation is removed then,
    but the remaining part is still conspicuous. The first condition alone would keep the light (docs/feedback.md).

    Parameters
    ----------
    spectrum : Spectrum
        The removed directions come first.
    n_removed : int
        Number of removed directions.
    confirmed : (p, d) array
        Deviations of confirmed anomalies.
    trained : Spectrum, optional
        Spectrum of the training groups without feedback, for the variance of normal rows; `spectrum` by default.

    Returns
    -------
    spectrum : Spectrum
        The first n_removed directions rotated within their span: removed directions first, then those kept again.
    n_removed : int
        Number of directions that are still removed.

    Examples
    --------
    >>> from undistract.algebra import Moments
    >>> rng = np.random.default_rng(0)
    >>> groups = [rng.normal([3 * m, 0, 0], [1, 9, 9], size=(100, 3)) for m in range(10)]
    >>> spectrum = Spectrum.of(Moments.of(groups))
    >>> rotated, n_removed = protect_directions(spectrum, 2, np.array([[0.0, 5.0, 5.0]]))
    >>> n_removed, bool(abs(rotated.patterns[:, 0] @ [0.0, 1.0, 1.0]) < 1e-9)
    (1, True)
    """
    lengths = np.linalg.norm(confirmed, axis=1)
    deviations = confirmed[lengths > 0] / lengths[lengths > 0, None]  # unit length
    lengths = lengths[lengths > 0]
    if n_removed == 0 or not len(deviations):
        return spectrum, n_removed
    patterns = spectrum.patterns[:, :n_removed]
    visible = 1 - (_project_onto(deviations, patterns) ** 2).sum(axis=1)  # share of the squared deviation
    typical_visible = _visible_variance(trained or spectrum, patterns) / lengths**2
    hidden = deviations[visible < MIN_VISIBLE * np.minimum(1.0, typical_visible)]
    if not len(hidden):
        return spectrum, n_removed
    # The first columns of `turn` span the combinations of patterns that move along the hidden anomalies.
    turn, triangle, _ = qr(patterns.T @ hidden.T, pivoting=True, check_finite=False)  # (r, r)
    sizes = np.abs(np.diag(triangle))
    n_back = int((sizes > 1e-9 * sizes[0]).sum())
    distraction = spectrum.distraction[:n_removed]
    # A rotation of the first columns does not change the metric. Within each part, the most distracting comes first.
    removed = _largest_first(turn[:, n_back:], distraction)
    protected_again = _largest_first(turn[:, :n_back], distraction)
    return _rotated(spectrum, np.hstack([removed, protected_again])), n_removed - n_back


def _visible_variance(trained: Spectrum, patterns: Floats) -> float:
    """Return the within-group variance outside the span of the patterns; within = Σ λ a aᵀ."""
    visible = (trained.patterns**2).sum(axis=0) - (_project_onto(trained.patterns.T, patterns) ** 2).sum(axis=1)
    return float(trained.distraction @ visible)


def _project_onto(rows: Floats, patterns: Floats) -> Floats:
    """Return the part of each row in the span of the patterns."""
    if patterns.shape[1] == 0:
        return np.zeros_like(rows)
    basis = qr(patterns / np.linalg.norm(patterns, axis=0), mode="economic", check_finite=False)[0]
    projected: Floats = (rows @ basis) @ basis.T
    return projected


def _widened(spectrum: Spectrum, rows: Floats) -> Spectrum:
    """Add directions along which the groups never varied, but the feedback does; the metric there is ε."""
    if spectrum.patterns.shape[1] == spectrum.n_features:  # the patterns already span all features
        return spectrum
    residual = rows
    if spectrum.patterns.shape[1]:
        basis = qr(spectrum.patterns, mode="economic", check_finite=False)[0]
        residual = rows - (rows @ basis) @ basis.T
        residual = residual - (residual @ basis) @ basis.T  # again, for the rounding error of the first
    axes, lengths, _ = np.linalg.svd(residual.T, full_matrices=False)
    new = axes[:, lengths > 1e-9 * np.linalg.norm(rows)]  # (d, e)
    if not new.shape[1]:
        return spectrum
    # Without a ridge the metric would be 0 there: use a tiny share of the mean variance.
    tiny = 1e-12 * float(spectrum.directions.pattern_squares.sum() / spectrum.n_features)
    root = np.sqrt(max(spectrum.ridge, tiny, TINY))
    zeros = np.zeros(new.shape[1])
    return replace(
        spectrum,
        distraction=np.append(spectrum.distraction, zeros),
        debiased=np.append(spectrum.debiased, zeros),
        directions=DenseDirections(
            np.hstack([spectrum.filters, new / root]),
            np.hstack([spectrum.patterns, new * root]),
            np.append(spectrum.heterogeneity, zeros),
        ),
    )


def _solve_with_feedback(spectrum: Spectrum, n_removed: int, rows: Floats) -> tuple[Spectrum, int]:
    """Solve again among the kept directions: 1 - λ' are the eigenvalues of I - Λ in the metric I + YᵀY."""
    readings = rows @ spectrum.filters[:, n_removed:]  # Y, (n, k)
    # QR of [Y; I], not a Cholesky factor of I + YᵀY: with a deviation of 1e9, I would vanish by rounding.
    stacked = np.vstack([readings, np.eye(readings.shape[1])])
    lower = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][: readings.shape[1]].T
    between_shares = np.diag(1.0 - spectrum.distraction[n_removed:])  # I - Λ
    half = solve_triangular(lower, between_shares, lower=True, check_finite=False)
    values, vectors = eigh(solve_triangular(lower, half.T, lower=True, check_finite=False), driver="evd")
    filters = solve_triangular(lower.T, vectors, check_finite=False)  # in coordinates of the kept directions
    distraction = np.clip(1.0 - values, 0.0, 1.0)  # smallest value first: largest distraction first
    # Directions that are constant within groups vary now if the feedback varies along them.
    constant = np.linalg.svd(readings[:, spectrum.n_varying - n_removed :], compute_uv=False)
    n_varying = spectrum.n_varying + int((constant > 1e-9 * np.linalg.norm(readings)).sum())
    distraction[n_varying - n_removed :] = 0.0
    feedback_variance = ((readings @ filters) ** 2).sum(axis=0)
    share = np.minimum(feedback_variance / np.maximum(distraction, 1e-12), 1.0)
    weights = filters**2 / (filters**2).sum(axis=0)
    from_feedback = (distraction >= AUTOMATIC_CUTOFF) & (share >= MIN_FEEDBACK_SHARE)
    order = np.concatenate([np.flatnonzero(from_feedback), np.flatnonzero(~from_feedback)])
    n_added = int(from_feedback.sum())

    def reorder(old: Floats, new: Floats) -> Floats:
        """Put directions removed by feedback first, then those that the groups removed, then all others."""
        added, others = np.split(new[..., order], [n_added], axis=-1)
        ordered: Floats = np.concatenate([added, old[..., :n_removed], others], axis=-1)
        return ordered

    def average(old: Floats, of_feedback: float) -> Floats:
        """Average values of the old directions, with the share of the feedback at its own value."""
        return reorder(old, (1 - share) * (old[n_removed:] @ weights) + share * of_feedback)

    old = spectrum
    solved = replace(
        old,
        variances=None,
        distraction=reorder(old.distraction, distraction),
        # Feedback has no group means with sampling noise, and applies to all groups alike.
        debiased=average(old.debiased, 1.0),
        directions=DenseDirections(
            reorder(old.filters, old.filters[:, n_removed:] @ filters),
            reorder(old.patterns, old.patterns[:, n_removed:] @ (lower @ vectors)),
            average(old.heterogeneity, 0.0),
        ),
        n_varying=n_varying,
        feedback_share=reorder(np.zeros(len(old.distraction)), share),
    )
    if old.variances is not None:
        # The feedback adds variance; the ridge is still a multiple of the mean variance of the training data.
        squares = solved.directions.pattern_squares
        total = float(np.maximum(squares - old.ridge, 0.0).sum())
        within = float(solved.distraction @ squares)
        solved = replace(solved, variances=replace(old.variances, total=total, within=within))
    return solved, n_added


def _largest_first(turn: Floats, distraction: Floats) -> Floats:
    if turn.shape[1] == 0:
        return turn
    _, vectors = eigh(turn.T @ (distraction[:, None] * turn))
    largest: Floats = turn @ vectors[:, ::-1]
    return largest


def _rotated(spectrum: Spectrum, turn: Floats) -> Spectrum:
    """Rotate the first directions within their span; values that are variances mix by the squared coefficients."""
    n = len(turn)
    weights = turn**2

    def values(old: Floats) -> Floats:
        return np.append(old[:n] @ weights, old[n:])

    def columns(old: Floats) -> Floats:
        return np.hstack([old[:, :n] @ turn, old[:, n:]])

    share = spectrum.feedback_share
    if share is not None:
        share = values(share)
    return replace(
        spectrum,
        distraction=values(spectrum.distraction),
        debiased=values(spectrum.debiased),
        feedback_share=share,
        directions=DenseDirections(
            columns(spectrum.filters), columns(spectrum.patterns), values(spectrum.heterogeneity)
        ),
    )
