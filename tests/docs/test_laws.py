"""The proofs of docs/mathematics.md are about the laws that tests check: each law has one, and each names its test."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAWS = ROOT / "tests" / "laws"
PROOFS = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8").split("## The laws, with proofs")[1]
PROVED = ("kernel", "moments", "projection", "sketch", "spectrum", "taught", "verdict")


def names_in(path):
    return set(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_test_that_a_proof_names_is_there():
    there = set().union(*map(names_in, LAWS.glob("test_*.py")))
    named = set(re.findall(r"`(test_\w+)`", PROOFS))
    assert len(named) > 40
    assert sorted(named - there) == []


def test_every_law_has_a_proof():
    for room in PROVED:
        text = (LAWS / f"test_{room}_laws.py").read_text(encoding="utf-8")
        laws = set(re.findall(r"^@law\n(?:@.*\n)*def (test_\w+)", text, re.MULTILINE))
        assert laws, room
        assert sorted(name for name in laws if f"`{name}`" not in PROOFS) == [], room
