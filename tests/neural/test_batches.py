"""Batches by sets: which sets and rows are drawn, how often, and in what order."""

import numpy as np
import pytest

from undistract import InputError
from undistract.neural import SetBatches

SETS = np.repeat(["a", "b", "c", "d", "e"], [50, 7, 20, 1, 30])


def test_a_batch_holds_distinct_rows_of_distinct_sets():
    for batch in SetBatches(SETS, n_sets=3, n_rows=8, n_batches=40, random_state=0):
        drawn, counts = np.unique(SETS[batch], return_counts=True)
        assert len(drawn) == 3
        assert set(counts) <= {7, 8}
        assert len(set(batch)) == len(batch)


def test_every_set_is_drawn_equally_often_and_a_single_row_never():
    drawn = [
        name for batch in SetBatches(SETS, n_sets=3, n_rows=2, n_batches=80, random_state=0) for name in SETS[batch]
    ]
    names, counts = np.unique(drawn, return_counts=True)
    assert list(names) == ["a", "b", "c", "e"]
    assert counts.max() - counts.min() <= 2


def test_one_round_draws_as_many_rows_as_there_are():
    batches = SetBatches(np.repeat(np.arange(10), 100), n_sets=5, n_rows=8)
    assert len(batches) == 25 == len(list(batches))


def test_the_same_seed_gives_the_same_rounds_and_rounds_differ():
    one, other = (SetBatches(SETS, random_state=3) for _ in range(2))
    first = list(one)
    assert first == list(other)
    assert first != list(one)


def test_a_data_loader_takes_it():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    numbers = np.unique(SETS, return_inverse=True)[1]
    data = torch.utils.data.TensorDataset(torch.arange(len(SETS)), torch.tensor(numbers))
    loader = torch.utils.data.DataLoader(data, batch_sampler=SetBatches(SETS, n_sets=2, n_rows=4, random_state=0))
    for rows, sets in loader:
        assert len(rows) == 8
        assert (torch.tensor(numbers)[rows] == sets).all()


@pytest.mark.parametrize(
    ("sets", "settings"),
    [
        ([], {}),
        (["a"] * 9, {}),
        (range(9), {}),
        (["a", "a", None, "b"], {}),
        (SETS, {"n_sets": 1}),
        (SETS, {"n_rows": 1}),
        (SETS, {"n_rows": 2.5}),
        (SETS, {"n_batches": 0}),
    ],
)
def test_what_gives_no_batches_is_refused(sets, settings):
    with pytest.raises(InputError):
        SetBatches(sets, **settings)
