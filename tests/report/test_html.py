"""Pieces of a page: whatever is put in comes out as text, and nothing acts or loads anything."""

import os
import re

import numpy as np
import pytest

from undistract.errors import InputError
from undistract.report.html import Html, document, element, pairs, section, table, write_document
from undistract.report.words import readable

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


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_stays_text_wherever_it_stands(payload):
    places = (
        element("p", payload, title=payload),
        section(payload, payload),
        table([payload, "n"], [[payload, 1], [element("td", payload), 2]]),
        pairs({payload: payload}),
    )
    read = Reading(document(payload, *places, payload))
    assert read.dangers() == []
    assert read.text.count(readable(payload)) == 10  # title, p, section 2, table 3, pairs 2, and last
    assert ("p", "title", readable(payload)) in read.attributes


def test_there_are_thirty_payloads():
    assert len(set(PAYLOADS)) >= 30


def test_what_was_made_here_is_not_escaped_again():
    assert element("p", element("small", "a & b")) == "<p><small>a &amp; b</small></p>"


def test_pieces_that_are_glued_as_plain_text_are_escaped_rather_than_trusted():
    assert "<small>" not in element("p", element("small", "a") + "<b>")


@pytest.mark.parametrize("name", ["onclick", "a b", "x=1", "<"])
def test_an_attribute_that_could_act_is_refused(name):
    with pytest.raises(InputError, match="cannot be the name"):
        element("p", **{name: "alert(1)"})


def test_the_policy_comes_first_and_forbids_everything_but_styles_and_held_images():
    page = document("Title", element("p", "words"))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.start() < page.index("<style")
    assert "default-src &#x27;none&#x27;" in policy[1]
    assert "script" not in policy[1]
    assert Reading(page).dangers() == []
    assert not re.search(r"https?://|@import|url\(", page)


def test_the_night_is_for_screens_and_not_for_paper():
    page = document("Title")
    assert re.findall(r"@media ([^{]*dark[^{]*) \{", page) == ["screen and (prefers-color-scheme: dark)"]
    assert "@media print" in page


def test_numbers_stand_to_the_right_under_their_heading_and_words_to_the_left():
    made = table(["set", "rows", "share"], [["a", 12, 0.123456], ["b", 123456, np.float32(0.5)], ["c", None, np.nan]])
    assert re.findall(r"<th( class=\"number\")?>(\w+)", made) == [
        ("", "set"),
        (' class="number"', "rows"),
        (' class="number"', "share"),
    ]
    assert '<td class="number">0.1235</td>' in made
    assert '<td class="number">123\N{NARROW NO-BREAK SPACE}456</td>' in made
    assert made.count("<td>–</td>") + made.count('<td class="number">–</td>') == 2


def test_a_marked_row_is_marked_and_yes_or_no_is_no_number():
    made = table(["", "on"], [["a", True], ["b", False]], marked=[1])
    assert made.index("yes") < made.index('class="marked"') < made.index("no</td>")
    assert "number" not in made


def test_an_empty_table_has_its_heading():
    assert "<th>set</th>" in table(["set"], [])


@pytest.mark.parametrize("name", ["日本語", "Ωμέγα", "عربى", "naïve café 🎥"])
def test_names_of_any_language_stay_as_they_are(name):
    assert name in element("p", name)


def test_names_that_no_file_can_hold_can_be_written(tmp_path):
    write_document(document(os.fsdecode(b"caf\xe9\x00")), tmp_path / "page.html")
    assert "<title>caf\ufffd\ufffd</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_was_there_stays_until_the_new_page_is_complete(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_document("old", path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("undistract.files.os.replace", full)
    with pytest.raises(InputError, match=r"page.html cannot be written: No space left"):
        write_document("new and longer", path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.html", "old")]


def test_html_is_text():
    assert isinstance(Html("<br>"), str)
