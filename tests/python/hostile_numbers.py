"""Numbers at the ends of their range."""

from __future__ import annotations

from hostile import Attributes, KEY, case, used, with_factory
from samples import Plain

from roastcoffea import _core, track_bytes
from roastcoffea._core import ChunkLog, Run, WorkerSeries
from roastcoffea.aggregation.reports import sum_reports
from roastcoffea.backends.dask.task_watch import TaskWatch

ENDS = (2**63 - 1, -(2**63), 9.2e18, -9.2e18, 1e308, -1e308, float("inf"), float("nan"), 2**200)


@case
def chunks_with_numbers_at_the_ends():
    whole = ["num_events", "bytes_read", "entry_start", "entry_stop", "accessed_bytes", "pid", "thread",
             "minor_faults", "read_requests", "faults", "metadata_bytes"]
    real = ["t_start", "t_end", "duration", "mem_before_mb", "mem_after_mb", "mem_peak_mb", "mem_delta_mb",
            "cpu_user_s", "cpu_system_s", "before_process_s", "io_wait_s"]
    for first in ENDS:
        for second in ENDS:
            chunks = []
            for number in (first, second, first, second):
                chunk = {key: number for key in whole + real}
                chunk |= {"timing": {"a": 1.0}, "bytes": {"b": 5}, "file": "f", "dataset": "d"}
                chunks.append(chunk)
                chunks.append({"duration": 1.0, "timing": {"a": number}, "memory": {"a": number},
                               "bytes": {"a": number}, "dataset": "d"})
            kept = ChunkLog()
            for chunk in chunks:
                try:
                    kept = kept + ChunkLog([chunk])
                except (ValueError, OverflowError):
                    pass
            for chunk in kept:
                dict(chunk)
            sum_reports([{"entries": 1, "bytesread": 1, "processtime": 1.0, "chunks": 1}], kept)
            used(Run(chunks=kept, t_start=0, t_end=1))


@case
def reports_with_numbers_at_the_ends():
    for number in ENDS:
        try:
            used(Run(report={"entries": number, "bytesread": number, "chunks": number,
                             "processtime": number}, t_start=0, t_end=1))
        except (ValueError, OverflowError):
            pass


@case
def events_with_numbers_at_the_ends():
    for first in ENDS:
        for second in ENDS:
            numbers = iter([first, second] * 50)

            class Source:
                @property
                def num_requested_bytes(self, numbers=numbers):
                    return next(numbers)

                num_requests = first

            class Mapping:
                preloaded_arrays = {"a": 1}
                _start, _stop = first, second
                _cache = {}

                def extract_column(self, handle):
                    return Attributes(nbytes=first, layout=Attributes(
                        offsets=Attributes(data=Attributes(nbytes=first)),
                        content=Attributes(data=Attributes(nbytes=second))))

            mapping = Mapping()
            events = with_factory(file_handle=Attributes(source=Source()), _mapping=mapping,
                                  access_log=[])
            events.metadata.update(entrystart=first, entrystop=second)

            def body(self, events, mapping=mapping):
                for _ in range(5):
                    mapping.extract_column(Attributes(column="a"))
                    with track_bytes(self, events, "a"):
                        pass
                return {}

            used(Run(chunks=Plain(body).process(events)[KEY], t_start=0, t_end=1))


@case
def tasks_with_numbers_at_the_ends():
    for first in ENDS:
        for second in ENDS:
            watch = TaskWatch({})
            watch.expect(["process-1", "process-2"])
            phases = [{"action": action, "start": float(first), "stop": float(second)}
                      for action in ("compute", "transfer", "deserialize", "disk-read") * 3]
            for key, finish in (("process-1", "memory"), ("process-2", "released")):
                watch.transition(key, "waiting", "processing")
                watch.raised(key=key, worker="w", startstops=phases, thread=first)
                watch.transition(key, "processing", finish, worker="w", startstops=phases,
                                 nbytes=first, thread=first)
            run = Run(attempts=watch.finish(), t_start=0, t_end=1, processor_name="process")
            run.attempts.records()
            used(run)


@case
def samples_with_numbers_at_the_ends():
    for first in ENDS:
        series = WorkerSeries()
        for i in range(5):
            series.tick_values(float(i), {"tcp://w:1": {
                column: (first, 1)[i % 2] for column in ("memory", "memory_limit", "cores", "cpu", "nbytes",
                                                         "occupancy", "active_tasks")}})
        used(Run(series=series, t_start=0, t_end=5))
