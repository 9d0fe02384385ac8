"""FocusLoss: unbiased for two rows per group, correct gradients, no reward for collapse, errors for bad batches."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")

from undistract import InputError, Moments  # noqa: E402
from undistract.algebra import Spectrum  # noqa: E402
from undistract.neural import FocusLoss, GroupBatches  # noqa: E402
from undistract.neural.loss import batch_moments  # noqa: E402


def rows(n_groups, n_rows, n_directions=3, seed=0):
    torch.manual_seed(seed)
    return torch.randn(n_groups * n_rows, n_directions, dtype=torch.double), torch.arange(n_groups).repeat_interleave(
        n_rows
    )


@pytest.mark.parametrize("n_rows", [2, 3, 8])
def test_distraction_of_noise_is_one_for_any_number_of_rows(n_rows):
    within = []
    total = []
    for seed in range(2000):  # small batches: a bias would remain in their mean
        moments = batch_moments(*rows(8, n_rows, 1, seed))
        within.append(moments.within.item())
        total.append(moments.total.item())
    error = 3 * np.std(within) / np.sqrt(2000)
    assert np.mean(within) == pytest.approx(1, abs=error)
    assert np.mean(within) / np.mean(total) == pytest.approx(1, abs=2 * error)


def test_plug_in_ratio_of_noise_is_one_half():
    plain = [Moments.from_labels(*(part.numpy() for part in rows(20, 2, 1, seed))) for seed in range(300)]
    assert np.mean([(moments.within / moments.total).item() for moments in plain]) == pytest.approx(0.52, abs=0.02)


@pytest.mark.parametrize("counts", [(2, 2), (2, 5, 9), (3, 3, 3, 3, 30)])
def test_batch_moments_equal_debiased_moments(counts):
    """A_u and Q_u of docs/mathematics.md, section 4, from scatters, for groups of any size."""
    torch.manual_seed(1)
    groups = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    X = torch.randn(len(groups), 3, dtype=torch.double)
    shares = np.full(len(counts), 1 / len(counts))
    parts = [X[groups == number].numpy() for number in range(len(counts))]
    scatters = [(part - part.mean(0)).T @ (part - part.mean(0)) for part in parts]
    within = sum(p * S / (n - 1) for p, S, n in zip(shares, scatters, counts, strict=True))
    means = np.stack([part.mean(0) for part in parts])
    between = (means - means.mean(0)).T @ ((means - means.mean(0)) * shares[:, None])
    mean_noise = sum(p * (1 - p) * S / (n * (n - 1)) for p, S, n in zip(shares, scatters, counts, strict=True))
    unbiased = (between - mean_noise) / (1 - (shares**2).sum())
    moments = batch_moments(X, groups)
    assert moments.within.numpy() == pytest.approx(within)
    assert moments.total.numpy() == pytest.approx(within + unbiased)


def test_loss_is_mean_log_distraction():
    """With many rows the bias is negligible, and the loss follows from the linear spectrum of the batch."""
    X, groups = rows(40, 400)
    X = X + torch.randn(40, 3, dtype=torch.double)[groups]
    spectrum = Spectrum.of(Moments.from_labels(X.numpy(), groups.numpy()), ridge=0.1)
    assert FocusLoss(guard=0.0)(X, groups).item() == pytest.approx(_mean_log_distraction(spectrum, X, groups), abs=0.02)


def _mean_log_distraction(spectrum, X, groups):
    # The loss adds the ridge to both matrices, so a direction without variance has log 1 = 0.
    moments = Moments.from_labels(X.numpy(), groups.numpy())
    within, total = moments.within, moments.total
    ridge = spectrum.ridge * np.eye(len(total))
    return (np.linalg.slogdet(within + ridge)[1] - np.linalg.slogdet(total + ridge)[1]) / len(total)


@pytest.mark.parametrize("counts", [(2, 2, 2), (3, 4, 5)])
def test_gradients_are_correct(counts):
    groups = torch.arange(3).repeat_interleave(torch.tensor(counts))
    X = torch.randn(len(groups), 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: FocusLoss()(z, groups), (X,))


def test_collapse_onto_one_direction_or_a_point_is_worse():
    X, groups = rows(16, 8)
    separated = torch.randn(16, 3, dtype=torch.double)[groups] + 0.1 * X
    line = separated[:, :1] * torch.ones(1, 3)
    loss = FocusLoss()
    assert loss(separated, groups) < loss(line, groups) - 1
    assert loss(separated, groups) < loss(1e-3 * separated, groups) - 1
    assert torch.isfinite(loss(torch.zeros_like(separated), groups))


def test_loss_without_guard_is_scale_invariant():
    X, groups = rows(16, 8)
    free = FocusLoss(guard=0.0)
    assert free(1000 * X, groups).item() == pytest.approx(free(X, groups).item(), abs=1e-9)


def test_loss_is_invariant_to_labels_and_row_order():
    X, groups = rows(5, 4)
    order = torch.randperm(20)
    assert FocusLoss()(X[order], (7 * groups + 3)[order]).item() == pytest.approx(FocusLoss()(X, groups).item())


def test_training_finds_the_difference_between_groups():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    angle, day = rng.uniform(0, 2 * np.pi, 1200), np.repeat(np.arange(30), 40)
    radius = rng.uniform(1, 3, 30)[day]
    X = torch.tensor(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), dtype=torch.float32)
    encoder = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
    loss = FocusLoss()
    for _ in range(15):
        for batch in GroupBatches(day, random_state=0):
            value = loss(encoder(X[batch]), torch.tensor(day[batch]))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
    encoded = encoder(X).detach().numpy()[:, 0]
    assert abs(np.corrcoef(encoded, radius)[0, 1]) > 0.95


good, labels = torch.ones(4, 2), [0, 0, 1, 1]
bad_batches = {
    "one group": (good, [0, 0, 0, 0]),
    "a group with one row": (good, [0, 0, 0, 1]),
    "no rows": (torch.ones(0, 2), []),
    "too few labels": (good, [0, 0, 1]),
    "labels in columns": (good, [[0], [0], [1], [1]]),
    "labels with fractions": (good, [0.0, 0.0, 1.0, 1.0]),
    "words": (good, ["a", "a", "b", "b"]),
    "no labels": (good, None),
    "NaN": (good * torch.nan, labels),
    "infinity": (good * torch.inf, labels),
    "one dimension": (torch.ones(4), labels),
    "integers": (torch.ones(4, 2, dtype=torch.int64), labels),
    "numpy": (np.ones((4, 2)), labels),
}


@pytest.mark.parametrize("kind", bad_batches)
def test_invalid_batch_raises_input_error(kind):
    with pytest.raises(InputError):
        FocusLoss()(*bad_batches[kind])


@pytest.mark.parametrize(("option", "value"), [("ridge", 0.0), ("ridge", "x"), ("guard", -1.0), ("guard", np.nan)])
def test_invalid_option_raises_input_error_with_its_name(option, value):
    with pytest.raises(InputError, match=option):
        FocusLoss(**{option: value})
