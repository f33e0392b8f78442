"""Sphinx: `make docs` builds these pages into build/docs and takes a warning for an error."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import parameters  # noqa: E402

project = "roastcoffea"
author = "roastcoffea developers"
copyright = "roastcoffea developers, BSD-3-Clause"
release = re.search(r"version: '([^']+)'",
                    (Path(__file__).parent.parent / "meson.build").read_text())[1]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = []
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {"members": True}
autoclass_content = "class"
napoleon_use_ivar = True
add_module_names = False
html_theme = "furo"
html_title = f"roastcoffea {release}"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False


def add_parameters(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Parameters that the docstring does not describe, in the words of parameters.py."""
    if what not in ("function", "class", "method"):
        return
    try:
        found = list(parameters.added(name, thing, "\n".join(lines)))
    except (TypeError, ValueError):  # it has no signature
        return
    more = [f":param {parameter}: {words}" for parameter, words in found if words is not None]
    lines += ["", *more, ""] if more else []


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", add_parameters, priority=400)  # before napoleon
