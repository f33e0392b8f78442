"""Builds what is published into dist/: `wheels.py [PYTHON ...]`; without PYTHON for each of PYTHONS that is here.

First the sdist, of what is committed. Then, from the unpacked sdist alone and in an isolated environment, a wheel for each
Python. auditwheel puts SQLite, jansson and zstd into it, once for extension and program, and gives it the tag of the oldest
system that it runs on. The wheels share a build directory, so that libroast is compiled once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from auditwheel.wheeltools import InWheel
from build import BUILD, ROOT, BuildFailed, run

PYTHONS = ("3.11", "3.12", "3.13")
DIST = ROOT / "dist"
LARGEST = 3_000_000  # bytes


def candidates(version: str) -> Iterator[Path]:
    """Where a Python of this version may be: beside the one that runs this, on the PATH (a shim there may be of no use), and
    where pyenv keeps it."""
    name = f"python{version}"
    yield Path(sys.executable).with_name(name)
    yield from (Path(folder, name) for folder in os.get_exec_path())
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(home.glob(f"versions/{version}.*/bin/{name}"), reverse=True)


def find_python(version: str) -> Path | None:
    """A Python of this version that can build an extension, and has pip."""
    script = ("import pathlib, pip, sys, sysconfig, venv\n"
              "pathlib.Path(sysconfig.get_path('include'), 'Python.h').stat()\n"
              "print('%d.%d' % sys.version_info[:2])")
    for path in candidates(version):
        if path.is_file():
            told = subprocess.run([path, "-c", script], capture_output=True, text=True, check=False)
            if told.returncode == 0 and told.stdout.strip() == version:
                return path
    return None


def make_sdist() -> Path:
    """The sdist in dist/."""
    run([sys.executable, "-c", f"import mesonpy; mesonpy.build_sdist({str(DIST)!r})"])
    (sdist,) = DIST.glob("*.tar.gz")
    return sdist


def unpack(sdist: Path) -> Path:
    folder = BUILD / "sdist"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(sdist, folder)
    (source,) = folder.iterdir()
    return source


def make_wheel(source: Path, python: Path) -> None:
    """A wheel in dist/, with the tag that its symbols allow."""
    made = BUILD / "wheels" / python.name
    run([python, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps",
         f"--config-settings=build-dir={BUILD / 'wheels' / 'meson'}",
         "--wheel-dir", made, source])
    (wheel,) = made.glob("*.whl")
    run([sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", made / "repaired", wheel])
    (repaired,) = (made / "repaired").glob("*.whl")
    with InWheel(repaired, DIST / repaired.name) as unpacked:
        restore_program(Path(unpacked), python.name)


def restore_program(wheel: Path, python: str) -> None:
    """auditwheel puts a script in Python in the place of `roast`, which is slower to start and finds the program in one place
    alone, not after `pip install --user`. The program itself finds its libraries from every bin folder: of an environment,
    of a user, of a system, and of `pip install --target`."""
    (script,) = wheel.glob("*.data/scripts/roast")
    shutil.move(wheel / "roastcoffea.scripts" / "roast", script)
    (wheel / "roastcoffea.scripts").rmdir()
    places = [f"{folder}/{python}/{packages}/" for folder in ("lib", "lib64") for packages in ("site-packages", "dist-packages")]
    run(["patchelf", "--set-rpath", ":".join(f"$ORIGIN/../{place}roastcoffea.libs" for place in [*places, ""]), script])


def check(files: list[Path]) -> list[str]:
    """What is wrong with what was built."""
    problems = [f"{file.name}: {file.stat().st_size} bytes; at most {LARGEST}" for file in files
                if file.stat().st_size > LARGEST]
    problems += [f"{file.name}: no manylinux wheel" for file in files
                 if file.suffix == ".whl" and "-manylinux_" not in file.name]
    run([sys.executable, "-m", "twine", "check", "--strict", *files])
    return problems


def main(wanted: list[str]) -> int:
    pythons = {version: find_python(version) for version in wanted or PYTHONS}
    for old in (DIST, BUILD / "wheels"):
        shutil.rmtree(old, ignore_errors=True)
    try:
        source = unpack(make_sdist())
        for version, python in pythons.items():
            if python is None:
                print(f"no Python {version} with its headers and pip is here: no wheel for it", flush=True)
            else:
                print(f"building the wheel for Python {version} ...", flush=True)
                make_wheel(source, python)
        files = sorted(DIST.iterdir())
        problems = check(files)
    except BuildFailed as failure:
        print(f"wheels: this failed: {failure}", file=sys.stderr)
        return 1
    for file in files:
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.2f} MB")
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
