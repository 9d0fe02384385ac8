"""Training: batches by sets, until sets that were held out no longer profit."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from undistract.arrays import Floats, Ints
from undistract.neural.architecture import Architecture, Weights
from undistract.neural.batches import SetBatches, members
from undistract.neural.library import torch as library
from undistract.neural.loss import FocusLoss
from undistract.neural.network import Network, weights_of
from undistract.neural.settings import Training
from undistract.progress import watched

torch = library()

WEIGHT_DECAY = 1e-4
MOST_HELD_OUT = 4096  # rows that are looked at after each epoch


class Trained(NamedTuple):
    """What training gives."""

    weights: Weights
    losses: Floats  # (epochs,) of the training batches
    held_out_losses: Floats  # (epochs,), or empty
    epoch: int  # which one the weights are from, counted from one


def train(shape: Architecture, how: Training, rows: Floats, sets: Ints, held_out: Ints) -> Trained:
    """Train a network on standardised rows.

    Parameters
    ----------
    shape : Architecture
    how : Training
    rows : (n, d) array
    sets : (n,) array of int
    held_out : array of int
        Sets that are never trained on, and say when to stop; if there are none, all epochs are run.

    Returns
    -------
    Trained
    """
    apart = np.isin(sets, held_out)
    X, numbers = torch.from_numpy(rows.astype(np.float32)), torch.from_numpy(sets)
    places = np.flatnonzero(~apart)
    batches = SetBatches(sets[places], n_sets=how.n_sets, n_rows=how.n_rows, random_state=how.seed)
    judges = _judges(sets, apart, how.seed)
    loss = FocusLoss(cushion=how.cushion)
    spread = X[places].var(dim=0, correction=0).sum().clamp_min(1e-12)

    def measured(network: Network, drawn: Any) -> Any:
        content, rebuilt = network(X[drawn])
        missing = ((rebuilt - X[drawn]) ** 2).sum(dim=1).mean() / spread
        return loss(content, numbers[drawn]) + how.rebuilding * missing

    with torch.random.fork_rng(devices=[]):  # the caller's own random numbers go on as before
        torch.manual_seed(how.seed)
        network = Network(shape)
    steps = torch.optim.AdamW(network.parameters(), lr=how.learning_rate, weight_decay=WEIGHT_DECAY)
    losses, judged, best = [], [], (np.inf, 0, deepcopy(network.state_dict()))
    for epoch in watched(range(1, how.epochs + 1), total=how.epochs, what="Epochs", progress=how.progress):
        network.train()
        of_batches = []
        for drawn in batches:
            value = measured(network, places[drawn])
            steps.zero_grad()
            value.backward()
            steps.step()
            of_batches.append(value.item())
        losses.append(np.mean(of_batches))
        network.train(False)
        if len(judges):
            with torch.no_grad():
                judged.append(measured(network, judges).item())
        last = judged[-1] if judged else -float(epoch)  # without judges the last epoch is the best
        if last < best[0]:
            best = last, epoch, deepcopy(network.state_dict())
        elif epoch - best[1] >= how.patience:
            break
    network.load_state_dict(best[2])
    return Trained(weights_of(network), np.array(losses), np.array(judged), best[1])


def _judges(sets: Ints, apart: Any, seed: int) -> Ints:
    """Return the rows of held-out sets, or an equal number of each where they are many."""
    every = np.flatnonzero(apart)
    if len(every) <= MOST_HELD_OUT:
        return every
    groups = members(sets[every])
    most, rng = max(2, MOST_HELD_OUT // len(groups)), np.random.default_rng(seed)
    return np.concatenate([rng.permutation(every[rows])[:most] for rows in groups])


def hold_out(sets: Ints, share: float, seed: int) -> Ints:
    """Choose the sets that say when to stop: whole sets with several rows, two or none, never so many that one is left.

    Examples
    --------
    >>> sets = np.repeat(np.arange(10), 5)
    >>> len(hold_out(sets, 0.2, 0)), len(hold_out(sets, 0.1, 0))
    (2, 0)
    """
    usable = np.flatnonzero(np.bincount(sets) > 1)
    n_held = round(share * len(usable))
    if n_held < 2 or len(usable) - n_held < 2:
        return np.empty(0, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).permutation(usable)[:n_held])
