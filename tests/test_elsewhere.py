"""docs/elsewhere.md: the functions for Spark and Ray work in any order, and the shell commands run."""

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
from tests.laws.strategies import hard_groups, law, relative, seeds
from undistract import GroupMoments, InputError, Moments

PAGE = (Path(__file__).parents[1] / "docs" / "elsewhere.md").read_text(encoding="utf-8")
PLAIN, ENGINES, SHELL = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "py", "bash"))

handed = {}
exec(compile(PLAIN[0], "docs/elsewhere.md", "exec"), handed)
add_group, join, joined, partition_sum, tree = (
    handed[name] for name in ("add_group", "join", "joined", "partition_sum", "tree")
)


def partitions(items, n, rng):
    """Distribute items over partitions, some of which are empty."""
    targets = rng.integers(0, n, size=len(items))
    return [[item for item, target in zip(items, targets, strict=True) if target == number] for number in range(n)]


def in_any_order(parts, rng):
    """Join two at a time in random order, after pickling each."""
    parts = [pickle.loads(pickle.dumps(part)) for part in parts]
    while len(parts) > 1:
        rng.shuffle(parts)
        parts.append(join(parts.pop(), parts.pop()))
    return parts[0]


def same(moments, groups):
    expected = Moments.of(groups)
    assert set(moments.names) == set(groups)
    assert relative(moments.within, expected.within) <= 1e-12
    assert relative(moments.between, expected.between, expected.total) <= 1e-12


@law
@given(hard_groups(), st.integers(1, 9), seeds)
def test_tree_aggregate_gives_the_sum_of_all(groups, n, seed):
    """Spark: groups.treeAggregate(None, add_group, join)."""
    rng = np.random.default_rng(seed)
    parts = [reduce(add_group, part, None) for part in partitions(list(groups.items()), n, rng)]
    same(in_any_order(parts, rng), groups)


@law
@given(hard_groups(), st.integers(1, 9), seeds)
def test_tree_reduce_gives_the_sum_of_all(groups, n, seed):
    """Spark: groups.mapPartitions(partition_sum).treeReduce(join)."""
    rng = np.random.default_rng(seed)
    parts = [single for part in partitions(list(groups.items()), n, rng) for single in partition_sum(iter(part))]
    same(in_any_order(parts, rng), groups)


@law
@given(hard_groups(), st.integers(1, 9), seeds)
def test_groups_split_over_partitions_join_by_name(groups, n, seed):
    """Spark: cut.mapValues(GroupMoments.of).reduceByKey(+).treeAggregate(None, add_group, join)."""
    rng = np.random.default_rng(seed)
    cut = [(name, row[None, :]) for name, rows in groups.items() for row in rows]
    groups = {}
    for part in partitions(cut, n, rng):
        for name, rows in part:
            moments = GroupMoments.of(rows)
            groups[name] = groups[name] + moments if name in groups else moments
    parts = [reduce(add_group, part, None) for part in partitions(list(groups.items()), n, rng)]
    same(in_any_order(parts, rng), groups)


@law
@given(hard_groups(), st.integers(1, 30), st.integers(2, 8), seeds)
def test_tree_of_any_width_gives_the_sum_of_all(groups, n, width, seed):
    """Ray: tree([site_sum.remote(part) ...], joined.remote)."""
    parts = partitions(list(groups.items()), n, np.random.default_rng(seed))
    widths = []

    def join_some(*parts):
        widths.append(len(parts))
        return joined(*parts)

    same(tree([next(partition_sum(part), None) for part in parts], join_some, width), groups)
    assert max(widths, default=0) <= width


def test_duplicate_part_is_rejected():
    parts = [Moments.of({name: np.eye(3)}) for name in ("north/a", "north/b")]
    with pytest.raises(InputError, match="'north/a' is already in these moments"):
        joined(*parts, parts[0])


def test_engine_examples_are_python_and_use_tested_functions():
    assert len(ENGINES) == 3
    used = {node.id for block in ENGINES for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Name)}
    assert {"add_group", "join", "joined", "partition_sum", "tree", "GroupMoments"} <= used


@pytest.fixture
def sites(tmp_path):
    """Two sites as folders on this machine, with fake ssh and scp commands that use them."""
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
        result = subprocess.run(
            ["bash", "-e", "-c", lines],
            cwd=folder,
            env={**os.environ, "PATH": path, **variables},
            capture_output=True,
            text=True,
            timeout=180,
        )
        return result.returncode, result.stdout + result.stderr

    return run_lines


def write_site(folder, seeds):
    folder.mkdir()
    write_days(folder / "calm", seeds)


def test_merged_sites_equal_one_site_with_all_rows(sites, tmp_path):
    write_site(tmp_path / "north", range(1, 9))
    write_site(tmp_path / "south", range(9, 17))
    code, output = sites(SHELL[0])
    assert code == 0, output
    answer("learn", tmp_path / "north", tmp_path / "south", "--time", "when", "--save", tmp_path / "one.focus")
    merged, single = (answer("explain", tmp_path / f"{name}.focus") for name in ("all", "one"))
    assert (merged["groups"], merged["rows"], merged["removed"]) == (
        single["groups"],
        single["rows"],
        single["removed"],
    )
    assert merged["ignored"][0]["steps"] == pytest.approx(single["ignored"][0]["steps"])


def test_duplicate_names_need_the_site_in_the_name(sites, tmp_path):
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
    assert re.search(r"'day\d.csv' is in two of the models \(8 groups in all\)", refused.output)
    for site in ("north", "south"):
        code, output = sites(SHELL[1], tmp_path / site, site=site)
        assert code == 0, output
    assert answer(*merge)["groups"] == 16
