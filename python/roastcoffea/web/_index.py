"""The measurements below a folder, kept up to date with as little reading as possible."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from roastcoffea import _core

__all__ = ["Index", "Unreadable"]

# The folders are looked at once in so many seconds, however many ask.
PACE = 1.0
DEPTH = 16  # of folders in folders, as the engine searches them
MOST_FOLDERS = 20_000  # that are watched
# A folder with one of the first two may become a measurement. What is in the others may change it.
SIGNS = ("run.sqlite", "metadata.json")
WRITTEN = (*SIGNS, "run.sqlite-wal", "metrics.json")
# What a row of the table needs.
KEYS = ("name", "state", "when", "outcome", "wall_time", "total_events", "data_rate_gbps", "useful_rate_gbps",
        "event_rate_wall_khz", "avg_workers", "core_efficiency", "chunksize", "executor", "processor", "config", "error")
# What it shows as a text that the engine makes, as in `roast ls`: unit and factor.
FIGURES = {"wall_time": ("s", 1), "total_events": ("count", 1), "data_rate_gbps": ("Gbit/s", 1),
           "event_rate_wall_khz": ("kHz", 1), "avg_workers": ("1", 1), "core_efficiency": ("%", 100)}
SENT = (*KEYS, *(f"{key}_text" for key in FIGURES))


class Unreadable(Exception):
    """A measurement that is not there, or that must not be read; the text says why."""


def _stamp(path: Path) -> Any:
    """Changes when something is added to a folder or removed from it, or written to a file; None: it is not there."""
    try:
        info = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return info.st_mtime_ns, 0 if stat.S_ISDIR(info.st_mode) else info.st_size


def _stamps(path: Path, files: Iterable[str]) -> list[Any]:
    return [_stamp(path), *(_stamp(path / file) for file in files)]


class Folder(NamedTuple):
    stamps: list[Any]  # of the folder, and of the signs in it
    depth: int
    inside: dict[str, int]  # the folders in it, with a number that changes when one is replaced
    signs: list[str]


def _folder(path: Path, depth: int) -> Folder:
    """As it is now. If it changes meanwhile, its stamps are older than what is in it: it is looked into again."""
    before = _stamp(path)
    inside, signs = {}, []
    try:
        with os.scandir(path) as entries:
            for one in entries:
                if one.name in SIGNS:
                    signs.append(one.name)
                # The engine does not look into hidden folders either.
                elif not one.name.startswith(".") and one.is_dir(follow_symlinks=False):
                    inside[one.name] = one.inode()
    except OSError:
        pass
    return Folder([before, *(_stamp(path / sign) for sign in signs)], depth, inside, signs)


def _shown(path: str) -> str:
    """As the engine tells it: with U+FFFD for bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _real(path: str, folder: Path) -> str | None:
    """The path of which the engine told; bytes that are not UTF-8 are lost in it. None: it is gone."""
    if os.path.lexists(path):
        return path
    found = folder
    for part in Path(path).relative_to(_shown(str(folder))).parts:
        try:
            found /= next(name for name in os.listdir(found) if _shown(name) == part)
        except (OSError, StopIteration):
            return None
    return str(found)


