"""The benchmark of kernel FOCUS: the ring is solved, settings share what they can, the page says what was found."""

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
def test_the_ring_is_left_behind(name):
    """Where raw rows and linear FOCUS fail, as the table says."""
    one = task("ring", 50, "choose")  # a seed that neither chose nor is reported
    method = next(method for method in METHODS if method.name == name)
    assert next(run(one, method, {}, ("kNN",))).average_precision > 0.9


def test_the_defaults_are_among_the_settings_and_do_the_same():
    one, defaults = task("ring", 50, "choose"), KernelFocus().get_params()
    setting = {"scale": 1.0} | {name: defaults[name] for name in ("cushion", "cutoff", "news")}
    assert setting in kernel.SETTINGS
    by_default, chosen = kernel.by_default(one.rows, one.sets, 0), kernel.chosen(one.rows, one.sets, 0, **setting)
    assert by_default.n_removed == chosen.n_removed
    new = one.tests[0].rows
    assert abs(by_default(new) @ by_default(new).T - chosen(new) @ chosen(new).T).max() < 1e-9
    blind = kernel.chosen(one.rows, one.sets, 0, **setting | {"news": False})
    assert blind(9 * new) @ blind(9 * new).T == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("table", [quality, cost, choices], ids=lambda table: table.__name__)
def test_the_page_has_the_tables_of_the_results(table):
    name = table.__name__
    shown = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", PAGE.read_text("utf-8"), re.DOTALL)[1]
    assert shown == markdown(table(results()))
