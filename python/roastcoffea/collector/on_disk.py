"""The measurement of a collector in its `output_dir`: while the run goes on, at its end, and when data is added later."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from roastcoffea._core import Run
from roastcoffea.export.measurements import at_free_name, save_measurement
from roastcoffea.common.guard import Notes, warn, words
from roastcoffea.collector.live_writer import LiveWriter
from roastcoffea.collector.settings import Settings

__all__ = ["OnDisk"]


class Measured(Protocol):
    """A collector whose run has ended."""

    t_start: float | None
    t_end: float | None

    @property
    def metrics(self) -> dict[str, Any] | None: ...

    @property
    def run(self) -> Run | None: ...

    def _lacks(self) -> str | None:
        """Why a part of what was measured is not in the run."""

    def _ready_metrics(self) -> dict[str, Any]: ...


class OnDisk:
    """Without an `output_dir` it does nothing."""

    def __init__(self, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self.path: Path | None = None
        self.writer: LiveWriter | None = None  # while the run goes on
        self._saved_without: str | None = None  # why a part of what was measured is not in it
        self._unsaved_in = 0  # the process in which unsaved data was added; 0: all is saved

    def begin(self, make_writer: Callable[[Path, bool], LiveWriter]) -> None:
        """Raises now, not after hours, if the folder cannot be written."""
        wanted = self._settings
        if wanted.output_dir is not None:
            folder = Path(wanted.output_dir).absolute()  # the user may change the working directory
            self.path, self.writer = at_free_name(make_writer, folder, wanted.measurement_name, wanted.overwrite)

    def abandon(self) -> None:
        """The run did not begin."""
        if self.writer is not None:
            self.writer.abandon()
            self.writer = None

    def keep(self, reason: str) -> None:
        """The whole run cannot be saved: what was written stays as it is."""
        if self.writer is not None:
            self.writer.keep(reason)
            self.writer = None

    def end(self, measured: Measured) -> None:
        """Replaces what was written during the run by the whole run; never by less."""
        writer = self.writer
        if writer is None:
            return
        try:
            failure = self._finish(writer, measured)
        except Exception as error:
            failure = words(error)
        if failure is not None:
            self._tell_unsaved(failure)
            self.keep(failure)
        self.writer = None

    def _finish(self, writer: LiveWriter, measured: Measured) -> str | None:
        """Why the run could not be saved."""
        run, metrics, lacks = measured.run, measured.metrics, measured._lacks()
        if run is None or metrics is None or measured.t_start is None or measured.t_end is None:
            return lacks or "the run has no beginning or no end"
        if lacks is not None and writer.has_more_than(run):
            return lacks
        for note in writer.finish(run, metrics, measured.t_start, measured.t_end, self._settings.config):
            self._notes.add(note)
        self._saved_without = lacks
        return None

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
            metrics = measured._ready_metrics()
            lacks = measured._lacks()
            if lacks is not None and lacks != self._saved_without:  # what is there may have more
                return self._tell_unsaved(lacks)
            save_measurement(
                metrics, measured.t_start, measured.t_end, self.path.parent, self.path.name,
                self._settings.config,
            )
        except Exception as error:
            self._tell_unsaved(words(error))

    def save_late(self, measured: Measured) -> None:
        """The same when nobody looks any more. A forked process leaves that to its parent. A measurement that was removed
        meanwhile is not saved again."""
        with suppress(Exception):
            if self._unsaved_in == os.getpid() and self.path is not None and self.path.is_dir():
                self.save_again(measured)

    def _tell_unsaved(self, reason: str) -> None:
        """Warns instead of raising: an exception here would lose the user's results."""
        text = f"the measurement could not be saved: {reason}"
        self._notes.add(text)
        warn(f"{text}; save_measurement(another_folder) can still save it", stacklevel=5)
