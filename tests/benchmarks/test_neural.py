"""The neural benchmark: a part of it runs, and the page has the tables of the results."""

import re

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")

from benchmarks.nonlinear.methods import METHODS
from benchmarks.nonlinear.neural import DEFAULTS, NEURAL, neural, unseen
from benchmarks.nonlinear.neural_page import PAGE, RESULTS, choices, cost, quality
from benchmarks.nonlinear.run import run
from benchmarks.nonlinear.tasks import task
from benchmarks.quality.results import read
from benchmarks.quality.table import markdown
from undistract import NeuralFocus


def test_ring_is_removed():
    """Raw rows and linear FOCUS fail on this task."""
    ring = task("ring", 50, "choose")  # a seed that is used neither for choosing nor for reporting
    precision = {
        method.name: next(run(ring, method, {}, ("kNN",))).average_precision for method in (METHODS[0], NEURAL[0])
    }
    assert precision["raw"] < 0.5 < 0.9 < precision["neural"]


def test_default_settings_are_those_of_the_estimator():
    defaults = NeuralFocus().get_params()
    assert {name: defaults[name] for name in DEFAULTS} == DEFAULTS


def test_convolutional_encoder_needs_images():
    assert neural(np.ones((4, 5)), np.array([0, 0, 1, 1]), 0, encoder="convolutional", **DEFAULTS) is None


def test_training_rows_are_not_test_rows(data):
    coil = unseen("COIL", "patch", 0)
    training = {row.tobytes() for row in coil.rows}
    assert coil.task == "COIL patch"
    assert not any(row.tobytes() in training for test in coil.tests for row in test.rows)


@pytest.mark.parametrize("table", [quality, choices, cost], ids=lambda table: table.__name__)
def test_page_has_the_tables_of_the_results(table):
    name = table.__name__
    shown = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", PAGE.read_text("utf-8"), re.DOTALL)[1]
    assert shown == markdown(table(read(RESULTS)))
