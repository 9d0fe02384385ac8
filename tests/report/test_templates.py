"""Templates: any value becomes text, and a page runs nothing and loads nothing."""

import os
import re

import numpy as np
import pytest

pytest.importorskip("jinja2")

from undistract.errors import InputError
from undistract.report.data import Report
from undistract.report.figures import AMBER, BLUE, CSS_VARIABLES, readable
from undistract.report.page import TEMPLATES, display, render_template, report_page, write_page

from .reading import Reading

PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '" onfocus="alert(1)" autofocus="',
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</svg><iframe src=javascript:alert(1)>",
    "</text></g></svg><script>alert(1)</script>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example>",
    "<link rel=stylesheet href=//evil.example>",
    "<form action=//evil.example><input name=a>",
    "<object data=//evil.example></object>",
    "<style>@import '//evil.example'</style>",
    "<!--<script>alert(1)</script>-->",
    "--><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "<ScRiPt\n>alert(1)</sCrIpT\t>",
    "<\x00script>alert(1)</script>",
    "x\u202egnp.exe<b>",
    "$\\frac{<script>}{2}$ {{7*7}} ${7*7} %s",
    "\ud800<script>\udfff",
]

EVERYWHERE = """{% extends "base.html" %}
{% from "macros.html" import cell, image, pairs %}
{% block main %}
<section title="{{ payload }}"><h2>{{ payload }}</h2>{{ payload }}</section>
<table><tr><th>{{ payload }}</th>{{ cell(payload) }}</tr></table>
{{ pairs([(payload, payload)]) }}
{{ image(pixels, payload) }}
{% endblock %}
"""


def render(source, tmp_path, **context):
    (tmp_path / "page.html").write_text(source)
    return render_template("page.html", folder=tmp_path, **context)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_stays_text_everywhere(payload, tmp_path):
    read = Reading(render(EVERYWHERE, tmp_path, title=payload, payload=payload, pixels=np.eye(2)))
    assert read.dangers() == []
    assert read.text.count(readable(payload)) == 8  # title, section 2, table 2, pairs 2, caption
    assert ("section", "title", readable(payload)) in read.attributes
    assert ("img", "alt", readable(payload)) in read.attributes


def test_there_are_thirty_payloads():
    assert len(set(PAYLOADS)) >= 30


def test_missing_value_is_an_error(tmp_path):
    with pytest.raises(Exception, match="'nothing' is undefined"):
        render("{{ nothing }}", tmp_path, title="")


def test_policy_allows_only_styles_and_embedded_images():
    page = report_page(Report("Title"))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.start() < page.index("<style")
    assert "default-src &#39;none&#39;" in policy[1]
    assert "script" not in policy[1]
    assert Reading(page).dangers() == []
    assert not re.search(r"https?://|@import|url\(", page)


def test_dark_mode_is_for_screens_only():
    page = report_page(Report("Title"))
    assert re.findall(r"@media ([^{]*dark[^{]*) \{", page) == ["screen and (prefers-color-scheme: dark)"]
    assert "@media print" in page


def test_style_has_the_colours_of_figures():
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    for colour, name in CSS_VARIABLES.items():
        assert f"--{name}: {colour};" in style
    assert {AMBER[0], BLUE[0]} < set(CSS_VARIABLES)


@pytest.mark.parametrize(
    ("value", "html"),
    [
        (12, '<td class="number">12</td>'),
        (0.123456, '<td class="number">0.1235</td>'),
        (np.float32(0.5), '<td class="number">0.5</td>'),
        (123456, '<td class="number">123\N{NARROW NO-BREAK SPACE}456</td>'),
        (None, "<td>–</td>"),
        (True, "<td>yes</td>"),
        ("a < b", "<td>a &lt; b</td>"),
    ],
)
def test_table_cells(tmp_path, value, html):
    assert html in render('{% from "macros.html" import cell %}{{ cell(value) }}', tmp_path, value=value)


def test_not_a_number_is_a_dash():
    assert display(np.nan) == "–"


@pytest.mark.parametrize("name", ["日本語", "Ωμέγα", "عربى", "naïve café 🎥"])
def test_names_in_any_language_are_unchanged(name):
    assert f"<h1>{name}</h1>" in report_page(Report(name))


def test_undecodable_names_can_be_written(tmp_path):
    write_page(Report(os.fsdecode(b"caf\xe9\x00")), tmp_path / "page.html")
    assert "<title>caf\ufffd\ufffd</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_old_page_stays_if_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("undistract._io.os.replace", full)
    with pytest.raises(InputError, match=r"page.html cannot be written: No space left"):
        write_page(Report("new and longer"), path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.html", "old")]
