"""Everything compiles with clang, too, and without a warning."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from common import Skip


def check(root: Path) -> list[str]:
    if shutil.which("clang") is None:
        raise Skip("there is no clang")
    result = subprocess.run([sys.executable, "tools/build.py", "clang"], cwd=root, text=True,
                            capture_output=True, check=False)
    if result.returncode == 0:
        return []
    output = (result.stdout + result.stderr).splitlines()
    return [line for line in output if "error:" in line or "ERROR:" in line] or output


if __name__ == "__main__":
    found = check(Path(__file__).resolve().parent.parent.parent)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
