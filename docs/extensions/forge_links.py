"""Links that lead to a script of `examples/` on the forge lead to its page in the gallery on the site."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import Any

SCRIPT = re.compile(r"\]\((?:\.\./)*examples/(README\.md|(plot_\w+)\.py)\)")


def to_the_gallery(app: Any, page: str, source: list[str]) -> None:
    """Rewrite links of one page."""
    folder = PurePosixPath(page).parent

    def instead(found: re.Match[str]) -> str:
        target = f"docs/gallery/{found[2] or 'index'}.rst"
        return f"]({os.path.relpath(target, folder)})"

    source[0] = SCRIPT.sub(instead, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", to_the_gallery)
    app.connect("autodoc-skip-member", skip_what_others_define)
    return {"parallel_read_safe": True}


def skip_what_others_define(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn and Python give to every class: their own pages are about it."""
    home = getattr(getattr(member, "fget", member), "__module__", None) or ""
    return True if what == "class" and not home.startswith("undistract") else None
