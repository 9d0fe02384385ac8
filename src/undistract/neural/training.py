"""Training: batches of groups, with early stopping on held-out groups."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from undistract._arrays import Floats, Ints, check_number
from undistract._progress import track
from undistract.algebra.groups import number_groups
from undistract.errors import InputError
from undistract.neural.network import Architecture, Weights, build_network, get_weights, import_torch, run_network

WEIGHT_DECAY = 1e-4
MAX_VALIDATION_ROWS = 4096  # rows evaluated after each epoch


class GroupBatches:
    """Draw batches of groups with several rows each; use it as `batch_sampler` of a PyTorch DataLoader.

    All groups are drawn equally often, for any number of rows. Groups with a single row show no variation and
    are never drawn; groups with fewer than `n_rows` rows are drawn with all their rows.

    Parameters
    ----------
    groups : (n,) sequence of hashables
        The group of each row of the data.
    n_groups : int, default=16
        Number of groups in a batch; all groups if there are fewer.
    n_rows : int, default=8
        Number of rows of each group in a batch.
    n_batches : int, optional
        Number of batches per epoch; by default enough to draw as many rows as there are.
    random_state : int, optional
        Seed. Every epoch draws other rows.

    Examples
    --------
    >>> from undistract.neural import GroupBatches
    >>> batches = GroupBatches(["a"] * 50 + ["b"] * 50 + ["c"] * 50, n_groups=2, n_rows=5, random_state=0)
    >>> len(batches)
    15
    >>> [len(rows) for rows in batches][:3]
    [10, 10, 10]
    """

    def __init__(
        self,
        groups: Any,
        *,
        n_groups: int = 16,
        n_rows: int = 8,
        n_batches: int | None = None,
        random_state: int | None = None,
    ) -> None:
        check_number("n_groups", n_groups, least=2)
        check_number("n_rows", n_rows, least=2)
        if n_batches is not None:
            check_number("n_batches", n_batches, least=1)
        labels = groups if hasattr(groups, "__len__") else list(groups)
        _, numbers = number_groups(labels, len(labels))
        self._rows = group_members(numbers)
        if len(self._rows) < 2:
            raise InputError(
                f"groups must have at least two groups with two rows or more, got {len(self._rows)}. "
                "Pass the group (video, machine, person, day) of each row."
            )
        self.n_groups = min(n_groups, len(self._rows))
        self.n_rows = n_rows
        self.n_batches = n_batches or -(-len(numbers) // (self.n_groups * n_rows))
        self._rng = np.random.default_rng(random_state)

    def __len__(self) -> int:
        return self.n_batches

    def __iter__(self) -> Iterator[list[int]]:
        queue: list[int] = []
        for _ in range(self.n_batches):
            # Append a new permutation, groups still in the queue last: a group is drawn again only after all others.
            if len(queue) < self.n_groups:
                permuted = self._rng.permutation(len(self._rows)).tolist()
                queue += [group for group in permuted if group not in queue] + [
                    group for group in permuted if group in queue
                ]
            drawn = queue[: self.n_groups]
            queue = queue[self.n_groups :]
            yield [int(row) for group in drawn for row in self._draw_rows(self._rows[group])]

    def _draw_rows(self, rows: Ints) -> Ints:
        if len(rows) <= self.n_rows:
            return rows
        return self._rng.choice(rows, self.n_rows, replace=False)


def group_members(numbers: Ints) -> list[Ints]:
    """Return the row indices of each group with two or more rows.

    Examples
    --------
    >>> group_members(np.array([0, 1, 0, 2, 2]))
    [array([0, 2]), array([3, 4])]
    """
    order = np.argsort(numbers, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(numbers))[:-1])
    return [rows for rows in groups if len(rows) > 1]


class Trained(NamedTuple):
    """The result of a training."""

    weights: Weights
    losses: Floats  # (epochs,) of the training batches
    held_out_losses: Floats  # (epochs,), or empty
    epoch: int  # the epoch of the weights, counted from one


def train(architecture: Architecture, rows: Floats, groups: Ints, held_out: Ints, options: Any, seed: int) -> Trained:
    """Train a network on standardised rows.

    Parameters
    ----------
    architecture : Architecture
    rows : (n, d) array
    groups : (n,) array of int
    held_out : array of int
        Groups held out for early stopping; if there are none, all epochs are run.
    options : NeuralFocus
        Its options: epochs, patience, n_groups, n_rows, learning_rate, ridge, reconstruction_weight, progress.
    seed : int
    """
    from undistract.neural.loss import FocusLoss

    torch = import_torch()
    is_held_out = np.isin(groups, held_out)
    X = torch.from_numpy(rows.astype(np.float32))
    codes = torch.from_numpy(groups)
    train_rows = np.flatnonzero(~is_held_out)
    validation_rows = _validation_rows(groups, is_held_out, seed)
    batches = GroupBatches(
        groups[train_rows], n_groups=int(options.n_groups), n_rows=int(options.n_rows), random_state=seed
    )
    focus_loss = FocusLoss(ridge=float(options.ridge))
    total_variance = X[train_rows].var(dim=0, correction=0).sum().clamp_min(1e-12)

    def batch_loss(network: Any, batch: Any) -> Any:
        content, reconstructed = run_network(network, architecture, X[batch])
        error = ((reconstructed - X[batch]) ** 2).sum(dim=1).mean() / total_variance
        return focus_loss(content, codes[batch]) + float(options.reconstruction_weight) * error

    with torch.random.fork_rng(devices=[]):  # leave the caller's random state unchanged
        torch.manual_seed(seed)
        network = build_network(architecture)
    optimizer = torch.optim.AdamW(network.parameters(), lr=float(options.learning_rate), weight_decay=WEIGHT_DECAY)
    losses = []
    validation_losses: list[float] = []
    best_loss = np.inf
    best_epoch = 0
    best_state = deepcopy(network.state_dict())
    epochs = range(1, int(options.epochs) + 1)
    for epoch in track(epochs, total=len(epochs), what="Epochs", progress=options.progress):
        epoch_losses = []
        for batch in batches:
            value = batch_loss(network, train_rows[batch])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            epoch_losses.append(value.item())
        losses.append(np.mean(epoch_losses))
        last = -float(epoch)  # without held-out groups the last epoch is the best
        if len(validation_rows):
            with torch.no_grad():
                last = batch_loss(network, validation_rows).item()
            validation_losses.append(last)
        if last < best_loss:
            best_loss = last
            best_epoch = epoch
            best_state = deepcopy(network.state_dict())
        elif epoch - best_epoch >= int(options.patience):
            break
    network.load_state_dict(best_state)
    return Trained(get_weights(network), np.array(losses), np.array(validation_losses), best_epoch)


def _validation_rows(groups: Ints, is_held_out: Any, seed: int) -> Ints:
    """Return the rows of held-out groups; if there are many, an equal number of each group."""
    rows = np.flatnonzero(is_held_out)
    if len(rows) <= MAX_VALIDATION_ROWS:
        return rows
    row_sets = group_members(groups[rows])
    max_rows = max(2, MAX_VALIDATION_ROWS // len(row_sets))
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(rows[group])[:max_rows] for group in row_sets])


def hold_out(groups: Ints, share: float, seed: int) -> Ints:
    """Choose groups for early stopping: complete groups with several rows; none if fewer than two on either side.

    Examples
    --------
    >>> groups = np.repeat(np.arange(10), 5)
    >>> len(hold_out(groups, 0.2, 0)), len(hold_out(groups, 0.1, 0))
    (2, 0)
    """
    usable = np.flatnonzero(np.bincount(groups) > 1)
    n_held = round(share * len(usable))
    if n_held < 2 or len(usable) - n_held < 2:
        return np.empty(0, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).permutation(usable)[:n_held])
