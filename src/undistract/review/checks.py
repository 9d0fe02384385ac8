"""The checks of a verdict's fields: what comes from a page or a file is refused here, in words."""

from __future__ import annotations

import re
from typing import Any

from undistract.errors import InputError

LONGEST = {"who": 200, "note": 2000}
STRONGEST = 100.0
FARTHEST = 2**53  # a row number that every reader of JSON keeps exact
LATEST = 253_402_300_800.0  # the year 10 000, where calendars end

_KEY = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_key(name: str, key: Any) -> None:
    """Refuse what is no UUID in its one usual spelling: two spellings of one key would count twice."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InputError(f"The {name} is {key!r:.60}, expected a UUID in lower case, as str(uuid.uuid4()) gives.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse any word that is not among the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"The {name} is {value!r:.60}, expected {', '.join(choices[:-1])} or {choices[-1]}.")


def check_text(name: str, value: Any) -> None:
    """Refuse what is no text, is too long, or cannot be written as UTF-8."""
    if not isinstance(value, str) or len(value) > LONGEST[name]:
        found = f"{len(value)} characters long" if isinstance(value, str) else f"{value!r:.60}"
        raise InputError(f"The text of {name!r} is {found}, expected at most {LONGEST[name]} characters.")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InputError(f"The text of {name!r} holds half a character, which no file or page can show. Type it anew.")


def check_rows(start: Any, peak: Any, stop: Any) -> None:
    """Refuse a stretch without rows, or one that does not hold its peak."""
    if any(type(row) is not int for row in (start, peak, stop)) or not 0 <= start <= peak < stop <= FARTHEST:
        raise InputError(
            "A verdict needs whole numbers 0 <= start <= peak < stop; "
            f"found start {start!r:.30}, peak {peak!r:.30}, stop {stop!r:.30}."
        )


def check_strength(value: Any) -> None:
    """Refuse what is no number over 0, or too much."""
    if not _is_number(value) or not 0 < value <= STRONGEST:
        raise InputError(f"The strength is {value!r:.30}, expected a number over 0, at most {STRONGEST:g}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_time(name: str, value: Any) -> None:
    """Refuse what is no moment on the calendar."""
    if not _is_number(value) or not 0 <= value < LATEST:  # NaN is outside
        raise InputError(f"{name!r} is {value!r:.30}, expected unix seconds, 0 or more and before the year 10 000.")
