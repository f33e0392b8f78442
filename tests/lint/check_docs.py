"""The documentation builds without a warning."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from common import Skip


def check(root: Path) -> list[str]:
    if importlib.util.find_spec("myst_parser") is None:
        raise Skip("there is no Sphinx with MyST")
    with tempfile.TemporaryDirectory() as output:
        result = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b",
                                 "dummy", "docs", output],
                                cwd=root, text=True, capture_output=True, check=False)
    if result.returncode == 0:
        return []
    output_lines = result.stderr.splitlines()
    return [line for line in output_lines if "WARNING:" in line or "ERROR:" in line] or output_lines


if __name__ == "__main__":
    found = check(Path(__file__).resolve().parent.parent.parent)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
