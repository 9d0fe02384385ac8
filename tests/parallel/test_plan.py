"""The plan looks at each piece once, at its rows only for a checkpoint; a run takes few tasks at a time."""

from types import SimpleNamespace

import pytest

from tests.parallel.making import named_rows

pytest.importorskip("dask", reason="needs Dask: pip install 'undistract[dask]'")

from undistract import FeatureSet
from undistract.algebra.prior import Prior
from undistract.parallel import gather, in_turn
from undistract.parallel.leaf import OneSet, Piece
from undistract.parallel.plan import branches
from undistract.parallel.run import Here, OnCluster, Task


def test_many_small_sets_are_counted_once_each():
    # All pieces of a leaf were counted again with every further one: 100 000 small sets took minutes to plan.
    asked = []

    class Counted(Piece):
        def __getattribute__(self, name):
            if name == "n_rows":
                asked.append(name)
            return super().__getattribute__(name)

    pieces = [Counted(OneSet(), (number,), (number,), (1,), 1, 3, lambda: None) for number in range(500)]
    (branch,) = branches(pieces, Prior.of("uniform"), split_every=8)
    assert len(branch.leaves) == 1
    assert len(asked) == len(pieces)


def test_rows_are_told_from_others_only_for_a_checkpoint(monkeypatch, tmp_path):
    # To sum up all that was sent, only to forget it, took as long as the moments.
    asked = []
    monkeypatch.setattr("undistract.parallel.one_by_one._mark_of_rows", lambda rows: asked.append(rows) or "rows")
    gather(named_rows(3))
    assert asked == []
    gather(named_rows(3), checkpoint=tmp_path)
    assert len(asked) == 3


def test_what_a_checkpoint_has_is_taken_up_as_it_is_needed():
    # A second run held all parts of the first in memory before it joined two of them.
    taken = []

    def ready():
        for number in range(100):
            taken.append(number)
            yield Task([(len, ())], "a set", ready=number)

    client = SimpleNamespace(status="running", nthreads=lambda: {"worker": 2}, cancel=lambda futures: None)
    for number in OnCluster(client).run(ready()):
        assert len(taken) - number <= 7
    assert len(taken) == 100


def test_a_set_that_cannot_travel_is_read_once():
    # Once for its rows, and once more for its times.
    read = []
    one = FeatureSet.reading("day", lambda: read.append(1) or [([[1.0], [2.0]], [8, 9])])
    here = SimpleNamespace(travels=lambda one: False, run=Here().run)
    assert list(in_turn(lambda one: one.times.tolist(), [one], here)) == [[8, 9]]
    assert len(read) == 1
