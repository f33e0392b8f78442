"""libroast as others get it: `meson install`, pkg-config, and the example in C, which reads a measurement."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path("examples", "c", "read_run.c")
MEASUREMENT = Path("tests", "data", "measurement_v2")
LONGEST = 40  # lines of the example
LIBRARIES = ("libjansson-dev", "libsqlite3-dev", "libzstd-dev", "libcmocka-dev")


def said(command: list[str], environment: dict[str, str] | None = None) -> str:
    result = subprocess.run(command, env={**os.environ, **(environment or {})}, text=True, capture_output=True,
                            check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: {(result.stderr or result.stdout).strip()}")
    return result.stdout


def build_example(root: Path, folder: Path) -> Path:
    """The example, compiled with nothing but what is installed."""
    said([sys.executable, "-m", "mesonbuild.mesonmain", "install", "-C", str(root / "build" / "plain"), "--no-rebuild",
          "--destdir", str(folder), "--quiet"])
    (place,) = folder.rglob("roast.pc")
    (prefix,) = (line.partition("=")[2] for line in place.read_text().splitlines() if line.startswith("prefix="))
    flags = said(["pkg-config", f"--define-variable=prefix={folder}{prefix}", "--cflags", "--libs", "roast"],
                 {"PKG_CONFIG_PATH": str(place.parent)})
    program = folder / "read_run"
    said(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(root / EXAMPLE), *shlex.split(flags)])
    return program


def check(root: Path) -> list[str]:
    if not (root / "build" / "plain" / "src" / "libroast.a").is_file():
        return ["build/plain is not built"]
    problems = []
    if len((root / EXAMPLE).read_text().splitlines()) > LONGEST:
        problems.append(f"{EXAMPLE}: more than {LONGEST} lines")
    with tempfile.TemporaryDirectory() as folder:
        try:
            shown = said([str(build_example(root, Path(folder))), str(root / MEASUREMENT)])
        except RuntimeError as error:
            return [*problems, str(error)]
    times = [float(line.split()[0]) for line in shown.splitlines()]
    if not times or times != sorted(times, reverse=True):
        problems.append(f"{EXAMPLE}: not the slowest chunks first:\n{shown}")
    return problems


def check_missing(root: Path) -> list[str]:
    """A build that finds nothing names all packages at once."""
    with tempfile.TemporaryDirectory() as folder:
        blind = Path(folder, "blind.ini")
        blind.write_text("[binaries]\npkg-config = '/none'\ncmake = '/none'\n")
        result = subprocess.run([sys.executable, "-m", "mesonbuild.mesonmain", "setup", "-Dtests=true", "--native-file", blind,
                                 Path(folder, "build"), root], text=True, capture_output=True, check=False)
    errors = [line for line in result.stdout.splitlines() if "ERROR" in line]
    return [] if any(all(name in line for name in LIBRARIES) for line in errors) else errors or [result.stdout]


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent.parent
    found = check(root) + check_missing(root)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
