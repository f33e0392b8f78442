"""Builds under build/: `build.py NAME ...`, where NAME is a configuration below, or `package`.

Run by .venv's Python; meson and ninja are taken from beside it. The compiler's output is shown only when a
build fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
C_ONLY = ["-Dpython=false", "-Dtests=true", "-Dwerror=true"]

# Name: compiler (None: the default), options of meson.
CONFIGURATIONS: dict[str, tuple[str | None, list[str]]] = {
    "plain": (None, [*C_ONLY, "-Dbuildtype=debugoptimized"]),
    "asan": (None, [*C_ONLY, "-Dbuildtype=debugoptimized", "-Db_sanitize=address,undefined"]),
    "asan-ext": (None, ["-Dpython=true", "-Dwerror=true", "-Dbuildtype=debugoptimized",
                        "-Db_sanitize=address,undefined", "-Db_lundef=false"]),
    "tsan": (None, ["-Dpython=true", "-Dtests=true", "-Dbuildtype=debug",
                    "-Db_sanitize=thread", "-Db_lundef=false"]),
    "getrusage": (None, [*C_ONLY, "-Dbuildtype=debugoptimized", "-Dproc=getrusage"]),
    "clang": ("clang", ["-Dpython=true", "-Dtests=true", "-Dwerror=true", "-Dbuildtype=debug"]),
    "fuzz": ("clang", [*C_ONLY, "-Dbuildtype=debugoptimized", "-Dfuzzing=true"]),
    "coverage": ("clang", [*C_ONLY, "-Dbuildtype=debug", "-Dfuzzing=true", "-Dc_link_args=-fprofile-instr-generate",
                           "-Dc_args=-fprofile-instr-generate -fcoverage-mapping"]),
    "bench": (None, [*C_ONLY, "-Dbuildtype=release"]),
}


os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


class BuildFailed(Exception):
    """The command that failed; its output has been shown."""


def run(command: list[str | Path], environment: dict[str, str] | None = None) -> None:
    result = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(environment or {})}, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )
    if result.returncode != 0:
        sys.stdout.write(result.stdout)
        raise BuildFailed(" ".join(str(word) for word in command))


def configure(name: str) -> Path:
    """Sets a build directory up, unless it stands and was set up in the same way."""
    compiler, options = CONFIGURATIONS[name]
    directory = BUILD / name
    remembered = directory / "configured-as.txt"
    wanted = "\n".join([version("meson"), str(ROOT), compiler or "", *options])
    if remembered.is_file() and remembered.read_text() == wanted:
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    run(["meson", "setup", directory, *options], {"CC": compiler} if compiler else None)
    remembered.write_text(wanted)
    return directory


def build(name: str, *targets: str) -> Path:
    """The build directory, with these targets (none: everything) up to date."""
    directory = configure(name)
    run(["ninja", "--quiet", "-C", directory, *targets])
    return directory


def install_package() -> None:
    """Into .venv, as a user would get it: not editable."""
    print("building the package ...", flush=True)
    BUILD.mkdir(exist_ok=True)
    run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps",
         "--no-build-isolation", "--force-reinstall", "--config-settings=build-dir=build/py", "."])


def main(names: list[str]) -> int:
    special = {"package": install_package}
    known = [*CONFIGURATIONS, *special]
    if not names or not set(names) <= set(known):
        print(f"usage: build.py NAME ..., one of {' '.join(known)}", file=sys.stderr)
        return 2
    try:
        for name in names:
            if name in special:
                special[name]()
            else:
                build(name)
    except BuildFailed as failure:
        print(f"build: this failed: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
