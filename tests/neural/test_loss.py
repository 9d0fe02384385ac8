"""The loss: unbiased at two rows per set, checked gradients, no reward for collapse, words for bad batches."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")

from undistract import InputError, Moments  # noqa: E402
from undistract.algebra import Spectrum  # noqa: E402
from undistract.neural import FocusLoss, SetBatches  # noqa: E402
from undistract.neural.loss import batch_moments  # noqa: E402


def rows(n_sets, n_rows, n_directions=3, seed=0):
    torch.manual_seed(seed)
    return torch.randn(n_sets * n_rows, n_directions, dtype=torch.double), torch.arange(n_sets).repeat_interleave(
        n_rows
    )


@pytest.mark.parametrize("n_rows", [2, 3, 8])
def test_a_direction_that_tells_no_sets_apart_reads_one_at_any_number_of_rows(n_rows):
    within, total = [], []
    for seed in range(2000):  # small batches: what is wrong in each would stay wrong in their mean
        moments = batch_moments(*rows(8, n_rows, 1, seed))
        within.append(moments.within.item())
        total.append(moments.total.item())
    error = 3 * np.std(within) / np.sqrt(2000)
    assert np.mean(within) == pytest.approx(1, abs=error)
    assert np.mean(within) / np.mean(total) == pytest.approx(1, abs=2 * error)


def test_the_plain_ratio_of_a_batch_would_read_half_of_it():
    plain = [Moments.of_labelled(*(part.numpy() for part in rows(20, 2, 1, seed))) for seed in range(300)]
    assert np.mean([(one.within / one.total).item() for one in plain]) == pytest.approx(0.52, abs=0.02)


@pytest.mark.parametrize("counts", [(2, 2), (2, 5, 9), (3, 3, 3, 3, 30)])
def test_moments_of_a_batch_are_those_that_the_algebra_debiases(counts):
    """MATHEMATICS 4: A_u, and Q_u beside it, written out from scatters, for sets of any sizes."""
    torch.manual_seed(1)
    sets = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    X = torch.randn(len(sets), 3, dtype=torch.double)
    shares = np.full(len(counts), 1 / len(counts))
    parts = [X[sets == one].numpy() for one in range(len(counts))]
    scatters = [(part - part.mean(0)).T @ (part - part.mean(0)) for part in parts]
    within = sum(p * S / (n - 1) for p, S, n in zip(shares, scatters, counts, strict=True))
    means = np.stack([part.mean(0) for part in parts])
    between = (means - means.mean(0)).T @ ((means - means.mean(0)) * shares[:, None])
    wander = sum(p * (1 - p) * S / (n * (n - 1)) for p, S, n in zip(shares, scatters, counts, strict=True))
    unbiased = (between - wander) / (1 - (shares**2).sum())
    found = batch_moments(X, sets)
    assert found.within.numpy() == pytest.approx(within)
    assert found.total.numpy() == pytest.approx(within + unbiased)


def test_the_loss_is_the_mean_logarithm_of_distraction():
    """With as many rows as here, bias is nothing, and the loss is what the linear spectrum of the batch says."""
    X, sets = rows(40, 400)
    X = X + torch.randn(40, 3, dtype=torch.double)[sets]
    spectrum = Spectrum.of(Moments.of_labelled(X.numpy(), sets.numpy()), cushion=0.1)
    assert FocusLoss(guard=0.0)(X, sets).item() == pytest.approx(_with_cushion_inside(spectrum, X, sets), abs=0.02)


def _with_cushion_inside(spectrum, X, sets):
    # The loss grants the cushion to both sides, so that a direction without variation reads log 1.
    moments = Moments.of_labelled(X.numpy(), sets.numpy())
    within, total = moments.within, moments.total
    cushion = spectrum.cushion * np.eye(len(total))
    return (np.linalg.slogdet(within + cushion)[1] - np.linalg.slogdet(total + cushion)[1]) / len(total)


@pytest.mark.parametrize("counts", [(2, 2, 2), (3, 4, 5)])
def test_gradients_are_right(counts):
    sets = torch.arange(3).repeat_interleave(torch.tensor(counts))
    X = torch.randn(len(sets), 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: FocusLoss()(z, sets), (X,))


def test_a_collapse_onto_one_direction_or_a_point_is_worse():
    X, sets = rows(16, 8)
    apart = torch.randn(16, 3, dtype=torch.double)[sets] + 0.1 * X
    line = apart[:, :1] * torch.ones(1, 3)
    loss = FocusLoss()
    assert loss(apart, sets) < loss(line, sets) - 1
    assert loss(apart, sets) < loss(1e-3 * apart, sets) - 1
    assert torch.isfinite(loss(torch.zeros_like(apart), sets))


def test_without_the_guard_units_do_not_count():
    X, sets = rows(16, 8)
    free = FocusLoss(guard=0.0)
    assert free(1000 * X, sets).item() == pytest.approx(free(X, sets).item(), abs=1e-9)


def test_names_of_sets_and_the_order_of_rows_do_not_count():
    X, sets = rows(5, 4)
    order = torch.randperm(20)
    assert FocusLoss()(X[order], (7 * sets + 3)[order]).item() == pytest.approx(FocusLoss()(X, sets).item())


def test_training_finds_what_tells_sets_apart():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    angle, day = rng.uniform(0, 2 * np.pi, 1200), np.repeat(np.arange(30), 40)
    radius = rng.uniform(1, 3, 30)[day]
    X = torch.tensor(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), dtype=torch.float32)
    encoder = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    steps, loss = torch.optim.Adam(encoder.parameters(), lr=1e-2), FocusLoss()
    for _ in range(15):
        for batch in SetBatches(day, random_state=0):
            value = loss(encoder(X[batch]), torch.tensor(day[batch]))
            steps.zero_grad()
            value.backward()
            steps.step()
    read = encoder(X).detach().numpy()[:, 0]
    assert abs(np.corrcoef(read, radius)[0, 1]) > 0.95


good, labels = torch.ones(4, 2), [0, 0, 1, 1]
bad_batches = {
    "one set": (good, [0, 0, 0, 0]),
    "a set with one row": (good, [0, 0, 0, 1]),
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
def test_a_batch_that_cannot_be_judged_is_refused(kind):
    with pytest.raises(InputError):
        FocusLoss()(*bad_batches[kind])


@pytest.mark.parametrize(("setting", "value"), [("cushion", 0.0), ("cushion", "x"), ("guard", -1.0), ("guard", np.nan)])
def test_nonsense_settings_are_refused_by_name(setting, value):
    with pytest.raises(InputError, match=setting):
        FocusLoss(**{setting: value})
