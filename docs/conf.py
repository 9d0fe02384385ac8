"""How Sphinx makes the site (`make docs`).

The source folder is that of the repository, so that a link such as `../paper/README.md` means the same on the site and
in a clone. Pages that are made from code are written first: a page for each package,
for each public name and for each command. Nothing is fetched from a network, neither by the build nor by a page.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

from generated_pages import write_command_pages, write_package_pages  # noqa: E402

from undistract import __version__  # noqa: E402

project = "undistract"
author = "The undistract authors"
project_copyright = "The undistract authors, BSD-3-Clause"
version = release = __version__

root_doc = "docs/index"
include_patterns = ["docs/**", "paper/README.md", "*.md"]
exclude_patterns = ["docs/templates", "docs/extensions", "docs/gallery/*.py", "out", ".*", "src", "tests", "benchmarks"]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "forge_links",
]
templates_path = [str(HERE / "templates")]
highlight_language = "none"  # formulas and diagrams are plain blocks
default_role = "code"

myst_heading_anchors = 3

autosummary_generate = write_package_pages(HERE / "reference" / "packages")
write_command_pages(HERE / "reference" / "commands")
autodoc_typehints = "none"  # the docstrings have them
autodoc_member_order = "bysource"
# PyTorch is large, and a page about it can do without.
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]
napoleon_google_docstring = False
# Types are words, not names to link to; attributes are listed as parameters are.
napoleon_use_param = napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "docs/gallery",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,  # its page loads scripts of others
    "within_subsection_order": "gallery_order.FirstExampleFirst",
}

html_theme = "pydata_sphinx_theme"
html_title = "undistract"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "to_the_first_page.html"}
html_sidebars = {"docs/start": []}  # it has no sibling pages
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "undistract"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": False,
}
