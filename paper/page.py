"""One self-contained HTML page of the README, its tables and its figures: out/paper.html.

    python -m paper.page --save out/paper.html

No script, no font and no picture comes from elsewhere; it follows the reader's light or dark setting, and prints.
"""

from __future__ import annotations

import base64
import re
from argparse import ArgumentParser
from html import escape
from pathlib import Path

from paper.common import README
from undistract.extras import need

STYLE = """
:root { color-scheme: light dark; --ink: #1f1f1f; --faint: #5c5c5c; --line: #d9d9d9; --ground: #fff; --shade: #f5f6f7;
  --link: #00568a; --good: #1a6b3c; --doubt: #945f00; --bad: #a3262a }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --faint: #a8a8a8; --line: #3d4045; --ground: #17181a;
  --shade: #212326; --link: #7cc4f0; --good: #7fd3a0; --doubt: #f0bd5c; --bad: #f58b8b } }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1.25rem 4rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif }
p, li { max-width: 46rem }
h1, h2, h3 { line-height: 1.2; margin: 2.2em 0 .6em } h1 { margin-top: .5em }
a { color: var(--link) } code { font-size: .92em; background: var(--shade); padding: .05em .25em; border-radius: 3px }
pre { background: var(--shade); padding: .8em 1em; overflow-x: auto } pre code { padding: 0 }
.wide { overflow-x: auto; margin: 1em 0 }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.4; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid var(--line); padding: .35em 1em .35em 0; text-align: left; vertical-align: top }
th { color: var(--faint); font-weight: 600 } td code { white-space: nowrap }
.holds { color: var(--good) } .doubt { color: var(--doubt) } .wrong { color: var(--bad) }
figure { margin: 1.2em 0 } img { max-width: 100%; height: auto; background: #fff; border-radius: 4px }
figcaption { color: var(--faint); font-size: .88rem; max-width: 46rem }
@media print { body { max-width: none; font-size: 10pt; padding: 0 } table { font-size: 7.5pt }
  .wide { overflow: visible }
  tr, figure { break-inside: avoid } h2, h3 { break-after: avoid } td code { white-space: normal } }
"""


def page(markdown: Path) -> str:
    """Render a Markdown file as one HTML page that holds its pictures."""
    parser = need("markdown_it", extra="paper", to="Writing the page").MarkdownIt("commonmark").enable("table")
    text = re.sub(r"<!--.*?-->\n?", "", markdown.read_text(encoding="utf-8"))
    body = parser.render(text)
    body = re.sub(
        r'<p><img src="([^"]+)" alt="([^"]*)"\s*/?></p>', lambda m: _figure(markdown.parent / m[1], m[2]), body
    )
    # Wide tables scroll by themselves, so that the page does not.
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    for verdict, kind in (("holds", "holds"), ("holds with a reservation", "doubt"), ("wrong", "wrong")):
        body = body.replace(f"<td><strong>{verdict}</strong>", f'<td><strong class="{kind}">{verdict}</strong>')
    title = escape(re.search(r"^# (.+)", text, re.MULTILINE)[1])  # type: ignore[index]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style>\n</head>\n'
        f"<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _figure(picture: Path, caption: str) -> str:
    held = base64.b64encode(picture.read_bytes()).decode()
    return (
        f'<figure><img src="data:image/png;base64,{held}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'
    )


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, default=Path("out/paper.html"))
    save: Path = parser.parse_args().save
    save.parent.mkdir(parents=True, exist_ok=True)
    save.write_text(page(README), encoding="utf-8")
    print(f"{save} ({save.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
