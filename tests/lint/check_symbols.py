"""What the binaries show to the world: libroast names that begin with roast_, the extension its init."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from common import Skip


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


def check_extension(root: Path) -> list[str]:
    extensions = sorted((root / "build" / "py").rglob("_core*.so"))
    if not extensions:
        raise Skip("the extension is not built in build/py")
    return [problem for extension in extensions for problem in exported_names(extension)]


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent.parent
    found = check_library(here) + check_extension(here)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
