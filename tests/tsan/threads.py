"""The extension in many threads, for a build that the thread sanitizer watches: `threads.py`, in TAP.

The interpreter itself is not watched: what it does between two threads is seen only by its locks. So each
part below is about memory of ours that two threads touch: one with the interpreter's lock, one without
(the sampler, a run that is being saved or loaded, a look at the processes), or both in turn.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from roastcoffea import _core, track_memory, track_metrics, track_time
from roastcoffea._core import Attempts, ChunkLog, LiveMeasurement, ProcessTree, Run, WorkerSeries

ROUNDS = 40


class Processor:
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events: list[int]) -> dict[str, object]:
        with track_time(self, "sum"), track_memory(self, "memory"):
            return {"n": sum(events)}


def at_once(*bodies: Callable[[], object]) -> None:
    """Runs all of them in threads that begin together; raises what one of them raised."""
    barrier = threading.Barrier(len(bodies))
    raised: list[BaseException] = []

    def run(body: Callable[[], object]) -> None:
        barrier.wait()
        try:
            body()
        except BaseException as error:  # it is raised again below
            raised.append(error)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def again(body: Callable[[int], object], rounds: int = ROUNDS) -> Callable[[], None]:
    def run() -> None:
        for i in range(rounds):
            body(i)

    return run


def chunks_under_the_sampler() -> None:
    """Watches are opened and closed by threads of the program while the sampler reads, parks and wakes."""
    processor = Processor()

    def change(i: int) -> None:
        _core.configure(sampler_interval=[0.0001, 0.0, 0.001, 0.06][i % 4])
        _core.sampler_stats()

    def work(i: int) -> None:
        processor.process(list(range(200 * (i % 10))))

    at_once(again(work, 300), again(work, 300), again(work, 300), again(change, 60))
    chunks: list[object] = list(processor._chunk_metrics)  # type: ignore[attr-defined]
    assert len(chunks) == 900, len(chunks)
    # On a busy machine all of them may have ended before the sampler's thread ran once.
    _core.configure(sampler_interval=0.001)
    end = time.monotonic() + 60
    while _core.sampler_stats()["samples"] == 0 and time.monotonic() < end:
        processor.process(list(range(200_000)))
    assert _core.sampler_stats()["samples"] > 0


def sample_series() -> WorkerSeries:
    series = WorkerSeries()
    for tick in range(50):
        series.tick_values(float(tick), {f"tcp://{i}": {"memory": tick * i, "cores": 4} for i in range(20)})
    return series


def use_task(attempts: Attempts, i: int) -> None:
    attempts.add(f"key-{i}", worker="tcp://0", start=1.0, stop=2.0, nbytes=10, thread=1)


def sample_log() -> ChunkLog:
    return ChunkLog([{"t_start": 10.0 + i, "duration": 1.0, "num_events": 10, "dataset": "x", "file": "f",
                      "worker": "tcp://0"} for i in range(200)])


def a_run_that_is_saved_while_it_grows() -> None:
    """save_measurement() lets go of the interpreter's lock while others add to the parts of the run."""
    series, log, attempts = sample_series(), sample_log(), Attempts()
    run = Run(chunks=log, series=series, attempts=attempts, t_start=1.0, t_end=60.0)
    more = sample_log()

    def grow(i: int) -> None:
        series.tick_values(100.0 + i, {"tcp://3": {"memory": i}, f"new {i}": {"memory": 1}})
        series.join(f"joined {i}", 100.0 + i)
        attempts.set_kind(f"prefix {i}", "processing")
        log.extend(more)
        del log[100:]

    with tempfile.TemporaryDirectory() as folder:
        live = LiveMeasurement(Path(folder) / "live")
        at_once(again(grow), again(lambda i: _core.save_measurement(run, Path(folder) / "saved"), 8),
                again(lambda i: live.append(run), 8), again(lambda i: run.metrics(), 8))
        live.finish(run)
        loaded, _, _ = _core.load_measurement(Path(folder) / "saved")
        assert len(loaded.chunk_log) >= 100


