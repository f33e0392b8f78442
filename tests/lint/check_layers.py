"""No arrow points up: reads the #includes of src, include, ext and cli and the imports of python."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from common import files, without_comments
from layers import C_LAYERS, PUBLIC_HEADERS, PYTHON_LAYERS, ROOMS

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def includes(path: Path) -> Iterator[tuple[int, bool, str]]:
    """Line, whether it is in quotes, and name."""
    text = without_comments(path.read_text())
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] == '"', match[2]


# ---- C ----

def layer_of_header(name: str) -> tuple[str | None, str | None]:
    """The layer that an included name belongs to, or what is wrong with it; neither: not ours."""
    folder, _, rest = name.partition("/")
    if folder == "roast":
        layer = PUBLIC_HEADERS.get(rest)
        return (layer, None) if layer else (None, f"{name} has no row in tests/lint/layers.py")
    if folder in C_LAYERS and rest:
        return folder, None
    return None, None


def problem_in_library(path: Path, layer: str, quoted: bool, name: str) -> str | None:
    if Path(name).name == "Python.h":
        return "libroast does not know Python"
    if ".." in Path(name).parts:
        return f"{name} climbs out of its folder"
    used, wrong = layer_of_header(name)
    if wrong:
        return wrong
    if used is None:
        own = path.parent / name
        return f"{name} is not known" if quoted and not own.is_file() else None
    if C_LAYERS.index(used) > C_LAYERS.index(layer):
        return f"{layer} stands below {used} and must not include {name}"
    return None


def check_library(root: Path) -> Iterator[str]:
    places = [(path, path.relative_to(root / "src").parts[0])
              for path in files(root, ("src",), (".c", ".h", ".def"))]
    for path in files(root, ("include/roast",), (".h",)):
        if path.name in PUBLIC_HEADERS:
            places.append((path, PUBLIC_HEADERS[path.name]))
        else:
            yield f"{path.relative_to(root)}: has no row in tests/lint/layers.py"
    for path, layer in places:
        if layer not in C_LAYERS:
            yield f"{path.relative_to(root)}: {layer} is no layer of tests/lint/layers.py"
            continue
        for line, quoted, name in includes(path):
            problem = problem_in_library(path, layer, quoted, name)
            if problem:
                yield f"{path.relative_to(root)}:{line}: {problem}"


def problem_outside(path: Path, folder: Path, quoted: bool, name: str) -> str | None:
    """For cli and ext: the public headers, their own, and the system's."""
    if Path(name).name == "Python.h":
        return None if folder.name == "ext" else f"{folder.name} does not know Python"
    used, wrong = layer_of_header(name)
    if name.startswith("roast/"):
        return wrong
    own = any((place / name).is_file() for place in (path.parent, folder))
    if used is not None or (quoted and not own) or ".." in Path(name).parts:
        return f"{folder.name} may include roast/... and its own headers, not {name}"
    return None


def check_users(root: Path) -> Iterator[str]:
    for folder in ("cli", "ext"):
        for path in files(root, (folder,), (".c", ".h")):
            for line, quoted, name in includes(path):
                problem = problem_outside(path, root / folder, quoted, name)
                if problem:
                    yield f"{path.relative_to(root)}:{line}: {problem}"


def problem_between_rooms(part: str, rooms: list[str], room: str, name: str) -> str | None:
    """Whether a folder includes a header of one that stands above it."""
    prefix = f"{Path(part).name}/" if part.startswith("src/") else ""
    used = name.removeprefix(prefix).partition("/")[0] if name.startswith(prefix) else ""
    if used in rooms and rooms.index(used) > rooms.index(room):
        return f"{part}/{room} stands below {part}/{used} and must not include {name}"
    return None


def check_rooms(root: Path) -> Iterator[str]:
    for part, rooms in ROOMS.items():
        for path in files(root, (part,), (".c", ".h")):
            room = path.relative_to(root / part).parts[0]
            if room == path.name:
                continue
            if room not in rooms:
                yield f"{path.relative_to(root)}: {room} has no row in ROOMS of tests/lint/layers.py"
                continue
            for line, quoted, name in includes(path):
                problem = problem_between_rooms(part, rooms, room, name) if quoted else None
                if problem:
                    yield f"{path.relative_to(root)}:{line}: {problem}"


# ---- Python ----

ROWS = {part: row for row, parts in enumerate(PYTHON_LAYERS) for part in parts}


def part_of(names: Sequence[str]) -> str:
    """The part that a module of roastcoffea belongs to: the longest beginning of its name that has a row."""
    found = [".".join(names[:length]) for length in range(len(names), 0, -1)]
    return next((part for part in found if part in ROWS), names[0])


def imported_parts(node: ast.Import | ast.ImportFrom, package: list[str]) -> Iterator[str]:
    """The parts of roastcoffea that a statement of a module inside `package` imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = package[:len(package) - node.level + 1] if node.level else []
        module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
        names = [f"{module}.{alias.name}" for alias in node.names]
    for name in names:
        first, *rest = name.split(".")
        if first == "roastcoffea":
            part = part_of(rest or ["__init__"])
            yield part if part in ROWS or len(rest) != 1 else "__init__"
        elif first == "coffea_metrics":
            yield "coffea_metrics"


def problem_of_import(part: str, used: str) -> str | None:
    if used == "coffea_metrics":
        return "roastcoffea must not import coffea_metrics"
    own, other = ROWS.get(part), ROWS.get(used)
    if other is None or own is None:
        return f"{part if own is None else used} has no row in tests/lint/layers.py"
    if used != part and other >= own:
        return f"{part} does not stand above {used} and must not import it"
    return None


def check_python(root: Path) -> Iterator[str]:
    base = root / "python"
    for path in files(root, ("python/roastcoffea",), (".py", ".pyi")):
        module = path.relative_to(base).with_suffix("")
        part = part_of(module.parts[1:])
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for used in imported_parts(node, list(module.parts[:-1])):
                problem = problem_of_import(part, used)
                if problem:
                    yield f"{path.relative_to(root)}:{node.lineno}: {problem}"


def check(root: Path) -> list[str]:
    return [*check_library(root), *check_users(root), *check_rooms(root), *check_python(root)]


if __name__ == "__main__":
    found = check(Path(__file__).resolve().parent.parent.parent)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
