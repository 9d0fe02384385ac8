"""The site builds without warnings and without a network, and has a page for every name and every command.

The gallery is laid out but not run here, which would take minutes: `make docs` runs it, and tests/test_examples.py runs
every script of it.
"""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from urllib.parse import unquote, urlsplit

import pytest

import undistract
from undistract.cli.main import COMMANDS

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("sphinx", "pydata_sphinx_theme", "sphinx_gallery", "myst_parser", "dask"))),
    reason="needs Sphinx and its theme: pip install 'undistract[docs]'",
)
ROOT = Path(__file__).parents[2]
PACKAGES = [
    "undistract",
    *(package.name for package in iter_modules(undistract.__path__, "undistract.") if package.ispkg),
]
# Folders that a build writes are not part of its source.
MADE = shutil.ignore_patterns("gallery", "packages", "names", "commands", "__pycache__", "results")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    source = tmp_path_factory.mktemp("site")
    for folder in ("docs", "examples", "paper"):
        shutil.copytree(ROOT / folder, source / folder, ignore=MADE)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, source)
    line = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-D",
        "plot_gallery=0",
        "-c",
        "docs",
        ".",
        "built",
    ]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    outcome = subprocess.run(line, cwd=source, env=settings, capture_output=True, text=True, timeout=600)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert outcome.stderr == ""
    return source / "built"


class Page(HTMLParser):
    """The files that a page loads, its links, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.path, self.loads, self.links, self.anchors = path, [], [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = {name: value or "" for name, value in attrs}
        self.anchors.add(attributes.get("id", ""))
        if tag == "a":
            self.links.append(attributes.get("href", ""))
        else:
            self.loads += [
                attributes[name] for name in ("src", "href", "data", "action", "srcset") if name in attributes
            ]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_public_name_has_a_page_with_its_signature_and_its_example(site):
    assert len(PACKAGES) > 9
    for package in map(import_module, PACKAGES):
        for name in getattr(package, "__all__", ()):
            full_name = f"{'undistract' if name in undistract.__all__ else package.__name__}.{name}"
            member = getattr(package, name)
            if not callable(member):  # a constant is on the page of its package
                assert full_name in "".join(path.read_text() for path in site.glob("docs/reference/packages/*.html")), (
                    full_name
                )
                continue
            text = (site / f"docs/reference/names/{full_name}.html").read_text(encoding="utf-8")
            assert f'id="{full_name}"' in text, full_name
            assert ("&gt;&gt;&gt;" in text) == (">>>" in (member.__doc__ or "") or ">>>" in _members(member)), full_name


def _members(owner):
    return "".join(
        member.__doc__ or ""
        for kind in getattr(owner, "__mro__", ())
        if kind.__module__.startswith("undistract")
        for name, member in vars(kind).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod | staticmethod))
    )


def test_every_command_has_a_page_with_its_options(site):
    import click

    from undistract.cli import main

    for name in COMMANDS:
        (path,) = site.glob(f"docs/reference/commands/*-{name}.html")
        text = re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8"))
        command = main.get_command(click.Context(main), name)
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        assert len(options) >= 5, name  # those that all commands have
        assert [option for option in options if option not in text] == [], name


def test_no_page_loads_files_of_other_sites(site, pages):
    assert len(pages) > 100
    elsewhere = {(path.name, url) for path, page in pages.items() for url in page.loads if _is_elsewhere(url)}
    assert elsewhere == set()
    for style in site.rglob("*.css"):
        urls = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)", style.read_text(encoding="utf-8"))
        assert [url for url in urls if _is_elsewhere(url)] == [], style


def _is_elsewhere(url):
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp", "ws", "wss")


def test_every_internal_link_has_a_target(site, pages):
    broken = []
    for path, page in pages.items():
        for link in {*page.links, *page.loads}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name in ("search.html", "genindex.html"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else {""}
            anchor = "" if target.suffix != ".html" else unquote(parts.fragment)
            if not target.exists() or anchor not in anchors:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_every_example_has_a_gallery_page(site):
    first = (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert 'href="gallery/index.html"' in first
    scripts = {path.stem for path in (ROOT / "examples").glob("plot_*.py")}
    assert {path.stem for path in site.glob("docs/gallery/plot_*.html")} == scripts


def test_root_page_redirects_to_the_first_page(site):
    assert 'url=docs/index.html"' in (site / "index.html").read_text(encoding="utf-8")
