"""No word that codespell knows as misspelt: pages, comments, texts of the program. words.txt has words that are right.

Tests are not looked at: they misspell on purpose.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from common import Skip, c_files, files, python_files
from check_links import pages

WORDS = Path(__file__).with_name("words.txt")
# Names in code, which may be cut, and addresses.
NO_WORDS = r"`[^`\n]*`|https?://\S+|\b\w*_\w*\b|\\[nt]"


def check(root: Path) -> list[str]:
    if importlib.util.find_spec("codespell_lib") is None:
        raise Skip("there is no codespell")
    chosen = [*pages(root), *c_files(root), *python_files(root), *files(root, ("src", "cli"), (".def",))]
    names = [str(name) for name in (path.relative_to(root) for path in chosen) if name.parts[0] != "tests"]
    result = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--builtin", "clear,rare", "--ignore-words", str(WORDS),
         "--ignore-regex", NO_WORDS, *names],
        cwd=root, text=True, capture_output=True, check=False)
    words = result.stdout.splitlines()
    return words if words or result.returncode == 0 else ["codespell failed:", *result.stderr.splitlines()]


if __name__ == "__main__":
    found = check(Path(__file__).resolve().parent.parent.parent)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
