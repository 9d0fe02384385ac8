"""The FOCUS loss: the mean log distraction of an encoding, estimated on one batch, with a gradient.

    within = 1/M Σ_m S_m / (n_m − 1)                                  S_m: scatter of group m around its own mean
    total  = 1/M Σ_m S_m / n_m  +  1/(M−1) Σ_m (μ_m−μ)(μ_m−μ)ᵀ        = within + between, both unbiased
    loss   = 1/k [log det(within + εI) − log det(total + εI)]  +  guard · (log mean variance)²

The plug-in estimate divides by n_m instead of n_m − 1, and counts the noise of group means as a difference between
groups: with two rows per group, a direction without any group difference would look half descriptive. As written above,
both matrices are positive semidefinite in every batch, so the determinants need no eigenvectors and no clipping.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from undistract._arrays import check_number
from undistract.errors import InputError
from undistract.neural.network import import_torch

torch = import_torch()
Module: Any = torch.nn.Module

# Added to the mean variance: an encoding that has collapsed to a point still has a finite, large loss.
FLOOR = 1e-12


class BatchMoments(NamedTuple):
    """Unbiased covariances of one batch, with equal weight for every group."""

    within: Any  # (k, k) tensor
    total: Any  # (k, k) tensor


def batch_moments(encoded: Any, groups: Any) -> BatchMoments:
    """Estimate the within-group and total covariance of encoded rows, without bias for any number of rows.

    Parameters
    ----------
    encoded : (n, k) tensor
    groups : (n,) tensor or sequence of int
        The group of each row; at least two groups, with two rows or more each.

    Examples
    --------
    >>> import torch
    >>> moments = batch_moments(torch.tensor([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1])
    >>> moments.within.item(), moments.total.item()
    (2.0, 9.0)
    """
    codes, counts = _group_codes(encoded, groups)
    n_groups = len(counts)
    n_rows = counts.to(encoded.dtype)  # (M,)
    sums = torch.zeros(n_groups, encoded.shape[1], dtype=encoded.dtype, device=encoded.device)
    means = sums.index_add(0, codes, encoded) / n_rows[:, None]  # (M, k)
    deviations = encoded - means[codes]  # (n, k)
    centred_means = means - means.mean(dim=0)  # (M, k)
    within = (deviations / (n_groups * (n_rows - 1))[codes, None]).T @ deviations
    between_with_noise = centred_means.T @ centred_means / (n_groups - 1)
    # Dividing by n_m here cancels the noise of the group means, W_m / n_m, in the second term.
    total = (deviations / (n_groups * n_rows)[codes, None]).T @ deviations + between_with_noise
    return BatchMoments(within, total)


class FocusLoss(Module):  # type: ignore[misc]
    """Loss of an encoding: low if rows of one group are close together and groups differ.

    The value is the mean logarithm of distraction over all directions of the encoding: 0 if groups do not differ, −2.4
    at best with a ridge of 0.1. A single direction in which groups differ is not enough, so the encoding does not
    collapse onto one. Use eight rows per group or more (`GroupBatches` draws them).

    Parameters
    ----------
    ridge : float, default=0.1
        Ridge on the between-group variance, as a multiple of the mean variance of the encoding.
    guard : float, default=0.1
        Weight of the term that keeps the mean variance of the encoding near one. The other term does not depend on the
        scale, so without it the encoding could shrink to a point or grow without bound.

    Examples
    --------
    >>> import torch
    >>> from undistract.neural import FocusLoss
    >>> torch.manual_seed(0) and None
    >>> groups = torch.arange(16).repeat_interleave(8)
    >>> noise, means = torch.randn(128, 2), torch.randn(16, 2)[groups]
    >>> loss = FocusLoss()
    >>> bool(loss(noise, groups) > -0.1), bool(loss(means + 0.1 * noise, groups) < -1.5)
    (True, True)
    """

    def __init__(self, *, ridge: float = 0.1, guard: float = 0.1) -> None:
        super().__init__()
        check_number("ridge", ridge, least=1e-6, whole=False)
        check_number("guard", guard, least=0, whole=False)
        self.ridge = ridge
        self.guard = guard

    def forward(self, encoded: Any, groups: Any) -> Any:
        """Return the loss of one batch.

        Parameters
        ----------
        encoded : (n, k) tensor of floats
        groups : (n,) tensor or sequence of int

        Returns
        -------
        tensor, one number
        """
        moments = batch_moments(encoded, groups)
        n_directions = encoded.shape[1]
        variance = torch.trace(moments.total) / n_directions + FLOOR
        ridge = self.ridge * variance * torch.eye(n_directions, dtype=encoded.dtype, device=encoded.device)
        distraction = _log_det(moments.within + ridge) - _log_det(moments.total + ridge)
        return distraction / n_directions + self.guard * torch.log(variance) ** 2

    def extra_repr(self) -> str:
        """Return the options that PyTorch prints with the module."""
        return f"ridge={self.ridge}, guard={self.guard}"


def _log_det(matrix: Any) -> Any:
    """Return the logarithm of the determinant of a positive definite matrix."""
    return 2 * torch.log(torch.diagonal(torch.linalg.cholesky(matrix))).sum()


def _group_codes(encoded: Any, groups: Any) -> tuple[Any, Any]:
    """Return the group code of each row, 0 .. M−1, and the number of rows of each group."""
    if not isinstance(encoded, torch.Tensor) or not encoded.is_floating_point() or encoded.ndim != 2:
        actual = type(encoded).__name__
        if hasattr(encoded, "dtype"):
            actual = f"{encoded.dtype}, shape {tuple(encoded.shape)}"
        raise InputError(f"The encoding must be a tensor of floats with shape (rows, directions), got {actual}.")
    if not torch.isfinite(encoded).all():
        raise InputError("The encoding has NaN or infinite values. Scale the rows, or reduce the learning rate.")
    try:
        labels = torch.as_tensor(groups, device=encoded.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError("groups must be whole numbers, one per row. Convert labels with numpy.unique.") from error
    if labels.shape != encoded.shape[:1] or labels.is_floating_point() or labels.is_complex():
        raise InputError(
            f"groups must be whole numbers, one for each of the {len(encoded)} rows, got {labels.dtype} with shape "
            f"{tuple(labels.shape)}."
        )
    _, codes, counts = torch.unique(labels, return_inverse=True, return_counts=True)
    smallest = int(counts.min()) if len(counts) else 0
    if len(counts) < 2 or smallest < 2:
        raise InputError(
            "A batch needs at least two groups with two rows or more each, better eight, got "
            f"{len(counts)} group(s), the smallest with {smallest} row(s). Draw batches with GroupBatches."
        )
    return codes, counts
