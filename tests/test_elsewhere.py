"""docs/elsewhere.md: what is handed to Spark and Ray works in any order, and the lines for the shell run."""

import ast
import os
import pickle
import re
import shutil
import subprocess
import sys
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.shell import answer, run, write_days
from tests.laws.strategies import hard_sets, law, relative, seeds
from undistract import InputError, Moments, SetMoments

PAGE = (Path(__file__).parents[1] / "docs" / "elsewhere.md").read_text(encoding="utf-8")
PLAIN, ENGINES, SHELL = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "py", "bash"))

handed = {}
exec(compile(PLAIN[0], "docs/elsewhere.md", "exec"), handed)
add_set, join, joined, partition_sum, tree = (
    handed[name] for name in ("add_set", "join", "joined", "partition_sum", "tree")
)


def partitions(items, n, rng):
    """Deal items out to partitions, some of them empty."""
    places = rng.integers(0, n, size=len(items))
    return [[item for item, place in zip(items, places, strict=True) if place == number] for number in range(n)]


def in_any_order(parts, rng):
    """Join two at a time, whichever are ready, each shipped first."""
    parts = [pickle.loads(pickle.dumps(part)) for part in parts]
    while len(parts) > 1:
        rng.shuffle(parts)
        parts.append(join(parts.pop(), parts.pop()))
    return parts[0]


def same(found, sets):
    expected = Moments.of(sets)
    assert set(found.names) == set(sets)
    assert relative(found.within, expected.within) <= 1e-12
    assert relative(found.between, expected.between, expected.total) <= 1e-12


@law
@given(hard_sets(), st.integers(1, 9), seeds)
def test_sets_added_one_by_one_in_partitions_give_the_sum_of_all(sets, n, seed):
    """Spark: sets.treeAggregate(None, add_set, join)."""
    rng = np.random.default_rng(seed)
    parts = [reduce(add_set, part, None) for part in partitions(list(sets.items()), n, rng)]
    same(in_any_order(parts, rng), sets)


@law
@given(hard_sets(), st.integers(1, 9), seeds)
def test_partitions_summed_up_whole_give_the_sum_of_all(sets, n, seed):
    """Spark: sets.mapPartitions(partition_sum).treeReduce(join)."""
    rng = np.random.default_rng(seed)
    parts = [one for part in partitions(list(sets.items()), n, rng) for one in partition_sum(iter(part))]
    same(in_any_order(parts, rng), sets)


@law
@given(hard_sets(), st.integers(1, 9), seeds)
def test_sets_that_are_cut_over_partitions_join_by_name_first(sets, n, seed):
    """Spark: cut.mapValues(SetMoments.of).reduceByKey(+).treeAggregate(None, add_set, join)."""
    rng = np.random.default_rng(seed)
    cut = [(name, row[None, :]) for name, rows in sets.items() for row in rows]
    pieces = {}
    for part in partitions(cut, n, rng):
        for name, rows in part:
            piece = SetMoments.of(rows)
            pieces[name] = pieces[name] + piece if name in pieces else piece
    parts = [reduce(add_set, part, None) for part in partitions(list(pieces.items()), n, rng)]
    same(in_any_order(parts, rng), sets)


@law
@given(hard_sets(), st.integers(1, 30), st.integers(2, 8), seeds)
def test_a_tree_of_any_width_gives_the_sum_of_all(sets, n, width, seed):
    """Ray: tree([site_sum.remote(part) ...], joined.remote)."""
    parts = partitions(list(sets.items()), n, np.random.default_rng(seed))
    most = []

    def join_some(*some):
        most.append(len(some))
        return joined(*some)

    same(tree([next(partition_sum(part), None) for part in parts], join_some, width), sets)
    assert max(most, default=0) <= width


def test_a_part_that_comes_twice_is_found():
    parts = [Moments.of({name: np.eye(3)}) for name in ("north/a", "north/b")]
    with pytest.raises(InputError, match="'north/a' is already in these moments"):
        joined(*parts, parts[0])


def test_the_lines_for_engines_are_python_and_hand_over_what_is_tested():
    assert len(ENGINES) == 3
    used = {node.id for block in ENGINES for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Name)}
    assert {"add_set", "join", "joined", "partition_sum", "tree", "SetMoments"} <= used


@pytest.fixture
def sites(tmp_path):
    """Two sites with a folder each, and the road to them: ssh and scp that go there, as there is no other machine."""
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, line in {
        "undistract": f'exec "{sys.executable}" -W error -m undistract "$@"',
        "ssh": f'cd "{tmp_path}/$1" && shift && exec bash -c "$*"',
        "scp": f'exec cp "{tmp_path}/${{1%%:*}}/${{1#*:}}" "$2"',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)

    def run_lines(lines, folder=tmp_path, **variables):
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        told = subprocess.run(
            ["bash", "-e", "-c", lines],
            cwd=folder,
            env={**os.environ, "PATH": path, **variables},
            capture_output=True,
            text=True,
            timeout=180,
        )
        return told.returncode, told.stdout + told.stderr

    return run_lines


def write_site(folder, seeds):
    folder.mkdir()
    write_days(folder / "calm", seeds)


def test_two_sites_that_send_their_sums_learn_what_one_would_that_has_all_rows(sites, tmp_path):
    write_site(tmp_path / "north", range(1, 9))
    write_site(tmp_path / "south", range(9, 17))
    code, words = sites(SHELL[0])
    assert code == 0, words
    answer("learn", tmp_path / "north", tmp_path / "south", "--time", "when", "--save", tmp_path / "one.focus")
    merged, one = (answer("explain", tmp_path / f"{name}.focus") for name in ("all", "one"))
    assert (merged["sets"], merged["rows"], merged["removed"]) == (one["sets"], one["rows"], one["removed"])
    assert merged["ignored"][0]["steps"] == pytest.approx(one["ignored"][0]["steps"])


def test_sites_that_give_their_sets_the_same_names_are_refused_until_the_site_is_in_them(sites, tmp_path):
    merge = ("merge", *(tmp_path / site / f"{site}.focus" for site in ("north", "south")), "--save", tmp_path / "all")
    for site in ("north", "south"):
        write_site(tmp_path / site, range(1, 9))
        answer(
            "learn",
            tmp_path / site / "calm",
            "--time",
            "when",
            "--without-rows",
            "--save",
            merge[1 + (site == "south")],
        )
    refused = run(*merge)
    assert refused.exit_code != 0
    assert re.search(r"'day\d.csv' is in two of the models \(8 sets in all\)", refused.output)
    for site in ("north", "south"):
        code, words = sites(SHELL[1], tmp_path / site, site=site)
        assert code == 0, words
    assert answer(*merge)["sets"] == 16
