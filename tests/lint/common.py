"""What the checks share. A check is a function from the repository's root to a list of problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

C_FOLDERS = ("src", "include", "ext", "cli", "tests/c", "tests/burn", "tests/wheels", "fuzz", "bench", "examples")
PYTHON_FOLDERS = ("python", "tests", "tools", "bench", "examples", "docs", "fuzz")


class Skip(Exception):
    """The check cannot be made here; the text says why."""


def files(root: Path, folders: tuple[str, ...], endings: tuple[str, ...]) -> Iterator[Path]:
    """The files of some folders, in a fixed order, without what was made."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            made = any(part == "__pycache__" or part.startswith(".") for part in
                       path.relative_to(root).parts)
            if path.suffix in endings and path.is_file() and not made:
                yield path


def c_files(root: Path) -> Iterator[Path]:
    return files(root, C_FOLDERS, (".c", ".h"))


def python_files(root: Path) -> Iterator[Path]:
    return files(root, PYTHON_FOLDERS, (".py", ".pyi"))


NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def without_comments(text: str) -> str:
    """C without comments; the lines keep their numbers, and texts in quotes stay."""
    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])
    return NOT_CODE.sub(blank, text)