class Index:
    """Finished measurements are read once; those that are being written are read again."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).resolve(strict=True)
        # By the clock: no version of a board that was here before is one of this board's.
        self.version = self._first = time.time_ns() // 1000
        self._runs: dict[str, dict[str, Any]] = {}  # by name
        self._rows: dict[str, list[Any]] = {}  # of the table
        self._changed: dict[str, int] = {}  # the version in which each became what it is
        self._gone: dict[str, int] = {}
        self._written: dict[str, Any] = {}  # when, of those that are not finished
        self._folders: dict[Path, Folder] = {}  # those that are no measurements
        self._looked = -PACE
        self._lock = threading.Lock()

    # ---- looking ----

    def look(self) -> None:
        """Brings the list up to date."""
        with self._lock:
            if time.monotonic() - self._looked < PACE:
                return
            if not self._folders:
                self._add(self.folder, 0)
            for path, known in list(self._folders.items()):
                if path in self._folders and known.stamps != _stamps(path, known.signs):
                    self._look_into(path, known.depth)
            self._look_at_live()
            self._looked = time.monotonic()

    def _add(self, path: Path, depth: int) -> None:
        """What is in a folder that was not there before: a measurement, or folders with some."""
        try:
            runs = json.loads(_core.list_runs(path))
        except (OSError, ValueError):  # it is gone again
            self._forget([path])
            return
        found = {self._name(run["path"]): (run, _real(run["path"], self.folder)) for run in runs}
        self._take({name: {**run, "name": name, "path": real} for name, (run, real) in found.items() if real is not None}, [])
        self._watch(path, depth)

    def _name(self, path: str) -> str:
        """As it is shown and asked for: the path below the folder."""
        folder = _shown(str(self.folder))
        name = Path(_shown(path)).relative_to(folder).as_posix()
        return name if name != "." else Path(folder).name

    def _watch(self, path: Path, depth: int) -> None:
        """Remembers what a folder has, and the folders in it that are no measurements. One that changes meanwhile is looked
        into again."""
        if self._name(str(path)) in self._runs or depth > DEPTH or len(self._folders) >= MOST_FOLDERS:
            return
        self._folders[path] = known = _folder(path, depth)
        for name in known.inside:
            self._watch(path / name, depth + 1)

    def _look_into(self, path: Path, depth: int) -> None:
        before = self._folders[path].inside
        self._folders[path] = known = _folder(path, depth)
        if known.signs or known.stamps[0] is None:  # it may have become a measurement, or is gone
            self._forget([path])
            self._add(path, depth)
            return
        self._forget(path / name for name in before if known.inside.get(name) != before[name])
        for name in known.inside:
            if known.inside[name] != before.get(name):
                self._add(path / name, depth + 1)

    def _forget(self, paths: Iterable[Path]) -> None:
        """These, and what is in them."""
        lost = set(paths)
        if not lost:
            return

        def is_lost(path: Path) -> bool:
            return path in lost or not lost.isdisjoint(path.parents)

        self._take({}, [name for name, run in self._runs.items() if is_lost(Path(run["path"]))])
        for folder in [one for one in self._folders if is_lost(one)]:
            del self._folders[folder]

    def _look_at_live(self) -> None:
        for name, run in list(self._runs.items()):
            if run["state"] not in ("live", "unfinished") and not run.get("error"):
                continue
            # A writer may end without a trace. One that was killed, or works on another machine, is seen by its file alone.
            # One that could not be read may be a copy that is not complete yet.
            path = Path(run["path"])
            written = _stamps(path, WRITTEN)[1:]
            if run["state"] != "live" and written == self._written.get(name):
                continue
            self._written[name] = written
            try:
                found = json.loads(_core.list_runs(run["path"]))
            except (OSError, ValueError):
                found = []
            if found:
                self._take({name: {**found[0], "name": name, "path": run["path"]}}, [])
            else:
                self._take({}, [name])
                self._watch(path, len(path.relative_to(self.folder).parts))

    def _take(self, found: dict[str, dict[str, Any]], gone: list[str]) -> None:
        changed = [name for name, run in found.items() if self._runs.get(name) != run]
        if not changed and not gone:
            return
        self.version += 1
        for name in changed:
            self._runs[name] = found[name]
            self._rows[name] = _row(found[name])
            self._changed[name] = self.version
            self._gone.pop(name, None)
        for name in gone:
            del self._runs[name], self._rows[name], self._changed[name]
            self._gone[name] = self.version

    # ---- answers ----

    def since(self, version: int) -> dict[str, Any]:
        """What a table that knows `version` lacks: rows as lists, in the order of SENT."""
        self.look()
        with self._lock:
            version = version if self._first <= version <= self.version else 0
            rows = [row for name, row in self._rows.items() if self._changed[name] > version]
            gone = [name for name, when in self._gone.items() if when > version]
            notice = (f"There are {MOST_FOLDERS:,} folders here or more. New runs in some of them are not seen: start the board "
                      "again, or in a folder further down." if len(self._folders) >= MOST_FOLDERS else "")
            return {"version": self.version, "keys": SENT, "rows": rows, "gone": gone, "all": version == 0, "notice": notice}

    def find(self, name: str) -> dict[str, Any]:
        """The measurement of that name. Only what was found below the folder can be asked for."""
        self.look()
        with self._lock:
            run = self._runs.get(name)
        if run is None:
            raise Unreadable(f"there is no measurement {name!r} here")
        _check_files(Path(run["path"]))
        return run


def _row(run: dict[str, Any]) -> list[Any]:
    return [*(run.get(key) for key in KEYS), *(_text(run.get(key), *figure) for key, figure in FIGURES.items())]


def _text(value: float | None, unit: str, factor: int) -> str:
    return _core.format_value(value if value is None or factor == 1 else factor * value, unit)


def _check_files(folder: Path) -> None:
    """A link or a pipe in a measurement would lead somewhere else, or block; so would a link in its place."""
    try:
        if os.path.realpath(folder) != str(folder):
            raise Unreadable("the measurement is a link now")
        for entry in os.scandir(folder):
            if not (stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode) or entry.is_dir(follow_symlinks=False)):
                raise Unreadable(f"{entry.name!r} in this measurement is no plain file")
    except OSError as error:
        raise Unreadable(f"the measurement cannot be read: {error.strerror}") from error
