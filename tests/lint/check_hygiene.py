"""The rules of the repository that can be read off its files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

from common import c_files, files, python_files, without_comments

LONGEST_FILE = 900
# The one file that may call the C library's allocator.
HOOK = Path("src/base/alloc.c")
FORBIDDEN = re.compile(r"\b(malloc|calloc|realloc|free|strn?dup|v?asprintf|v?f?printf|f?puts|perror|abort|"
                       r"_?exit|assert)[ \t]*\(")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
DECLARED = re.compile(r"\b(roast_\w+)[ \t\n]*\((?!\*)")  # "(*": the type of a pointer to a function


def check_lines(root: Path) -> list[str]:
    """No file too long to read, no trailing blank, no tab, a line feed at the end."""
    problems = []
    for path in [*c_files(root), *python_files(root)]:
        name = path.relative_to(root)
        text = path.read_text()
        lines = text.split("\n")
        if len(lines) > LONGEST_FILE:
            problems.append(f"{name}: {len(lines)} lines; at most {LONGEST_FILE}")
        if text and not text.endswith("\n"):
            problems.append(f"{name}: no line feed at its end")
        for number, line in enumerate(lines, 1):
            if line != line.rstrip():
                problems.append(f"{name}:{number}: a blank at the end")
            if "\t" in line:
                problems.append(f"{name}:{number}: a tab")
    return problems


def check_calls(root: Path) -> list[str]:
    """libroast allocates through its hook, never prints and never ends the process."""
    return [f"{path.relative_to(root)}:{number}: calls {match[1]}()"
            for path in files(root, ("src",), (".c", ".h")) if path.relative_to(root) != HOOK
            for number, line in enumerate(without_comments(path.read_text()).split("\n"), 1)
            for match in FORBIDDEN.finditer(line)]


def names_twice(tree: ast.Module | ast.ClassDef) -> list[tuple[int, str]]:
    """Tests that stand in the place of an earlier one of their name."""
    first: set[str] = set()
    found = []
    for part in tree.body:
        if isinstance(part, ast.ClassDef):
            found += names_twice(part)
        elif isinstance(part, ast.FunctionDef):
            if part.name in first and part.name.startswith("test"):
                found.append((part.lineno, part.name))
            first.add(part.name)
    return found


def check_names(root: Path) -> list[str]:
    """No test is replaced by another one of its name, and so never run."""
    return [f"{path.relative_to(root)}:{line}: {name} is defined twice"
            for path in files(root, ("tests",), (".py",))
            for line, name in names_twice(ast.parse(path.read_text()))]


def declared_functions(header: str) -> list[str]:
    return sorted(set(DECLARED.findall(DIRECTIVE.sub("", without_comments(header)))))


def called_names(objects: list[Path]) -> set[str]:
    """The functions that compiled tests call. A name in a comment, a text or code that is never reached is none."""
    result = subprocess.run(["nm", "--undefined-only", "--format=posix", *map(str, objects)], capture_output=True,
                            text=True, check=True)
    return {line.split()[0] for line in result.stdout.splitlines() if line.strip().endswith("U")}


def check_tested(root: Path) -> list[str]:
    """Every public function is called by a C test."""
    folder = root / "build" / "plain" / "tests" / "c"
    objects = [place for path in files(root, ("tests/c",), (".c",))
               for place in folder.glob(f"*/{path.name}.o")]
    if not objects:
        return ["build/plain is not built"]
    called = called_names(objects)
    return [f"{header.relative_to(root)}: no test in tests/c calls {function}"
            for header in files(root, ("include/roast",), (".h",))
            for function in declared_functions(header.read_text()) if function not in called]


def check_headers(root: Path) -> list[str]:
    """Every public header compiles when it is the first one."""
    problems = []
    for header in files(root, ("include/roast",), (".h",)):
        result = subprocess.run(
            ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-",
             "-I", str(root / "include")],
            input=f'#include "roast/{header.name}"\n', capture_output=True, text=True, check=False)
        if result.returncode != 0:
            first = next((line for line in result.stderr.splitlines() if "error:" in line), "")
            problems.append(f"{header.relative_to(root)}: does not stand alone: {first}")
    return problems


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent.parent
    found = [problem for check in (check_lines, check_calls, check_names, check_tested, check_headers)
             for problem in check(here)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
