"""The neural benchmark: a slice of it runs, and the page says what the results say."""

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


def test_the_ring_is_left_behind():
    """Where raw rows and linear FOCUS fail, as the table says."""
    one = task("ring", 50, "choose")  # a seed that neither chose nor is reported
    precision = {
        method.name: next(run(one, method, {}, ("kNN",))).average_precision for method in (METHODS[0], NEURAL[0])
    }
    assert precision["raw"] < 0.5 < 0.9 < precision["neural"]


def test_the_settings_called_defaults_are_those_of_the_estimator():
    defaults = NeuralFocus().get_params()
    assert {name: defaults[name] for name in DEFAULTS} == DEFAULTS


def test_rows_that_are_no_images_have_no_convolutional_answer():
    assert neural(np.ones((4, 5)), np.array([0, 0, 1, 1]), 0, encoder="convolutional", **DEFAULTS) is None


def test_what_teaches_is_not_what_is_tested(data):
    one = unseen("COIL", "patch", 0)
    taught = {row.tobytes() for row in one.rows}
    assert one.task == "COIL patch"
    assert not any(row.tobytes() in taught for test in one.tests for row in test.rows)


@pytest.mark.parametrize("table", [quality, choices, cost], ids=lambda table: table.__name__)
def test_the_page_has_the_tables_of_the_results(table):
    name = table.__name__
    shown = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", PAGE.read_text("utf-8"), re.DOTALL)[1]
    assert shown == markdown(table(read(RESULTS)))
