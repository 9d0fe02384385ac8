"""How every page looks: by day, by night, on a phone and on paper. The colours are those of `plots.py`."""

from __future__ import annotations

from typing import Final

from undistract.report.plots import AMBER, BLUE, FAINT, GREY, INK

# What a colour of a plot is called on a page, and what it is by night. By day it stays what it was drawn with.
NIGHT: Final = {
    INK: ("ink", "#e8e8e8"),
    FAINT: ("faint", "#a8a8a8"),
    GREY[0]: ("grey", "#6a6a6a"),
    BLUE[0]: ("blue", "#4db2ec"),
    BLUE[1]: ("deep-blue", "#7cc4f0"),
    AMBER[0]: ("amber", "#f0b429"),
    AMBER[1]: ("deep-amber", "#f0bd5c"),
}

_DAY_COLOURS = " ".join(f"--{name}: {colour};" for colour, (name, _) in NIGHT.items())
_NIGHT_COLOURS = " ".join(f"--{name}: {colour};" for name, colour in NIGHT.values())

# The night is for screens only: nobody prints a black page.
STYLE: Final = (
    f"""
:root {{ color-scheme: light; {_DAY_COLOURS} --ground: #fff; --shade: #f5f6f7; --line: #d9d9d9;
  --good: #1a6b3c; --bad: #a3262a; --font: system-ui, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {_NIGHT_COLOURS}
  --ground: #17181a; --shade: #212326; --line: #3d4045; --good: #7fd3a0; --bad: #f58b8b }} }}
"""
    + """
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1.25rem 4rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 var(--font); overflow-wrap: break-word }
p, li, dl { max-width: 46rem }
h1, h2, h3 { line-height: 1.2; margin: 2.2em 0 .6em } h1 { margin-top: .5em } h3 { margin-top: 1.6em }
a { color: var(--deep-blue) }
code { font-size: .92em; background: var(--shade); padding: .05em .25em; border-radius: 3px }
pre { background: var(--shade); padding: .8em 1em; overflow-x: auto } pre code { padding: 0 }
small, figcaption, .faint { color: var(--faint) } figcaption, small { font-size: .88rem }
.caution { border-left: 4px solid var(--amber); background: var(--shade); padding: .5em 1em; margin: .8em 0 }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .25rem 1rem; font-size: .9rem }
dt { color: var(--faint) } dd { margin: 0; min-width: 0 }
.wide { overflow-x: auto; margin: 1em 0 }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.4; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid var(--line); padding: .35em 1em .35em 0; text-align: left; vertical-align: top }
th { color: var(--faint); font-weight: 600; vertical-align: bottom } .number { text-align: right; white-space: nowrap }
.words { min-width: 15rem } .marked td, .marked th { font-weight: 700 } td code { white-space: nowrap }
th, td, dd, dt, h1, h2, h3, figcaption { unicode-bidi: isolate }
figure { margin: 1.2em 0 } figcaption { max-width: 46rem }
img { max-width: 100%; height: auto; border-radius: 4px }
svg { max-width: 100%; height: auto; display: block; stroke-linejoin: round; stroke-linecap: butt }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 1.5rem }
.beside > * { min-width: 0; margin: .6em 0 }
.whole svg { max-width: min(100%, 36rem) }
.pictures { display: flex; flex-wrap: wrap; gap: .8rem 1rem; margin: 1em 0 } .pictures figure { margin: 0 }
.pictures img { height: 9rem; width: auto; display: block; image-rendering: pixelated }
.pictures figcaption { max-width: 12rem; line-height: 1.3; margin-top: .3em }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem } .pictures img { height: 7rem } }
@media print { @page { margin: 16mm } body { max-width: none; font-size: 10pt; padding: 0 } table { font-size: 8pt }
  .wide { overflow: visible } tr, figure, .caution, .whole { break-inside: avoid } h1, h2, h3 { break-after: avoid }
  .beside { grid-template-columns: 1fr 1fr } .pictures img { height: 5.5rem }
  .pictures { gap: .4rem .6rem; margin: .5em 0 }
  td code { white-space: normal } * { print-color-adjust: exact } }
"""
)
