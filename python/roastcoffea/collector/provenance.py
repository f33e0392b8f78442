"""The origin of a run: versions, machine, facility, revision of the user's code.

Texts only; unknown ones are left out, and so are those that the user does not want.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from roastcoffea._core import __version__, describe_host
from roastcoffea.worker.facility import facility, is_off

__all__ = ["checked", "kept", "provenance"]

# The distributions whose versions are recorded.
PACKAGES = ("coffea", "dask", "distributed", "uproot", "awkward", "numpy", "fsspec", "fsspec-xrootd", "xrootd", "aiohttp")
GIT_SECONDS = 2.0
# Variables that tell git where the repository is.
_ELSEWHERE = frozenset(("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"))
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def checked(wanted: Mapping[str, str | bool] | None) -> dict[str, str | bool]:
    """The user's own settings: a text for each name, or whether it is kept at all."""
    settings = dict(wanted or {})
    for name, value in settings.items():
        if not isinstance(name, str) or not isinstance(value, str | bool):
            raise TypeError(f"provenance: a text, True or False is expected for each name, not {name!r}: {value!r}")
    return settings


def provenance(wanted: Mapping[str, str | bool] | None = None) -> dict[str, str]:
    """The versions of this process, its machine and facility, and the revision of its working folder. `wanted` has the
    texts that the user gives, and False for those that are left out."""
    settings = checked(wanted)
    known = {**_found(), **{name: value for name, value in settings.items() if isinstance(value, str)}}
    return kept(known, settings)


def kept(known: Mapping[str, str], settings: Mapping[str, str | bool]) -> dict[str, str]:
    """The texts that neither the user nor the environment has switched off."""
    return {
        name: text for name, text in known.items() if settings.get(name, not is_off(name)) is not False and text
    }


def _found() -> dict[str, str]:
    known = {
        "roastcoffea_version": __version__,
        "python_version": platform.python_version(),
        **_versions(),
        **describe_host(),
        **facility(),
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
            found[f"{name.replace('-', '_')}_version"] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _git_revision() -> str | None:
    """The commit that is checked out where the user works, if that is a repository."""
    if _ELSEWHERE.intersection(os.environ):
        return _ask_git()
    try:
        here = Path.cwd()
        kept = next((folder / ".git" for folder in (here, *here.parents) if (folder / ".git").exists()), None)
    except OSError:  # a folder that was removed, or may not be looked into
        return None
    return None if kept is None else _read_revision(kept) or _ask_git()


def _read_revision(git: Path) -> str | None:
    """Reads the usual files: starting git takes milliseconds."""
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: refs/"):
            return head if _COMMIT.fullmatch(head) else None
        commit = (git / head.removeprefix("ref: ")).read_text().strip()
        return commit if _COMMIT.fullmatch(commit) else None
    except (OSError, ValueError):  # packed away, a worktree of another repository, ...
        return None


def _ask_git() -> str | None:
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],
            capture_output=True, text=True, timeout=GIT_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
