"""Where a run comes from: versions, machine, revision of the user's own code.

Texts only. What is not known is left out.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess

from roastcoffea._core import __version__, describe_host

__all__ = ["provenance"]

# The distributions whose version tells how a run came about.
PACKAGES = ("coffea", "dask", "distributed", "uproot", "awkward", "numpy")
GIT_SECONDS = 2.0


def provenance() -> dict[str, str]:
    """What can be told of this process, its machine and the folder that it works in."""
    known = {
        "roastcoffea_version": __version__,
        "python_version": platform.python_version(),
        **_versions(),
        **describe_host(),
    }
    revision = _git_revision()
    if revision:
        known["git_revision"] = revision
    return known


@functools.cache
def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[f"{name}_version"] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _git_revision() -> str | None:
    """The commit that is checked out where the user works, if that is a repository."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],
            capture_output=True, text=True, timeout=GIT_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None

