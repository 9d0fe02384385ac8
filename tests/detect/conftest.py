"""Fixtures of the detector tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def golden():
    """Inputs, permutations and reference scores of the discriminative detector."""
    data = os.environ.get("UNDISTRACT_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
    path = Path(data).parent / "golden" / "discriminative_tight.npz"
    if not path.exists():
        pytest.skip("the reference scores are missing: set UNDISTRACT_DATA to the data folder")
    with np.load(path, allow_pickle=False) as file:
        return dict(file)