MANY = 20_000  # chunks: more than one part of a measurement on disk holds


def large_log() -> bytes:
    """Of files whose branches are known."""
    return ChunkLog([{"t_start": 10.0 + i, "duration": 1.0, "num_events": 10, "dataset": "x", "file": f"f{i % 50}",
                      "worker": f"tcp://{i % 4}", "accessed_branches": ["a", "b"],
                      "sections": [{"section_name": "s", "time_delta": 0.5, "start": 0.0, "depth": 0, "count": 1}],
                      "file_metadata": {"filename": f"f{i % 50}", "total_branches": 2, "total_tree_bytes": 100,
                                        "compression_ratio": 0.5, "branch_bytes": {"a": 40, "b": 50}}}
                     for i in range(MANY)]).to_bytes()


def a_large_run_that_is_saved_and_read_by_four() -> None:
    """What is only made when it is asked for, and asked for by all of them."""
    packed, attempts = large_log(), Attempts()
    for i in range(100):
        use_task(attempts, i)

    def all_at_once(folder: Path) -> None:
        run = Run(chunks=ChunkLog.from_bytes(packed), series=sample_series(), attempts=attempts, t_start=1.0, t_end=60.0)
        live = LiveMeasurement(folder / "live")

        def read() -> None:
            run.chunk_columns(["file", "branches_read_percent"]), run.budget("file"), run.diagnose(), run.metrics()
            chunk = run.chunk_log[MANY // 2]
            assert chunk["file_metadata"]["total_branches"] == 2, chunk
            pickle.loads(pickle.dumps(chunk))
            run.sections, run.samples, run.reads, run.chunk_log.to_bytes()

        at_once(lambda: _core.save_measurement(run, folder / "a"), lambda: _core.save_measurement(run, folder / "b"),
                lambda: live.append(run), read)
        live.finish(run)
        loaded, _, _ = _core.load_measurement(folder / "live")
        assert len(loaded.chunk_log) == MANY, len(loaded.chunk_log)

    for _ in range(3):  # the first time is over soon
        with tempfile.TemporaryDirectory() as folder:
            all_at_once(Path(folder))


def one_measurement_read_by_many() -> None:
    """load_measurement() unpacks a large series in a thread of its own, without the interpreter's lock."""
    series = WorkerSeries()
    for tick in range(600):
        series.tick_values(float(tick), {f"tcp://{i}": {"memory": tick * i} for i in range(40)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved"
        _core.save_measurement(Run(chunks=sample_log(), series=series, t_start=1.0, t_end=60.0), path)

        def load(_: int) -> None:
            run, _, _ = _core.load_measurement(path)
            assert run.series is not None
            assert run.series.sample_count == 24000
            _core.measurement_kind(path)

        at_once(*[again(load, 3)] * 3)


def processes_seen_by_two() -> None:
    """A look at the processes lets go of the lock; the series of it is asked for meanwhile."""
    tree = ProcessTree()

    def look(_: int) -> None:
        try:
            tree.sample()
            tree.series({1: 1}, "host")
        except RuntimeError:  # the other one is at it
            pass

    at_once(*[again(look)] * 3, again(lambda i: len(tree.processes)))


def tasks_added_while_they_are_read() -> None:
    attempts = Attempts()
    at_once(again(lambda i: use_task(attempts, i)), again(lambda i: use_task(attempts, i)),
            again(lambda i: attempts.records(), 5), again(lambda i: attempts.to_bytes(), 5))
    assert len(attempts) > 0


PARTS = [chunks_under_the_sampler, a_run_that_is_saved_while_it_grows, a_large_run_that_is_saved_and_read_by_four,
         one_measurement_read_by_many, processes_seen_by_two, tasks_added_while_they_are_read]


def main() -> int:
    failed = 0
    print(f"1..{len(PARTS)}")
    for number, part in enumerate(PARTS, 1):
        try:
            part()
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed += 1
            print(f"not ok {number} - {part.__name__}", flush=True)
        else:
            print(f"ok {number} - {part.__name__}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
