"""Links of the pages lead somewhere: to a file that is there, and to a heading or a name in it. Nothing is asked of the
network. Pages that texts of the program name are there, too."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from common import c_files, python_files

# Sphinx checks links within docs as well; it reads neither the pages outside nor the texts of the program.
FOLDERS = ("docs", "bench", "fuzz", "examples", "packaging")
BLOCK = re.compile(r"^(```+|~~~+)[^\n]*\n.*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`+[^`\n]*`+")
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
NAME = re.compile(r"^\(([\w-]+)\)=$|<a (?:id|name)=\"([^\"]+)\"", re.MULTILINE)
NAMED_PAGE = re.compile(r"\bdocs/[\w/-]+\.md(?:#([\w-]+))?")
PLACEHOLDERS = {"KIND"}


def pages(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *(path for folder in FOLDERS for path in sorted((root / folder).rglob("*.md")))]


def without_code(text: str) -> str:
    """The same lines, without blocks of code and words in code."""
    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])
    return CODE.sub(blank, BLOCK.sub(blank, text))


def slug(heading: str) -> str:
    """The anchor that GitHub and MyST make of a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    found: set[str] = {name for names in NAME.findall(text) for name in names if name}
    for heading in HEADING.findall(text):
        name, number = slug(heading), 1
        while name in found:  # a second heading of the same words
            name, number = f"{slug(heading)}-{number}", number + 1
        found.add(name)
    return found


def problem_of(root: Path, page: Path, target: str) -> str | None:
    if "://" in target or target.startswith("mailto:"):
        return None
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists() or not file.is_relative_to(root.resolve()):
        return f"{target}: there is no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return f"{target}: there is no such heading"
    return None


def check_pages(root: Path) -> Iterator[str]:
    for page in pages(root):
        text = without_code(page.read_text(encoding="utf-8"))
        for number, line in enumerate(text.split("\n"), 1):
            for target in LINK.findall(line):
                problem = problem_of(root, page, target)
                if problem is not None:
                    yield f"{page.relative_to(root)}:{number}: {problem}"


def check_texts(root: Path) -> Iterator[str]:
    """Comments and printed texts that name a page."""
    for path in [*c_files(root), *python_files(root)]:
        if path.relative_to(root).parts[0] not in ("cli", "src", "include", "ext", "python"):
            continue
        for match in NAMED_PAGE.finditer(path.read_text(encoding="utf-8")):
            page, _, anchor = match[0].partition("#")
            where = f"{path.relative_to(root)}: {match[0]}"
            if not (root / page).is_file():
                yield f"{where}: there is no such page"
            elif anchor and anchor not in PLACEHOLDERS and anchor not in anchors(root / page):
                yield f"{where}: there is no such heading"


def check(root: Path) -> list[str]:
    anchors.cache_clear()
    return [*check_pages(root), *check_texts(root)]


if __name__ == "__main__":
    found = check(Path(__file__).resolve().parent.parent.parent)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
