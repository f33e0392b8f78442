"""The state of the machine that a table was measured on."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

PACKAGES = ("coffea", "dask", "distributed", "uproot", "awkward", "numpy")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _compiler(programs: Path) -> str | None:
    """What Meson wrote down of the compiler that built the C programs."""
    try:
        found = json.loads((programs / "meson-info/intro-compilers.json").read_text())
        compiler = found["host"]["c"]
    except (OSError, ValueError, KeyError):
        return None
    return f"{compiler['id']} {compiler['version']}"


def _version_in(folder: Path | None) -> str | None:
    """Of the roastcoffea that lies there."""
    if folder is None:
        return None
    found = distributions(name="roastcoffea", path=[str(folder)])
    return next((one.version for one in found), None)


def state(programs: Path, theirs: Path | None) -> dict[str, Any]:
    import roastcoffea

    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "load_average": list(os.getloadavg()),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "python_compiler": platform.python_compiler(),
        "compiler": _compiler(programs),
        "versions": {"roastcoffea": roastcoffea.__version__, "beside roastcoffea": _version_in(theirs),
                     **{name: _version(name) for name in PACKAGES}},
    }
