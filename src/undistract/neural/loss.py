"""The FOCUS loss: how distracting an encoding is, read off one batch, with a gradient.

    within = 1/M Σ_m S_m / (n_m − 1)                                  S_m: scatter of set m around its own mean
    total  = 1/M Σ_m S_m / n_m  +  1/(M−1) Σ_m (μ_m−μ)(μ_m−μ)ᵀ        = within + between, both unbiased
    loss   = 1/k [log det(within + εI) − log det(total + εI)]  +  guard · (log mean variance)²

A plain batch divides by n_m where n_m − 1 were free, and lets the wandering of set means pass for a difference between
sets: at two rows per set, a reading that tells no sets apart would seem to be half descriptive. Written as above, both
matrices are positive semidefinite in every batch, so that the determinants need no eigenvectors and no clipping.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

from undistract.errors import InputError
from undistract.neural.library import torch as library

torch = library()
Module: Any = torch.nn.Module

# Least mean variance: an encoding that has collapsed to a point still has a loss, and a large one.
FLOOR = 1e-12


class BatchMoments(NamedTuple):
    """Unbiased covariances of one batch, every set counted alike."""

    within: Any  # (k, k) tensor
    total: Any  # (k, k) tensor


def batch_moments(encoded: Any, sets: Any) -> BatchMoments:
    """Estimate how encoded rows vary inside sets and altogether, without bias at any number of rows.

    Parameters
    ----------
    encoded : (n, k) tensor
    sets : (n,) tensor or sequence of int
        Which set each row belongs to; two sets or more, with two rows or more each.

    Examples
    --------
    >>> import torch
    >>> moments = batch_moments(torch.tensor([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1])
    >>> moments.within.item(), moments.total.item()
    (2.0, 9.0)
    """
    numbers, counts = _numbered(encoded, sets)
    n_sets, n_rows = len(counts), counts.to(encoded.dtype)  # n_rows: (M,)
    sums = torch.zeros(n_sets, encoded.shape[1], dtype=encoded.dtype, device=encoded.device)
    means = sums.index_add(0, numbers, encoded) / n_rows[:, None]  # (M, k)
    inside = encoded - means[numbers]  # (n, k)
    apart = means - means.mean(dim=0)  # (M, k)
    within = (inside / (n_sets * (n_rows - 1))[numbers, None]).T @ inside
    total = (inside / (n_sets * n_rows)[numbers, None]).T @ inside + apart.T @ apart / (n_sets - 1)
    return BatchMoments(within, total)


class FocusLoss(Module):  # type: ignore[misc]
    """How distracting an encoding is: low where rows of one set lie together and sets lie apart.

    The value is the mean logarithm of distraction over all directions of the encoding: 0 where nothing tells sets
    apart, −2.4 at best with a cushion of 0.1. One direction that tells sets apart is not enough, so that the encoding
    does not collapse onto it. Eight rows per set or more are recommended (`SetBatches` draws them).

    Parameters
    ----------
    cushion : float, default=0.1
        Between-set variance that every direction is granted, as a multiple of the mean variance of the encoding.
    guard : float, default=0.1
        Weight of the term that holds the mean variance of the encoding near one. Without it the encoding may shrink to
        a point or grow without end; neither changes the rest of the loss.

    Examples
    --------
    >>> import torch
    >>> from undistract.neural import FocusLoss
    >>> torch.manual_seed(0) and None
    >>> sets = torch.arange(16).repeat_interleave(8)
    >>> noise, place = torch.randn(128, 2), torch.randn(16, 2)[sets]
    >>> loss = FocusLoss()
    >>> bool(loss(noise, sets) > -0.1), bool(loss(place + 0.1 * noise, sets) < -1.5)
    (True, True)
    """

    def __init__(self, *, cushion: float = 0.1, guard: float = 0.1) -> None:
        super().__init__()
        for name, value, least in (("cushion", cushion, 1e-6), ("guard", guard, 0.0)):
            if not isinstance(value, Real) or isinstance(value, bool) or not least <= value < float("inf"):
                raise InputError(f"{name} is {value!r}; expected a number of at least {least:g}.")
        self.cushion = cushion
        self.guard = guard

    def forward(self, encoded: Any, sets: Any) -> Any:
        """Return the loss of one batch.

        Parameters
        ----------
        encoded : (n, k) tensor of floats
        sets : (n,) tensor or sequence of int

        Returns
        -------
        tensor, one number
        """
        moments = batch_moments(encoded, sets)
        n_directions = encoded.shape[1]
        variance = torch.trace(moments.total) / n_directions + FLOOR
        cushion = self.cushion * variance * torch.eye(n_directions, dtype=encoded.dtype, device=encoded.device)
        distraction = _log_det(moments.within + cushion) - _log_det(moments.total + cushion)
        return distraction / n_directions + self.guard * torch.log(variance) ** 2

    def extra_repr(self) -> str:
        """Name the settings where PyTorch prints a module."""
        return f"cushion={self.cushion}, guard={self.guard}"


def _log_det(matrix: Any) -> Any:
    """Return the logarithm of the determinant of a positive definite matrix."""
    return 2 * torch.log(torch.diagonal(torch.linalg.cholesky(matrix))).sum()


def _numbered(encoded: Any, sets: Any) -> tuple[Any, Any]:
    """Return the number of each row's set, 0 .. M−1, and how many rows each has."""
    if not isinstance(encoded, torch.Tensor) or not encoded.is_floating_point() or encoded.ndim != 2:
        found = (
            f"{encoded.dtype}, shape {tuple(encoded.shape)}" if hasattr(encoded, "dtype") else type(encoded).__name__
        )
        raise InputError(f"The encoding is {found}; expected a tensor of floats with shape (rows, directions).")
    if not torch.isfinite(encoded).all():
        raise InputError("The encoding holds NaN or infinity. Scale the rows, or lower the learning rate.")
    try:
        labels = torch.as_tensor(sets, device=encoded.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError("sets are no numbers; give each set a number from 0, for example by numpy.unique.") from error
    if labels.shape != encoded.shape[:1] or labels.is_floating_point() or labels.is_complex():
        raise InputError(
            f"sets are {labels.dtype} with shape {tuple(labels.shape)}; expected whole numbers, one for each of the "
            f"{len(encoded)} rows."
        )
    _, numbers, counts = torch.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2 or int(counts.min()) < 2:
        raise InputError(
            f"The batch has {len(counts)} set(s), the smallest with {int(counts.min()) if len(counts) else 0} row(s); "
            "expected two sets or more with two rows or more each, better eight. Draw batches with SetBatches."
        )
    return numbers, counts
