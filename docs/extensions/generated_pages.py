"""Pages that are made from the code: one for each room with its public names, one for each command with its help."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click

import undistract
from undistract.cli import main
from undistract.cli.commands import COMMANDS
from undistract.extras import MissingExtraError


def public_names() -> dict[str, list[str]]:
    """Every public name by its room, in full: the package itself comes first, and its names are not listed again."""
    at_the_top = set(undistract.__all__)
    found = {"undistract": [f"undistract.{name}" for name in undistract.__all__]}
    for room in sorted(info.name for info in iter_modules(undistract.__path__, "undistract.") if info.ispkg):
        names = [name for name in getattr(import_module(room), "__all__", ()) if name not in at_the_top]
        if names:
            found[room] = [f"{room}.{name}" for name in names]
    return found


def write_room_pages(folder: Path) -> list[str]:
    """Write a page for each room; autosummary reads them and makes a page for each name. Return their paths."""
    pages, kept = {}, set[str]()
    for number, (room, names) in enumerate(public_names().items()):
        title, about = f"``{room}``", (import_module(room).__doc__ or "").strip().splitlines()[0]
        found = {name: _value(room, name) for name in names}
        plain = {name: value for name, value in found.items() if not callable(value)}
        listed = "\n".join(f"   {name}" for name in names if name not in plain)
        values = "\n".join(f"``{name}`` : {_in_words(value)}\n" for name, value in plain.items())
        kept |= {f"{name}.rst" for name in names if name not in plain}
        pages[f"{number:02}-{room}.rst"] = (
            f"{title}\n{'=' * len(title)}\n\n{about}\n\n.. autosummary::\n   :toctree: ../names\n\n{listed}\n\n{values}"
        )
    _remove_others(folder.parent / "names", kept)
    return _write(folder, pages)


def write_command_pages(folder: Path) -> list[str]:
    """Write a page for each command, with what its ``--help`` says."""
    pages = {}
    with click.Context(main, info_name="undistract") as top:
        for number, (name, line) in enumerate(COMMANDS.items()):
            command = main.get_command(top, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=top, max_content_width=96, terminal_width=96) as context:
                told = "\n".join(f"   {words}".rstrip() for words in command.get_help(context).splitlines())
            title = f"undistract {name}"
            pages[f"{number:02}-{name}.rst"] = (
                f"{title}\n{'=' * len(title)}\n\n{line}\n\n.. code-block:: text\n\n{told}\n"
            )
    return _write(folder, pages)


def _value(room: str, name: str) -> object:
    """Fetch what a name stands for; what needs a library that is not installed is taken for a class."""
    try:
        return getattr(import_module(room), name.rpartition(".")[2])
    except MissingExtraError:
        return type


def _in_words(value: object) -> str:
    """Show a constant as it is: it has no docstring of its own."""
    return ", ".join(f"``{one}``" for one in value) if isinstance(value, tuple | dict) else f"``{value}``"


def _write(folder: Path, pages: dict[str, str]) -> list[str]:
    """Write what has changed and remove what is no longer made, so that Sphinx reads only what is new."""
    folder.mkdir(parents=True, exist_ok=True)
    _remove_others(folder, set(pages))
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return [str(folder / name) for name in pages]


def _remove_others(folder: Path, names: set[str]) -> None:
    for old in folder.glob("*.rst"):
        if old.name not in names:
            old.unlink()
