"""The pages of the documentation as the tests see them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.M | re.S)


def pages():
    """Every page that people write or read: README and the like, and all below docs."""
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def blocks(page):
    """``(kind, text)`` of each fenced block, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [(match["kind"].strip(), match["body"]) for match in BLOCK.finditer(text)]


def blocks_of_kind(page, kind):
    return [body for found, body in blocks(page) if found == kind]
