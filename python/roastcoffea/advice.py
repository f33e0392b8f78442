"""What to pass to the next Runner."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roastcoffea import _core
from roastcoffea.common.answers import Answer

__all__ = ["Advice"]


class Advice(Answer):
    """Settings for the next run of the same analysis; false if there are none.

    Args:
        run: The run of the engine: ``mc.run``. ``mc.advice()`` is the usual way.
    """

    def __init__(self, run: _core.Run) -> None:
        self._engine: _core.Advice = _core.Advice(run)
        known: dict[str, Any] = json.loads(self._engine.json())
        self.headline = known["headline"]  #: one line
        #: Each change: setting, value, the finding that it comes from, and its prediction.
        self.items: list[dict[str, Any]] = known["items"]
        self.prediction: dict[str, Any] = known["prediction"]  #: of all changes together
        self.runner_arguments: dict[str, Any] = known["runner_arguments"]  #: of processor.Runner
        self.executor_arguments: dict[str, Any] = known["executor_arguments"]  #: of processor.FuturesExecutor
        self.cluster_arguments: dict[str, Any] = known["cluster_arguments"]  #: of a Dask cluster
        self.preload: dict[str, list[str]] = known["preload"]  #: {dataset: branches}
        self.exclude_files: dict[str, list[str]] = known["exclude_files"]  #: {dataset: files}
        self.first_files: dict[str, list[str]] = known["first_files"]  #: {dataset: files}, the longest first

    @property
    def workers(self) -> int | None:
        """How many workers to start; None: as many as before."""
        return self._setting("workers", "workers")

    @property
    def threads(self) -> int | None:
        """Threads of each worker; None: as many as before."""
        return self._setting("workers", "threads")

    def _setting(self, setting: str, key: str) -> int | None:
        return next((item["value"][key] for item in self.items if item["setting"] == setting), None)

    def fileset(self, fileset: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
        """A copy of a fileset: with "preload", without the files to leave out, and with the files to list first at the
        beginning of their datasets, which come first as well. A dataset without any file left is left out.

        Args:
            fileset: The fileset of the run, or the path of its JSON file.
        """
        if isinstance(fileset, (str, os.PathLike)):
            fileset = json.loads(Path(fileset).read_text())
        if not isinstance(fileset, Mapping):
            raise TypeError(f"a fileset is expected, {{dataset: files}}, not {type(fileset).__name__}")
        first = [name for name in self.first_files if name in fileset]
        names = [*first, *(name for name in fileset if name not in self.first_files)]
        made = {name: self._dataset(name, fileset[name]) for name in names}
        return {name: entry for name, entry in made.items() if _files(entry)}

    def _dataset(self, name: str, entry: Any) -> Any:
        files = _files(entry)
        if not isinstance(files, (Mapping, list)):
            raise TypeError(f"the files of dataset {name!r} must be a list or a mapping, not {type(files).__name__}")
        dropped = set(self.exclude_files.get(name, ()))
        early = [file for file in self.first_files.get(name, ()) if file in files]
        chosen = [file for file in dict.fromkeys([*early, *files]) if file not in dropped]
        kept = {file: files[file] for file in chosen} if isinstance(files, Mapping) else chosen
        preload = {"preload": self.preload[name]} if name in self.preload else {}
        if isinstance(entry, Mapping):
            return {**entry, "files": kept, **preload}
        return {"files": kept, **preload} if preload else kept

    def _draw(self, width: int = 80, color: bool = False) -> str:
        return self._engine.draw(width)  # it has no colours

    def __bool__(self) -> bool:
        return bool(self.items)


def _files(entry: Any) -> Any:
    return entry["files"] if isinstance(entry, Mapping) else entry
