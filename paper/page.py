"""One self-contained HTML page of the README, its tables and its figures: out/paper.html.

python -m paper.page --save out/paper.html
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from html import escape, unescape
from pathlib import Path

from paper.common import README
from undistract._io import atomic_write
from undistract._optional import import_optional
from undistract.report.images import png_uri
from undistract.report.page import render_template

VERDICTS = {"holds": "good", "holds with a reservation": "deep-amber", "wrong": "bad"}
TEMPLATES = Path(__file__).parent / "templates"


def page(markdown: Path) -> str:
    """Render a Markdown file as one HTML page with its figures embedded."""
    parser = (
        import_optional("markdown_it", extra="paper", to="Writing the page").MarkdownIt("commonmark").enable("table")
    )
    text = re.sub(r"<!--.*?-->\n?", "", markdown.read_text(encoding="utf-8"))
    body = re.sub(
        r'<p><img src="([^"]+)" alt="([^"]*)"\s*/?></p>',
        lambda match: _image((markdown.parent / match[1]).read_bytes(), unescape(match[2])),
        parser.render(text),
    )
    # Wide tables scroll by themselves, so that the page does not.
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    for verdict, colour in VERDICTS.items():
        body = body.replace(f"<td><strong>{verdict}</strong>", f'<td><strong class="{colour}">{verdict}</strong>')
    title = re.search(r"^# (.+)", text, re.MULTILINE)[1]  # type: ignore[index]
    return render_template("paper.html", folder=TEMPLATES, title=title, body=body, colours=list(VERDICTS.values()))


def _image(png: bytes, caption: str) -> str:
    text = escape(caption)
    return f'<figure><img src="{png_uri(png)}" alt="{text}"><figcaption>{text}</figcaption></figure>'


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, default=Path("out/paper.html"))
    save: Path = parser.parse_args().save
    save.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(save, page(README).encode("utf-8"))
    print(f"{save} ({save.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
