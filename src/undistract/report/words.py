"""Words for people: names that come from files and tables, and numbers with their nouns."""

from __future__ import annotations

import re

# Characters that draw nothing, or that files cannot hold: controls, half a surrogate pair, and signs that turn the
# direction of writing around, so that a name could pretend to be another.
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def readable(text: object, width: int | None = None) -> str:
    r"""Return text in one line, without characters that cannot be seen; at most `width` of them.

    Examples
    --------
    >>> readable("cpu\x00 load\nof the rack", 12)
    'cpu� load o…'
    """
    seen = _UNREADABLE.sub("\ufffd", re.sub(r"[ \t\n\r\f\v]+", " ", str(text)))
    return seen if width is None or len(seen) <= width else seen[: width - 1] + "…"


def grouped(number: int) -> str:
    r"""Write a whole number with a narrow space between thousands, from 10 000 on.

    Examples
    --------
    >>> grouped(2024), grouped(12000).replace("\N{NARROW NO-BREAK SPACE}", "_")
    ('2024', '12_000')
    """
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") if abs(number) >= 10_000 else str(number)


def count(how_many: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> count(1, "row"), count(120, "row")
    ('1 row', '120 rows')
    """
    return f"{grouped(how_many)} {noun}{'' if how_many == 1 else 's'}"
