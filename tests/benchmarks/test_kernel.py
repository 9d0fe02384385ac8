"""The benchmark of KernelFocus: the ring is solved, defaults are among the settings, the page has the tables."""

import re

import pytest

from benchmarks.nonlinear import kernel
from benchmarks.nonlinear.methods import METHODS
from benchmarks.nonlinear.page import KERNEL, PAGE, choices, cost, quality, results
from benchmarks.nonlinear.run import run
from benchmarks.nonlinear.tasks import task
from benchmarks.quality.table import markdown
from undistract import KernelFocus

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


@pytest.mark.parametrize("name", KERNEL[:3])
def test_ring_is_removed(name):
    """Raw rows and linear FOCUS fail on this task."""
    ring = task("ring", 50, "choose")  # a seed that is used neither for choosing nor for reporting
    method = next(method for method in METHODS if method.name == name)
    assert next(run(ring, method, {}, ("kNN",))).average_precision > 0.9


def test_defaults_are_among_the_settings_with_equal_results():
    ring = task("ring", 50, "choose")
    defaults = KernelFocus().get_params()
    setting = {"scale": 1.0} | {name: defaults[name] for name in ("ridge", "cutoff", "news")}
    assert setting in kernel.SETTINGS
    by_default = kernel.by_default(ring.rows, ring.groups, 0)
    chosen = kernel.chosen(ring.rows, ring.groups, 0, **setting)
    assert by_default.n_removed == chosen.n_removed
    new = ring.tests[0].rows
    assert abs(by_default(new) @ by_default(new).T - chosen(new) @ chosen(new).T).max() < 1e-9
    blind = kernel.chosen(ring.rows, ring.groups, 0, **setting | {"news": False})
    assert blind(9 * new) @ blind(9 * new).T == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("table", [quality, cost, choices], ids=lambda table: table.__name__)
def test_page_has_the_tables_of_the_results(table):
    name = table.__name__
    shown = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", PAGE.read_text("utf-8"), re.DOTALL)[1]
    assert shown == markdown(table(results()))
