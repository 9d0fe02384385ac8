"""GroupBatches: which groups and rows are drawn, how often, and in what order."""

import numpy as np
import pytest

from undistract import InputError
from undistract.neural import GroupBatches

SETS = np.repeat(["a", "b", "c", "d", "e"], [50, 7, 20, 1, 30])


def test_batch_has_distinct_rows_of_distinct_groups():
    for batch in GroupBatches(SETS, n_groups=3, n_rows=8, n_batches=40, random_state=0):
        drawn, counts = np.unique(SETS[batch], return_counts=True)
        assert len(drawn) == 3
        assert set(counts) <= {7, 8}
        assert len(set(batch)) == len(batch)


def test_groups_are_drawn_equally_often_and_single_rows_never():
    drawn = [
        name for batch in GroupBatches(SETS, n_groups=3, n_rows=2, n_batches=80, random_state=0) for name in SETS[batch]
    ]
    names, counts = np.unique(drawn, return_counts=True)
    assert list(names) == ["a", "b", "c", "e"]
    assert counts.max() - counts.min() <= 2


def test_epoch_draws_as_many_rows_as_there_are():
    batches = GroupBatches(np.repeat(np.arange(10), 100), n_groups=5, n_rows=8)
    assert len(batches) == 25 == len(list(batches))


def test_seed_determines_epochs_and_epochs_differ():
    batches, same = (GroupBatches(SETS, random_state=3) for _ in range(2))
    first = list(batches)
    assert first == list(same)
    assert first != list(batches)


def test_data_loader_accepts_it():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    numbers = np.unique(SETS, return_inverse=True)[1]
    data = torch.utils.data.TensorDataset(torch.arange(len(SETS)), torch.tensor(numbers))
    loader = torch.utils.data.DataLoader(data, batch_sampler=GroupBatches(SETS, n_groups=2, n_rows=4, random_state=0))
    for rows, groups in loader:
        assert len(rows) == 8
        assert (torch.tensor(numbers)[rows] == groups).all()


@pytest.mark.parametrize(
    ("groups", "options"),
    [
        ([], {}),
        (["a"] * 9, {}),
        (range(9), {}),
        (["a", "a", None, "b"], {}),
        (SETS, {"n_groups": 1}),
        (SETS, {"n_rows": 1}),
        (SETS, {"n_rows": 2.5}),
        (SETS, {"n_batches": 0}),
    ],
)
def test_invalid_input_raises_input_error(groups, options):
    with pytest.raises(InputError):
        GroupBatches(groups, **options)
