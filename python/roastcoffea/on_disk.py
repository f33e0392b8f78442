"""The measurement of a collector in its `output_dir`: while the run goes on, at its end, and when data is added later."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from roastcoffea._core import Run
from roastcoffea.export.measurements import at_free_name, save_measurement
from roastcoffea.guard import Notes, warn, words
from roastcoffea.live import LiveWriter
from roastcoffea.settings import Settings

__all__ = ["OnDisk"]


class Measured(Protocol):
    """A collector whose run has ended."""

    t_start: float | None
    t_end: float | None

    @property
    def metrics(self) -> dict[str, Any] | None: ...

    @property
    def run(self) -> Run | None: ...

    def _ready_metrics(self) -> dict[str, Any]: ...


class OnDisk:
    """Without an `output_dir` it does nothing."""

    def __init__(self, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self.path: Path | None = None
        self.writer: LiveWriter | None = None  # while the run goes on
        self._unsaved_in = 0  # the process in which unsaved data was added; 0: all is saved

    def begin(self, make_writer: Callable[[Path, bool], LiveWriter]) -> None:
        """Raises now, not after hours, if the folder cannot be written."""
        wanted = self._settings
        if wanted.output_dir is not None:
            self.path, self.writer = at_free_name(
                make_writer, wanted.output_dir, wanted.measurement_name, wanted.overwrite
            )

    def abandon(self) -> None:
        """The run did not begin. One that is interrupted keeps the data written so far."""
        if self.writer is not None:
            self.writer.abandon()

    def end(self, measured: Measured) -> None:
        """Replaces what was written during the run by the whole run."""
        writer, self.writer = self.writer, None
        if writer is None:
            return
        run, metrics = measured.run, measured.metrics
        if run is None or metrics is None or measured.t_start is None or measured.t_end is None:
            writer.abandon()
            return
        try:
            for note in writer.finish(run, metrics, measured.t_start, measured.t_end, self._settings.config):
                self._notes.add(note)
        except Exception as error:
            self._tell_unsaved(error)

    # ---- data that is added after the end ----

    def note_addition(self) -> bool:
        """Whether there is a measurement that lacks it now."""
        if self.path is not None:
            self._unsaved_in = os.getpid()
        return self.path is not None

    def save_again(self, measured: Measured) -> None:
        """Replaces the measurement if data was added."""
        unsaved, self._unsaved_in = self._unsaved_in, 0
        if not unsaved or self.path is None or measured.t_start is None or measured.t_end is None:
            return
        try:
            save_measurement(
                measured._ready_metrics(), measured.t_start, measured.t_end, self.path.parent, self.path.name,
                self._settings.config,
            )
        except Exception as error:
            self._tell_unsaved(error)

    def save_late(self, measured: Measured) -> None:
        """The same when nobody looks any more. A forked process leaves that to its parent. A measurement that was removed
        meanwhile is not saved again."""
        with suppress(Exception):
            if self._unsaved_in == os.getpid() and self.path is not None and self.path.is_dir():
                self.save_again(measured)

    def _tell_unsaved(self, error: Exception) -> None:
        """Warns instead of raising: an exception here would lose the user's results."""
        text = f"the measurement could not be saved: {words(error)}"
        self._notes.add(text)
        warn(f"{text}; save_measurement(another_folder) can still save it", stacklevel=5)
