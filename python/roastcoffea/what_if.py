"""How long a run would take with other workers, chunks, files or storage."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roastcoffea import _core
from roastcoffea.common.answers import Answer

if TYPE_CHECKING:
    from roastcoffea._core import Run, _SummaryTable

__all__ = ["WhatIf"]


class WhatIf(Answer):
    """A recorded run, played again: see ``mc.what_if()``.

    A ValueError if the run has no records of chunks, or an option cannot be.

    Args:
        run: The run of the engine: ``mc.run``.
        workers: The number of workers.
        threads: Threads of each worker.
        chunksize: Events per chunk.
        without_files: Files to leave out.
        times: How many times as many files, like those of the run.
        preload: Whether process() waits for all of its reads at once instead of one after the other.
        at_rate: What the storage gives to all workers together: bytes per second, or a text like "2Gbps" or "250MB/s".
    """

    def __init__(
        self,
        run: Run,
        *,
        workers: int | None = None,
        threads: int | None = None,
        chunksize: int | None = None,
        without_files: Iterable[str] = (),
        times: int | None = None,
        preload: bool = False,
        at_rate: float | str | None = None,
    ) -> None:
        self._engine: _core.WhatIf = _core.WhatIf(
            run, workers=workers, threads=threads, chunksize=chunksize, without_files=without_files,
            times=times, preload=preload, at_rate=at_rate,
        )
        known: dict[str, Any] = json.loads(self._engine.json())
        self.headline = known["headline"]  #: the answer in a sentence
        self.wall_time: float = known["wall_time"]  #: s, predicted
        #: The ends of the interval of 90 %; None: too few chunks for one.
        self.low: float | None = known.get("low")
        self.high: float | None = known.get("high")
        self.recorded_wall_time: float = known["recorded_wall_time"]
        self.replayed_wall_time: float = known["replayed_wall_time"]  #: the recorded run, played again
        self.workers: float = known["workers"]
        self.threads: float = known["threads"]  #: of all workers
        self.chunks: int = known["chunks"]
        self.limiting: str = known["limiting"]  #: the name of the limit that matters most
        self.limits: list[dict[str, Any]] = known["limits"]
        self.budget: dict[str, float] = known["budget"]  #: core-seconds
        self.recorded_budget: dict[str, float] = known["recorded_budget"]
        self.notes: list[str] = known["notes"]  #: what the run cannot tell

    @property
    def tables(self) -> list[_SummaryTable]:
        """The tables as texts: id, title, columns, rows, caption."""
        return self._engine.tables()
