"""Other runs of an analysis: they tell what runs differ by."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from roastcoffea._core import Run

__all__ = ["find_repeats", "load"]

_LEAST = 3  # fewer tell nothing
_MOST = 12  # the latest; more would take long to read and tell little more
_MOST_BYTES = 100 << 20  # of all of them: some seconds of reading
_MOST_LISTED = 2000  # folders that are looked at
#: Runs are repeats if these are the same; those that differ in the others are groups of their own.
_SAME = ("processor", "executor", "backend")
_GROUP = ("git_revision", "chunksize", "host")


def find_repeats(paths: Iterable[str | os.PathLike[str]]) -> list[list[Path]]:
    """Finished measurements beside those in `paths` that are of the same processor, files and executor, in groups that
    differ in no setting. Only small files are read."""
    known = [Path(one).resolve() for one in paths]
    wanted = [about for one in known if (about := _about(one)) is not None]
    if len(wanted) != len(known) or any(_identity(one) != _identity(wanted[0]) for one in wanted):
        return []
    found: list[tuple[str, tuple[Any, ...], Path]] = []
    for folder in sorted({one.parent for one in known}):
        for path in _folders(folder):
            about = None if path in known else _about(path)
            if about is not None and about.get("outcome") in (None, "done") and _identity(about) == _identity(wanted[0]):
                found.append((str(about.get("t_start", "")), tuple(_text(about, key) for key in _GROUP), path))
    groups: dict[tuple[Any, ...], list[Path]] = {}
    for _, group, path in sorted(found, key=lambda one: one[0])[-_MOST:]:
        groups.setdefault(group, []).append(path)
    kept = [group for group in groups.values() if len(group) > 1]
    return kept if sum(map(len, kept)) >= _LEAST else []


def _folders(folder: Path) -> Sequence[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")]
    except OSError:
        return []
    return [folder / name for name in sorted(names)[-_MOST_LISTED:]]


def _about(path: Path) -> dict[str, Any] | None:
    """None: no finished measurement that says what it is of."""
    try:
        if (path / "live").exists():
            return None
        about = json.loads((path / "metadata.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and isinstance(about.get("provenance"), dict) else None


def _text(about: dict[str, Any], key: str) -> Any:
    return about["provenance"].get(key)


def _identity(about: dict[str, Any]) -> tuple[Any, ...]:
    """The datasets, and the events, say which files it read."""
    metrics = about.get("metrics")
    events = metrics.get("total_events") if isinstance(metrics, dict) else None
    return (about.get("datasets"), events, *(_text(about, key) for key in _SAME))


def load(groups: Iterable[Iterable[Path]]) -> list[list[Run]]:
    """The runs of these measurements; those that cannot be read, or are too large together, are left out."""
    from roastcoffea.export.measurements import read_measurement

    found, size = [], 0
    for group in groups:
        runs = []
        for path in reversed(list(group)):  # the latest first
            try:
                size += (path / "run.sqlite").stat().st_size
                if size <= _MOST_BYTES:
                    runs.append(read_measurement(path).run)
            except (OSError, ValueError):
                continue
        found.append(runs)
    return found
