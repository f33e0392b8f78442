"""What the report is made from."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from roastcoffea import _core

if TYPE_CHECKING:
    from roastcoffea.visualization.binning import Array, Tasks

# The columns of the table of chunks that tables and charts use. Of a million chunks all columns take seconds.
CHUNK_COLUMNS = ("t_start", "t_end", "duration", "num_events", "dataset", "file", "entry_start", "entry_stop", "bytes_read",
                 "cpu_user_s", "cpu_system_s", "mem_peak_mb", "worker", "before_process_s", "error", "host")
# Those that tables show.
CHUNK_FIGURES = ("duration", "num_events", "bytes_read", "before_process_s", "cpu_user_s", "cpu_system_s", "mem_peak_mb")
# Of the chart of tasks.
BINS = 300
MOST_BARS = 5000
MOST_ROWS = 100


class Results(Protocol):
    """A collector whose run has ended, or a run from disk."""

    @property
    def metrics(self) -> dict[str, Any] | None: ...

    @property
    def run(self) -> _core.Run | None: ...


class Source:
    """A run and its parts, each of them looked up once."""

    def __init__(self, results: Results) -> None:
        if results.run is None or results.metrics is None:
            raise RuntimeError(
                "there is nothing to report yet: a run can be reported when its `with` block has ended"
            )
        self.results = results
        self.run = results.run
        self.metrics: Mapping[str, Any] = results.metrics
        self._begun: tuple[Future[_core.Table], Future[Tasks | None]] | None = None
        self.summary = _core.Summary(self.run)
        self.tables = {table["id"]: table for table in self.summary.tables if table["shown"]}

    def begin(self) -> None:
        """Begins to make chunks and tasks in threads. Of a large run these two take longest, most of the time without the
        GIL."""
        threads = ThreadPoolExecutor(2)
        self._begun = threads.submit(self._make_chunks), threads.submit(self._make_tasks)
        threads.shutdown(wait=False)

    def _make_chunks(self) -> _core.Table:
        return self.run.chunk_columns(CHUNK_COLUMNS)

    def _make_tasks(self) -> Tasks | None:
        from roastcoffea.visualization.binning import tasks  # on demand: it needs numpy, which a summary does without

        return tasks(self.run, MOST_BARS, MOST_ROWS, BINS)

    @cached_property
    def chunks(self) -> _core.Table:
        return self._begun[0].result() if self._begun is not None else self._make_chunks()

    @cached_property
    def tasks(self) -> Tasks | None:
        return self._begun[1].result() if self._begun is not None else self._make_tasks()

    @cached_property
    def figures(self) -> dict[str, Array]:
        """Columns of numbers of the chunks; absent where a chunk has an error."""
        from roastcoffea.visualization.binning import numbers

        error = self.chunks.column("error.code")
        return {name: numbers(self.chunks.column(name), error) for name in CHUNK_FIGURES}

    @property
    def start(self) -> float | None:
        """When the run began, in seconds since 1970."""
        return self.run.t_start

    @property
    def when(self) -> str:
        """The same in words; empty where it is not known."""
        start = self.start
        # A run of which only the length is known begins at 0.
        if not start:
            return ""
        return datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    @cached_property
    def tracking(self) -> _core.Run | None:
        """The run with the samples of the workers; None where there are none."""
        if self.run.series is not None:
            return self.run
        data = self.metrics.get("tracking_data")
        return _core.Run(series=data) if data is not None else None

    @property
    def notes(self) -> list[str]:
        return self.summary.notes

    def ask(self, name: str) -> Any:
        """The result of a method of the results, or else of the run; None if there is none."""
        for owner in (self.results, self.run):
            method = getattr(owner, name, None)
            if callable(method):
                try:
                    return method()
                except AttributeError as error:
                    # The results ask the run; without a run there is nothing.
                    if error.obj is not self.run or error.name != name:
                        raise
        return None
