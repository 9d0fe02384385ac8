"""Planning is linear and lazy: rows are hashed only for a checkpoint, and few tasks are submitted at a time."""

from types import SimpleNamespace

import pytest

from tests.parallel.making import named_rows

pytest.importorskip("dask", reason="needs Dask: pip install 'undistract[dask]'")

from undistract import Source
from undistract.algebra.groups import Prior
from undistract.parallel import gather, map_groups
from undistract.parallel.runners import DaskRunner, LocalRunner, Task
from undistract.parallel.tasks import Group, GroupRows, Piece, plan


def test_planning_many_small_groups_is_linear():
    # Regression: planning was quadratic, and 100 000 small groups took minutes.
    requests = []

    class Counted(Piece):
        def __getattribute__(self, name):
            if name == "n_rows":
                requests.append(name)
            return super().__getattribute__(name)

    pieces = [Counted(GroupRows(), (Group(number, number, 1),), 1, 3) for number in range(500)]
    (leaf,) = plan(pieces, Prior.of("uniform"))
    assert len(leaf.pieces) == 500
    assert len(requests) == len(pieces)


def test_rows_are_hashed_only_for_a_checkpoint(monkeypatch, tmp_path):
    # Regression: hashing all rows without a checkpoint took as long as the moments.
    requests = []
    monkeypatch.setattr("undistract.parallel.gathering._rows_fingerprint", lambda rows: requests.append(rows) or "rows")
    gather(named_rows(3))
    assert requests == []
    gather(named_rows(3), checkpoint=tmp_path)
    assert len(requests) == 3


def test_checkpointed_results_are_loaded_lazily():
    # Regression: a second run loaded all results of the first before it joined two of them.
    taken = []

    def ready():
        for number in range(100):
            taken.append(number)
            yield Task([(len, ())], "a group", ready=number)

    client = SimpleNamespace(status="running", nthreads=lambda: {"worker": 2}, cancel=lambda futures: None)
    for number in DaskRunner(client).run(ready()):
        assert len(taken) - number <= 7
    assert len(taken) == 100


def test_unpicklable_group_is_read_once():
    # Regression: it was read for its rows and again for its times.
    read = []
    group = Source.from_reader("day", lambda: read.append(1) or [([[1.0], [2.0]], [8, 9])])
    local = SimpleNamespace(is_picklable=lambda group: False, run=LocalRunner().run)
    assert list(map_groups(lambda group: group.times.tolist(), [group], local)) == [[8, 9]]
    assert len(read) == 1
