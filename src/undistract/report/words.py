"""Names that come from files and tables, as people can read them."""

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
    seen = _UNREADABLE.sub("\ufffd", re.sub(r"\s+", " ", str(text)))
    return seen if width is None or len(seen) <= width else seen[: width - 1] + "…"
