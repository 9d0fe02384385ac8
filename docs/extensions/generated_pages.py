"""Pages that are made from the code: one for each package with its public names, one for each command with its help."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click

import undistract
from undistract._optional import MissingExtraError
from undistract.cli import main
from undistract.cli.main import COMMANDS


def public_names() -> dict[str, list[str]]:
    """Return the full public names by package: `undistract` first, and its names are not listed again."""
    at_the_top = set(undistract.__all__)
    names_by_package = {"undistract": [f"undistract.{name}" for name in undistract.__all__]}
    for package in sorted(info.name for info in iter_modules(undistract.__path__, "undistract.") if info.ispkg):
        names = [name for name in getattr(import_module(package), "__all__", ()) if name not in at_the_top]
        if names:
            names_by_package[package] = [f"{package}.{name}" for name in names]
    return names_by_package


def write_package_pages(folder: Path) -> list[str]:
    """Write a page for each package; autosummary reads them and makes a page for each name. Return their paths."""
    pages = {}
    kept: set[str] = set()
    for number, (package, names) in enumerate(public_names().items()):
        title = f"``{package}``"
        about = (import_module(package).__doc__ or "").strip().splitlines()[0]
        values_by_name = {name: _value(package, name) for name in names}
        plain = {name: value for name, value in values_by_name.items() if not callable(value)}
        listed = "\n".join(f"   {name}" for name in names if name not in plain)
        values = "\n".join(f"``{name}`` : {_format_constant(value)}\n" for name, value in plain.items())
        kept |= {f"{name}.rst" for name in names if name not in plain}
        pages[f"{number:02}-{package}.rst"] = (
            f"{title}\n{'=' * len(title)}\n\n{about}\n\n.. autosummary::\n   :toctree: ../names\n\n{listed}\n\n{values}"
        )
    _remove_others(folder.parent / "names", kept)
    return _write(folder, pages)


def write_command_pages(folder: Path) -> list[str]:
    """Write a page for each command, with its ``--help``."""
    pages = {}
    with click.Context(main, info_name="undistract") as top:
        for number, (name, summary) in enumerate(COMMANDS.items()):
            command = main.get_command(top, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=top, max_content_width=96, terminal_width=96) as context:
                help_text = "\n".join(f"   {line}".rstrip() for line in command.get_help(context).splitlines())
            title = f"undistract {name}"
            pages[f"{number:02}-{name}.rst"] = (
                f"{title}\n{'=' * len(title)}\n\n{summary}\n\n.. code-block:: text\n\n{help_text}\n"
            )
    return _write(folder, pages)


def _value(package: str, name: str) -> object:
    """Return the value of a name; names that need a missing library count as classes."""
    try:
        return getattr(import_module(package), name.rpartition(".")[2])
    except MissingExtraError:
        return type


def _format_constant(value: object) -> str:
    """Return a constant as text: it has no docstring."""
    return ", ".join(f"``{entry}``" for entry in value) if isinstance(value, tuple | dict) else f"``{value}``"


def _write(folder: Path, pages: dict[str, str]) -> list[str]:
    """Write changed pages and remove old ones, so that Sphinx reads only what is new."""
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
