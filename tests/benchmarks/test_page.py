"""The page of results is one file with the values of the tables."""

import re
import xml.etree.ElementTree as ET

import pytest

from benchmarks.quality.page import page

from .test_table import MEANS, results


@pytest.fixture(scope="module")
def html():
    return page(results(MEANS, spread=0.02))


def test_page_loads_nothing(html):
    assert not re.search(r"<script|<link|@import|url\((?!#)|(?:src|href)=\"(?!#)", html)


def test_page_has_every_mean_and_the_best_of_each_task_in_bold(html):
    bold = re.findall(r'class="number shade best"[^>]*>(\S+) ', html)
    assert bold == [".80", ".90", ".60"]
    assert html.count('class="number shade') == 12


def test_page_has_a_figure_per_data_set_in_its_own_colours(html):
    pictures = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(pictures) == 2
    for picture in pictures:
        assert "var(--blue)" in picture
        assert not re.search(r"#(?:1f1f1f|0072b2|ffffff)", picture)
        ET.fromstring(picture)  # well formed


def test_page_is_reproducible(html):
    assert page(results(MEANS, spread=0.02)) == html


def test_names_are_escaped():
    assert "<b>" not in page(results({("<b>", "<b>one"): {"raw": 0.5, "FOCUS automatic": 0.7}}))
