"""The order of the gallery: what a distractor is comes first, all else by the name of its script."""

from __future__ import annotations


class FirstExampleFirst:
    """A key to sort scripts by."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, script: str) -> tuple[bool, str]:
        return script != "plot_first_example.py", script
