"""Runs the benchmarks beside roastcoffea 0.1.2: `bench_environment.py ARGUMENT ...` is `python -m bench ARGUMENT ...`
in an environment under build/ that has both.

0.1.2 comes from PyPI and needs Python 3.12. The newest Python that is there, and that we support, gets a
virtual environment with all that the two packages depend on; the packages themselves lie in two folders
beside it, and a process sees the one that its PYTHONPATH names. So Python, Coffea, Dask and all the rest are
not merely the same versions but the same files. It is made once and kept until the requirements change; ours
is built again when a source is newer.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from build import BUILD, ROOT, BuildFailed, run

THEIRS = "roastcoffea==0.1.2"
# What 0.1.2 needs at least, and what we support at most.
OLDEST, NEWEST = (3, 12), (3, 13)
FOLDER = BUILD / "bench-env"
STAMP = FOLDER / "requirements.sha256"
OURS_STAMP = FOLDER / "ours.stamp"
SOURCES = ("src", "include", "ext", "cli", "python", "meson.build", "meson_options.txt", "pyproject.toml")
LOOK = "import ensurepip, sys, sysconfig, venv; from pathlib import Path; " \
       "assert Path(sysconfig.get_path('include'), 'Python.h').is_file(); print(*sys.version_info[:3])"


# ---- a Python that 0.1.2 can live with ----

def candidates() -> list[Path]:
    minors = range(OLDEST[1], NEWEST[1] + 1)
    found = [Path(path) for minor in minors if (path := shutil.which(f"python3.{minor}"))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [path for minor in minors for path in pyenv.glob(f"3.{minor}.*/bin/python3")]
    return [*found, Path(sys.executable)]


def version_of(python: Path) -> tuple[int, ...] | None:
    """None where it does not start, makes no virtual environment, or has no headers."""
    result = subprocess.run([python, "-c", LOOK], capture_output=True, text=True, check=False)
    return tuple(map(int, result.stdout.split())) if result.returncode == 0 else None


def newest_python() -> tuple[Path, tuple[int, ...]] | None:
    versions = {python: version_of(python) for python in candidates()}
    fit = [(version, python) for python, version in versions.items()
           if version is not None and OLDEST <= version[:2] <= NEWEST]
    if not fit:
        return None
    version, python = max(fit)
    return python, version


# ---- the environment ----

def requirements() -> list[str]:
    """0.1.2, and of the development environment what builds the package and what it works with."""
    text = (ROOT / "tools" / "requirements-dev.txt").read_text()
    wanted = [THEIRS]
    for part in text.split("\n\n"):
        title, *lines = part.strip().splitlines()
        if title in ("# build", "# what the package works with"):
            wanted += lines
    return wanted


def pip(*arguments: str | Path) -> None:
    run([FOLDER / "venv" / "bin" / "python", "-m", "pip", *arguments, "--disable-pip-version-check"])


def make_environment(python: Path, version: tuple[int, ...]) -> None:
    wanted = hashlib.sha256("\n".join([*requirements(), repr(version)]).encode()).hexdigest()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return
    print(f"making an environment of Python {'.'.join(map(str, version))} with {THEIRS} (some minutes) ...",
          file=sys.stderr, flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    run([python, "-m", "venv", FOLDER / "venv"])
    pip("install", *requirements())
    pip("uninstall", "--yes", THEIRS.partition("==")[0])
    pip("install", "--no-deps", "--target", FOLDER / "theirs", THEIRS)
    STAMP.write_text(wanted)


def newest_source() -> float:
    files = (file for name in SOURCES for file in (ROOT / name, *(ROOT / name).rglob("*")) if file.is_file())
    return max(file.stat().st_mtime for file in files)


def install_ours() -> None:
    newest = newest_source()
    if OURS_STAMP.is_file() and OURS_STAMP.stat().st_mtime >= newest:
        return
    print("building the package for that Python ...", file=sys.stderr, flush=True)
    shutil.rmtree(FOLDER / "ours", ignore_errors=True)
    pip("install", "--no-deps", "--no-build-isolation", "--target", FOLDER / "ours",
        "--config-settings=build-dir=build/bench-py", ".")
    OURS_STAMP.touch()
    os.utime(OURS_STAMP, (newest, newest))


# ---- the benchmarks ----

def command(arguments: list[str]) -> tuple[list[str | Path], dict[str, str]]:
    """What to run, and with which environment variables."""
    found = newest_python()
    if found is None:
        versions = " or ".join(f"3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1))
        reason = f"{THEIRS} needs a Python {versions} with headers and venv, and none was found"
        return [sys.executable, "-m", "bench", "--no-theirs", reason, *arguments], {}
    make_environment(*found)
    install_ours()
    return ([FOLDER / "venv" / "bin" / "python", "-m", "bench", "--theirs", FOLDER / "theirs", *arguments],
            {"PYTHONPATH": str(FOLDER / "ours")})


def main(arguments: list[str]) -> int:
    try:
        words, variables = command(arguments)
    except BuildFailed as failure:
        print(f"bench: this failed: {failure}", file=sys.stderr)
        return 1
    os.environ.update(variables)
    sys.stdout.flush()
    os.chdir(ROOT)
    os.execv(words[0], [str(word) for word in words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
