"""Sphinx: `make docs` builds these pages into build/docs and takes a warning for an error."""

import re
from pathlib import Path

project = "roastcoffea"
author = "roastcoffea developers"
copyright = "roastcoffea developers, BSD-3-Clause"
release = re.search(r"version: '([^']+)'",
                    (Path(__file__).parent.parent / "meson.build").read_text())[1]
version = release

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = []
html_theme = "furo"
html_title = f"roastcoffea {release}"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False


def leave_out_missing(app, name, source):
    """Some pages are made by a program and may not be there yet."""
    if name == "index":
        missing = {page for page in ("performance",) if not Path(app.srcdir, f"{page}.md").exists()}
        source[0] = "\n".join(line for line in source[0].split("\n") if line not in missing)


def setup(app):
    app.connect("source-read", leave_out_missing)
