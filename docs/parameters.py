"""Words for parameters that mean the same in many functions, and for those of the engine, whose docstrings have no list.

Used by conf.py for the pages of the API; tests/python/test_api_pages.py checks that no parameter is left without words. An
entry "name.parameter" comes before "parameter"; a parameter that the docstring itself describes needs none.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

WORDS = {
    # what is measured
    "metrics": "What ``get_metrics()`` returned, or a run.",
    "chunk_metrics": "``mc.chunk_metrics``: a mapping for each chunk; or a run.",
    "section_metrics": "A mapping for each section that was measured elsewhere.",
    "tracking_data": "``mc.tracking_data``, the samples of the workers; or a run.",
    "span_metrics": "``mc.span_metrics``, what the engine measured of its tasks; or a run.",
    "chunk_info": "``metrics[\"chunk_info\"]``, or a run.",
    "coffea_report": "The report that ``Runner`` returns with ``savemetrics=True``.",
    "custom_metrics": "``{dataset: {\"entries\", \"duration\", ...}}``, in place of the totals of the report.",
    "processor_name": "The name of the processor's class: its tasks are the processing ones.",
    "t_start": "The start of the run, in seconds since 1970.",
    "t_end": "The end of the run, in seconds since 1970.",
    "workflow_metrics": "What ``aggregate_workflow_metrics`` returned.",
    "worker_metrics": "What a parser of tracking data returned.",
    "cumulative_worker_metrics": "``{(context, task, activity, unit): value}``, as Dask's spans have it.",
    "columns": "The columns of a report, as Coffea names them.",
    # plots
    "output_path": "The file to save the figure in; None: none.",
    "figsize": "Width and height in inches.",
    "title": "The title above the plot.",
    "bins": "The number of bins.",
    "max_legend_entries": "How many workers the legend names at most.",
    "top": "How many rows are shown at most.",
    "budget": "``mc.budget()``, ``mc.budget(by=...)``, metrics that have one, or a run.",
    "scaling": "What ``roastcoffea.scaling()`` returned.",
    "plot_all.run_or_metrics": "A collector, a run, a loaded measurement, or a mapping of metrics.",
    "plot_all.folder": "It is made if it is missing.",
    "plot_all.format": "Of the files, as matplotlib knows it: png, pdf, svg.",
    # tables
    "format_findings_table.run": "``mc.run``.",
    "format_budget_table.run": "``mc.run``.",
    "print_tables.console": "The console of rich; by default one for standard output.",
    "print_tables.run": "The run behind the metrics.",
    "print_tables.full": "Whether to print all tables.",
    # in process()
    "track_metrics.func": "The method ``process`` of a processor, or a function that is one.",
    "processor": "The processor (``self``); in a function, its events or None.",
    "track_time.name": "The name of the section.",
    "track_memory.name": "The name of the section.",
    "track_bytes.name": "The name of the section.",
    "events": "The events of the chunk: the bytes are those that their file was asked for.",
    "ChunkLog.chunks": "A mapping for each chunk, or the bytes of a packed log.",
    "ChunkLog.from_bytes.data": "The bytes of ``to_bytes()``.",
    "ChunkLog.merge_unique.chunks": "Another log, or mappings.",
    "SavedRun.measurement": "What was read from disk: ``open_run(path)`` makes it.",
    # backends
    "MetricsAggregator.backend": "The name of the backend that collected the data.",
    "get_parser.name": "The name of the backend.",
    "coffea_metrics.MetricsCollector.client": "As of ``roastcoffea.MetricsCollector``.",
    "coffea_metrics.MetricsCollector.second": "The folder of the measurement, or a backend.",
    "DaskMetricsBackend.client": "The client of the cluster.",
    "interval": "Seconds between two samples of the workers.",
    "create_span.name": "The name of the span.",
    "span_info": "What ``create_span`` returned.",
    "ran": "What the collector itself knows about the run.",
    "host": "The name of the machine.",
    "engine": "What ``begin`` returned.",
    "worker": "The name or address of the worker.",
    "when": "A datetime, or seconds since 1970; None: now.",
    "workers": "``{worker: {column: value}}``.",
    "cores": "Threads of the worker.",
    "memory_limit": "Bytes that the worker may use.",
    "more": "The series to append.",
    "other": "The series to compare with.",
    "data": "The data to read: a dict, or the bytes of ``to_bytes()``.",
    "sample.columns": "``memory``, ``cpu`` and the other columns, by name.",
    "key": "The key of the task.",
    "kind": "``processing``, ``reduction`` or ``other``.",
    "prefix": "The beginning of the keys of the tasks.",
    "ready": "When the task could have run.",
    "sent": "When it was sent to the worker.",
    "start": "When it started.",
    "stop": "When it stopped.",
    "ended": "When the engine learned the outcome; by default `stop`.",
    "outcome": "``done``, ``raised``, ``lost`` or ``recomputed``.",
    "exception": "``\"ValueError: message\"``.",
    "Attempts.add.name": "The engine's name for tasks of this kind.",
    "thread": "The kernel's number of the thread.",
    "transfer_seconds": "Time to fetch its inputs.",
    "deserialize_seconds": "Time to unpack it.",
    "disk_seconds": "Time to read spilled data.",
    "nbytes": "Size of its result in bytes.",
    "departed": "Whether a lost try was lost with its worker.",
    "expected": "Whether the worker was told to leave.",
    "running": "How many tasks it was running.",
    "lost": "Keys of tasks whose needed results were lost with it.",
    "records.foreign": "Whether tries of other clients are included.",
    "records.start": "The number of the first try.",
    "records.stop": "The number behind the last one.",
}


def described(docstring: str | None) -> set[str]:
    """The parameters that a docstring describes: those below "Args:"."""
    _, _, rest = inspect.cleandoc(docstring or "").partition("\nArgs:\n")
    section = re.split(r"^(?=\S)", rest, maxsplit=1, flags=re.M)[0]
    return set(re.findall(r"^    (\w+):", section, re.M))


def parameters(thing: Any) -> list[str]:
    """The names of the parameters of a function or class, without those that are only handed on (*args)."""
    found = inspect.signature(thing).parameters
    return [name for name in found if name not in ("self", "cls", "args", "kwargs", "options")]


def words_for(name: str, parameter: str) -> str | None:
    """`name` is dotted: the longest end of it that has an entry decides."""
    parts = name.split(".")
    places = [".".join([*parts[i:], parameter]) for i in range(len(parts))]
    return next((WORDS[place] for place in [*places, parameter] if place in WORDS), None)


def added(name: str, thing: Any, docstring: str | None) -> Iterator[tuple[str, str | None]]:
    """The parameters that the docstring does not describe, with their words; None: there are none."""
    known = described(docstring)
    for parameter in parameters(thing):
        if parameter not in known:
            yield parameter, words_for(name, parameter)
