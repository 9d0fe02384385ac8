"""Each law in tests/laws has a proof in docs/mathematics.md, and each proof names its test."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAWS = ROOT / "tests" / "laws"
PROOFS = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8").split("## The laws, with proofs")[1]
# Laws of soft removal are consequences of those of the spectrum.
PROVED = sorted({path.stem.split("_")[1] for path in LAWS.glob("test_*_laws.py")} - {"soft"})


def names_in(path):
    return set(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_test_named_in_a_proof_exists():
    existing = set().union(*map(names_in, LAWS.glob("test_*.py")))
    named = set(re.findall(r"`(test_\w+)`", PROOFS))
    assert len(named) > 40
    assert sorted(named - existing) == []


def test_every_law_has_a_proof():
    for subject in PROVED:
        text = (LAWS / f"test_{subject}_laws.py").read_text(encoding="utf-8")
        laws = set(re.findall(r"^@law\n(?:@.*\n)*def (test_\w+)", text, re.MULTILINE))
        assert laws, subject
        assert sorted(name for name in laws if f"`{name}`" not in PROOFS) == [], subject
