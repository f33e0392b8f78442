"""C files have the form that .clang-format gives them. With --fix: gives it to them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from common import c_files

# Another version formats otherwise; tools/requirements-dev.txt pins the same one.
VERSION = "14.0.6"


def find_clang_format() -> str | None:
    beside_python = Path(sys.executable).parent / "clang-format"
    return str(beside_python) if beside_python.exists() else shutil.which("clang-format")


def run(root: Path, *options: str) -> list[str]:
    program = find_clang_format()
    if program is None:
        return [f"clang-format {VERSION} is missing"]
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if VERSION not in told:
        return [f"clang-format {VERSION} is needed, this is {told.strip()}"]
    paths = [str(path.relative_to(root)) for path in c_files(root)]
    if not paths:
        return ["there are no C files"]
    result = subprocess.run([program, *options, *paths], cwd=root, capture_output=True, text=True,
                            check=False)
    if result.returncode == 0:
        return []
    first: dict[str, str] = {}
    for line in result.stderr.splitlines():
        if "error:" in line:
            name, number, _ = line.split(":", 2)
            first.setdefault(name, f"{name}:{number}: not formatted (\"make format\" does it)")
    return list(first.values()) or [result.stderr]


def check(root: Path) -> list[str]:
    return run(root, "--dry-run", "-Werror")


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent.parent
    found = run(here, "-i") if "--fix" in sys.argv[1:] else check(here)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
