"""What the binaries show to the world: libroast names that begin with roast_, the extension its init.

Functions of libroast that were released stay as they are until the next major version: tests/data/libroast.txt lists them.
`check_symbols.py --release` writes the list, when a version is released.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from check_hygiene import DECLARED, DIRECTIVE
from common import Skip, files, without_comments

RELEASED = Path("tests", "data", "libroast.txt")
# From the end of the statement before it to its own; bodies of types and inline functions have a brace.
DECLARATION = re.compile(r"[^;{}]*;")


def symbols(binary: Path, *options: str) -> list[str]:
    result = subprocess.run(["nm", "--defined-only", *options, str(binary)], capture_output=True,
                            text=True, check=True)
    rows = [line.split() for line in result.stdout.splitlines()]
    return [row[2] for row in rows if len(row) == 3]


def foreign_names(library: Path) -> list[str]:
    """Global names of a static library that could clash with a user's."""
    names = symbols(library, "-g")
    if not names:
        return [f"{library.name} defines nothing"]
    # Sanitizers and coverage add names of their own; a plain build has none.
    return [f"{library.name}: {name} does not begin with roast_"
            for name in names if not name.startswith("roast_")]


def exported_names(extension: Path) -> list[str]:
    """What an extension exports beyond its one entry."""
    names = symbols(extension, "-D")
    problems = [f"{extension.name}: exports {name}" for name in names if name != "PyInit__core"]
    if "PyInit__core" not in names:
        problems.append(f"{extension.name}: does not export PyInit__core")
    return problems


def check_library(root: Path) -> list[str]:
    library = root / "build" / "plain" / "src" / "libroast.a"
    return foreign_names(library) if library.is_file() else ["build/plain is not built"]


def declarations(root: Path) -> list[str]:
    """The functions of the public headers, each on one line."""
    found = []
    for header in files(root, ("include/roast",), (".h",)):
        for match in DECLARATION.finditer(DIRECTIVE.sub("", without_comments(header.read_text()))):
            line = " ".join(match[0].split())
            if DECLARED.search(line) and not line.startswith("typedef"):
                found.append(line)
    return sorted(found)


def project_version(root: Path) -> str:
    (version,) = re.findall(r"version: '([^']+)'", (root / "meson.build").read_text())[:1]
    return str(version)


def check_released(root: Path) -> list[str]:
    """What was released is still there; and the list is that of the version that is built."""
    version, *released = (root / RELEASED).read_text().splitlines()
    now = set(declarations(root))
    problems = [f"{RELEASED}: gone or changed: {line}" for line in released if line not in now]
    if version != project_version(root):
        problems.append(f"{RELEASED}: of version {version}, not {project_version(root)}: check_symbols.py --release")
    return problems


def check_extension(root: Path) -> list[str]:
    extensions = sorted((root / "build" / "py").rglob("_core*.so"))
    if not extensions:
        raise Skip("the extension is not built in build/py")
    return [problem for extension in extensions for problem in exported_names(extension)]


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent.parent
    if sys.argv[1:] == ["--release"]:
        (here / RELEASED).write_text("\n".join([project_version(here), *declarations(here)]) + "\n")
    found = check_library(here) + check_released(here) + check_extension(here)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
