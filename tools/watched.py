"""The package with an extension that sanitizers watch, for an interpreter that they do not."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

from build import ROOT, build

SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:"
                    "allocator_may_return_null=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
LIBRARIES = {"asan-ext": ("libasan.so", "libubsan.so"), "tsan": ("libtsan.so",)}


def build_extension(configuration: str, *targets: str) -> Path:
    """The build directory, with the extension and these targets up to date."""
    return build(configuration, f"ext/_core{sysconfig.get_config_var('EXT_SUFFIX')}", *targets)


def watched_package(configuration: str) -> dict[str, str]:
    """The environment in which Python imports the extension of this configuration, which is built."""
    directory = build_extension(configuration)
    package = directory / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python", package)
    for extension in (directory / "ext").glob("_core*.so"):
        shutil.copy(extension, package / "roastcoffea")
    libraries = [
        subprocess.run(["cc", f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE,
                       text=True).stdout.strip()
        for name in LIBRARIES[configuration]
    ]
    return {"LD_PRELOAD": " ".join(libraries), "PYTHONPATH": str(package), "PYTHONMALLOC": "malloc"}
