"""Makes .venv and installs what is missing. Run by make; needs only the standard library.

What the system must have is looked for first; what is missing is installed with apt when we are root,
otherwise the one command that does it is printed. Nothing is done twice: .venv remembers which
requirements it was made from.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "requirements.sha256"
REQUIREMENTS = ROOT / "tools" / "requirements-dev.txt"
OLDEST_PYTHON = (3, 11)
# The library, and the Debian package with its headers.
LIBRARIES = {"sqlite3": "libsqlite3-dev", "jansson": "libjansson-dev", "libzstd": "libzstd-dev",
             "cmocka": "libcmocka-dev"}

# The program, and its Debian package.
SERVERS = {"xrootd": "xrootd-server", "prometheus": "prometheus"}
POLICY = "/usr/sbin/policy-rc.d"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class SetupFailed(Exception):
    """What is wrong and what to do, for people."""


def has_library(name: str) -> bool:
    if shutil.which("pkg-config") is None:
        return False
    return subprocess.run(["pkg-config", "--exists", name], check=False).returncode == 0


def has_compiler() -> bool:
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    return shutil.which(compiler[0]) is not None


def has_python_headers() -> bool:
    return Path(sysconfig.get_path("include"), "Python.h").is_file()


def can_make_venv() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("venv", "ensurepip"))


def missing_packages() -> list[str]:
    """The Debian packages of all that is not there."""
    missing = []
    if not has_compiler():
        missing += ["gcc", "libc6-dev"]
    if shutil.which("pkg-config") is None:
        missing.append("pkg-config")
    missing += [package for name, package in LIBRARIES.items() if not has_library(name)]
    if not has_python_headers():
        missing.append("python3-dev")
    if not can_make_venv():
        missing.append("python3-venv")
    return missing


def run(command: Sequence[str | Path], what: str) -> None:
    """Runs a command whose output nobody wants to see unless it fails."""
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        check=False,
    )
    if result.returncode != 0:
        sys.stderr.write(result.stdout)
        raise SetupFailed(f"{what} failed: {shlex.join(str(word) for word in command)}")


def install_packages(packages: list[str]) -> None:
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    by_hand = f"apt-get update && {shlex.join(install)}"
    if shutil.which("apt-get") is None:
        raise SetupFailed("these Debian packages, or what your system calls them, are missing: "
                          + " ".join(packages))
    if os.geteuid() != 0:
        raise SetupFailed(f"some packages are missing; run this, then try again:\n\n"
                          f"    sudo sh -c {shlex.quote(by_hand)}\n")
    print(f"installing {' '.join(packages)} ...", flush=True)
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    run(["apt-get", "update"], "apt")
    run(install, "apt")


def prepare_system() -> None:
    if sys.version_info < OLDEST_PYTHON:
        raise SetupFailed(f"Python {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed; "
                          f"{sys.executable} is {sys.version.split()[0]}")
    missing = missing_packages()
    if not missing:
        return
    install_packages(missing)
    importlib.invalidate_caches()
    still = missing_packages()
    if still:
        raise SetupFailed(f"installed, and yet not found by {sys.executable}: {' '.join(still)}\n"
                          "is this the system's own Python? make PYTHON=/usr/bin/python3 uses that one")


def fingerprint() -> str:
    return hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest() + "\n"


def is_up_to_date() -> bool:
    if not (STAMP.is_file() and (VENV / "bin" / "python").exists()):
        return False
    return STAMP.read_text() == fingerprint()


def make_venv() -> None:
    if is_up_to_date():
        STAMP.touch()
        return
    print("making .venv (one or two minutes) ...", flush=True)
    python = VENV / "bin" / "python"
    STAMP.unlink(missing_ok=True)
    run([sys.executable, "-m", "venv", "--clear", VENV], "making .venv")
    run([python, "-m", "pip", "install", "--disable-pip-version-check", "-r", REQUIREMENTS], "pip")
    STAMP.write_text(fingerprint())


def prepare_browser() -> None:
    """The tests of the report look at it in a real browser. Who cannot install one goes without."""
    if any(shutil.which(name) for name in BROWSERS) or os.environ.get("ROAST_CHROMIUM"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        install_packages([BROWSERS[0]])
    else:
        print(f"no {BROWSERS[0]} here: the report is not looked at in a browser", flush=True)


@contextmanager
def no_services() -> Iterator[None]:
    """Packages that are installed inside start no service: Debian asks this file first. One that is there stays."""
    try:
        with open(POLICY, "x") as file:
            file.write("#!/bin/sh\nexit 101\n")
    except FileExistsError:
        yield
        return
    try:
        os.chmod(POLICY, 0o755)
        yield
    finally:
        os.unlink(POLICY)


def prepare_servers() -> None:
    """The tests read files from a server of XRootD, and are scraped by one of Prometheus. Who cannot install them goes
    without."""
    missing = {program: package for program, package in SERVERS.items() if not shutil.which(program)}
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        with no_services():
            install_packages([*missing.values()])
    else:
        print(f"no {' and no '.join(missing)} here: what needs it is not tested", flush=True)


def main() -> int:
    parts = {"browser": prepare_browser, "servers": prepare_servers}
    try:
        if len(sys.argv) == 2 and sys.argv[1] in parts:
            parts[sys.argv[1]]()
            return 0
        prepare_system()
        make_venv()
    except SetupFailed as failure:
        print(f"setup: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
