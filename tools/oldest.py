"""Runs a core of the tests with the oldest packages that pyproject.toml declares: `oldest.py [TEST ...]`.

They are installed into build/oldest/, which is kept until a bound changes. The package itself is the one that is built in
build/py for .venv.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from build import BUILD, ROOT, BuildFailed, run

VENV = BUILD / "oldest"
# Of every engine that an extra brings, of plots and report, and of the collector on a real run.
CORE = ("tests/python/test_package.py", "tests/python/test_plots.py", "tests/python/test_report.py",
        "tests/python/test_reporter.py", "tests/e2e/test_engine_on_coffea.py", "tests/e2e/test_collector.py",
        "tests/e2e/test_local_backend.py", "tests/e2e/test_dask_backend.py", "tests/e2e/test_reads.py")
# What the tests need besides; their bounds are not ours.
TOOLS = ("pytest", "pyarrow", "aiohttp", "loky", "meson", "meson-python", "ninja", "pyyaml", "jinja2")


def oldest_packages() -> list[str]:
    """Every package of an extra, in its oldest version."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return sorted({needed.replace(">=", "==") for name, extra in extras.items() if name != "all" for needed in extra})


def make_venv() -> Path:
    """The Python of the environment."""
    python = VENV / "bin" / "python"
    stamp, wanted = VENV / "made-of.txt", "\n".join([sys.version, *oldest_packages(), *TOOLS])
    if not (stamp.is_file() and stamp.read_text() == wanted):
        print(f"making an environment with {' '.join(oldest_packages())} ...", flush=True)
        run([sys.executable, "-m", "venv", "--clear", VENV])
        run([python, "-m", "pip", "install", "--disable-pip-version-check", *oldest_packages(), *TOOLS])
        stamp.write_text(wanted)
    return python


def main(tests: list[str]) -> int:
    try:
        python = make_venv()
        run([python, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
             "--force-reinstall", "--config-settings=build-dir=build/py", "."])
    except BuildFailed as failure:
        print(f"oldest: this failed: {failure}", file=sys.stderr)
        return 1
    return subprocess.run([python, "-m", "pytest", "-q", *(tests or CORE)], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
