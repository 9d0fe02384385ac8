"""One self-contained HTML page of the README, its tables and its figures: out/paper.html.

python -m paper.page --save out/paper.html
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from html import unescape
from pathlib import Path

from paper.common import README
from undistract.extras import need
from undistract.report.html import Html, document, write_document
from undistract.report.pictures import picture

VERDICTS = {"holds": "good", "holds with a reservation": "deep-amber", "wrong": "bad"}
STYLE = "".join(f".{colour} {{ color: var(--{colour}) }} " for colour in VERDICTS.values())


def page(markdown: Path) -> str:
    """Render a Markdown file as one HTML page that holds its pictures."""
    parser = need("markdown_it", extra="paper", to="Writing the page").MarkdownIt("commonmark").enable("table")
    text = re.sub(r"<!--.*?-->\n?", "", markdown.read_text(encoding="utf-8"))
    body = re.sub(
        r'<p><img src="([^"]+)" alt="([^"]*)"\s*/?></p>',
        lambda found: picture((markdown.parent / found[1]).read_bytes(), unescape(found[2])),
        parser.render(text),
    )
    # Wide tables scroll by themselves, so that the page does not.
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    for verdict, colour in VERDICTS.items():
        body = body.replace(f"<td><strong>{verdict}</strong>", f'<td><strong class="{colour}">{verdict}</strong>')
    title = re.search(r"^# (.+)", text, re.MULTILINE)[1]  # type: ignore[index]
    return document(title, Html(body), style=STYLE)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, default=Path("out/paper.html"))
    save: Path = parser.parse_args().save
    save.parent.mkdir(parents=True, exist_ok=True)
    write_document(page(README), save)
    print(f"{save} ({save.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
