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
