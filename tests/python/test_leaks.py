"""No call of the extension keeps memory, objects, threads or descriptors; and none is missing here."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import GetSetDescriptorType, MemberDescriptorType, SimpleNamespace

import pytest
from leaks import CALLS, assert_nothing_is_kept, calls_of
from samples import Events, Processor, make_log

from roastcoffea import BaseInstrumentationContext, _core, track_metrics
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog

LOG = make_log(3)
PACKED = LOG.to_bytes()
DICTS = [dict(chunk) for chunk in LOG]


def use_log():
    log = ChunkLog.from_bytes(PACKED)
    log += ChunkLog(DICTS)
    both = log + LOG
    list(both), both[1:], both == log, copy.deepcopy(both), repr(both), both.merge_unique(LOG)
    pickle.loads(pickle.dumps(both))
    both.append({"duration": 1.0})
    both.sort(key=id)
    sys.getsizeof(both)


def use_record():
    chunk = ChunkLog.from_bytes(PACKED)[0]
    chunk["mine"] = [1, 2]
    dict(chunk), chunk == LOG[0], pickle.loads(pickle.dumps(chunk)), repr(chunk)
    "x" in chunk, chunk.get("x"), len(chunk)


def use_log_as_a_list():
    log = ChunkLog.from_bytes(PACKED)
    first = log[0]
    log.extend(DICTS), log.insert(1, DICTS[0]), log.reverse(), log.count(first), log.index(first)
    log.remove(first), log.pop(), log.to_bytes()
    other = log.copy()
    log.clear()
    pickle.loads(pickle.dumps(other.stay_here()))


def use_record_as_a_mapping():
    chunk = ChunkLog.from_bytes(PACKED)[0]
    list(chunk.keys()), list(chunk.values()), list(chunk.items()), chunk.as_dict()


def use_columns():
    column = _core.Run(chunks=LOG).chunks.column("duration")
    owner = column.base.obj
    assert type(owner) is _core.Column
    memoryview(owner).tolist()


def use_series():
    series = _core.WorkerSeries()
    series.join("tcp://a:1", 1.0), series.leave("tcp://a:1", 2.0)
    other = _core.WorkerSeries.from_bytes(series.to_bytes())
    series.samples_equal(other)
    other.extend(series)


def use_decorator():
    processor = Processor()
    processor.process(Events())
    processor.process(events=Events())
    bound = processor.process
    pickle.loads(pickle.dumps(Processor.process)), repr(bound)


class Looks:
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        current = self._roastcoffea_current_chunk
        current["a"] = [1]
        current["timing"]["x"] = 1.0
        dict(current), len(current), repr(current), list(current), current == {}
        with BaseInstrumentationContext(self, "n") as tracker:
            tracker.record_metric("m", 3)
        raise ValueError("x")


def use_current_chunk():
    with pytest.raises(ValueError, match="x"):
        Looks().process(Events())


def use_sections():
    plain = SimpleNamespace(_roastcoffea_current_chunk={})
    for owner in (plain, SimpleNamespace()):
        tracker = _core.track_time(owner, "x")
        with tracker, tracker, _core.track_memory(owner, "m"), _core.track_bytes(owner, [], "b"):
            pass


def use_errors():
    for call in (
        lambda: ChunkLog.from_bytes(PACKED[:-1]),
        lambda: ChunkLog([{"duration": "x"}]),
        lambda: ChunkLog([3]),
        lambda: LOG[7],
        lambda: LOG[0]["nothing"],
        lambda: LOG + 3,
        lambda: _core.track_time(1),
        lambda: track_metrics(3),
        lambda: _core.configure(sampler_interval=-1),
    ):
        with pytest.raises((ValueError, TypeError, IndexError, KeyError)):
            call()


def use_channel():
    processor = Processor()
    processor._roastcoffea_topic = "memory:leaks"
    for _ in range(3):
        processor.process(Events())
    channel.flush("memory:leaks")
    assert len(channel.take_memory("memory:leaks")) >= 1
    channel.flush()


VINE_LOG = Path(__file__).parents[2] / "fuzz" / "corpus" / "taskvine" / "recovered"


def use_process_tree():
    tree = _core.ProcessTree()
    tree.sample(), tree.sample(), tree.pause(1.0), len(tree), tree.processes
    tree.series({os.getpid(): 2}, "host"), tree.series({os.getpid(): None}, "host")
    tree.news({os.getpid(): 2}, "host"), tree.sample(), tree.news({os.getpid(): 2}, "host")
    for call in (
        lambda: tree.series({os.getpid(): 0}, "host"),
        lambda: tree.series({os.getpid(): "x"}, "host"),
        lambda: _core.ProcessTree(-1),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def use_taskvine_log():
    log = _core.TaskVineLog()
    log.explain(1, "ValueError", None), log.explain(2, None, "why")
    log.feed(VINE_LOG.read_bytes()), log.read(str(VINE_LOG)), log.read(VINE_LOG)
    log.changes(), log.changes()
    log.facts, log.figures, log.notes, log.clock_offsets
    log.end()
    log.facts, log.notes, log.clock_offsets
    for call in (
        log.end,
        lambda: log.feed(b"x"),
        lambda: log.feed("x"),
        lambda: log.explain("x", None, None),
        lambda: log.explain(1, 2, None),
        lambda: log.read("/nowhere/at/all"),
        lambda: _core.TaskVineLog("x"),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError, OSError)):
            call()


def use_functions():
    _core.catalogue()
    _core.format_value(0.025, "s"), _core.format_column([0.025, None], "s")
    fresh, replayed = _core.split_replayed(ChunkLog.from_bytes(PACKED), {"run:1", "run:2"})
    _core.shift_clocks(fresh, {"tcp://somewhere:1": 30.0}), _core.name_workers(fresh, _core.Attempts())
    _core.start_tasks(fresh, _core.Attempts()), _core.redact_name("root://me:secret@host//f.root"), _core.redact_text("x")
    _core.is_secret_name("password")
    _core.batch_jobs(fresh), _core.batch_jobs(ChunkLog([{"batch_job": "Slurm 1"}]))
    _core.hold_clock(), _core.now(), _core.machine_cpu(), _core.release_clock()
    for call in (
        lambda: _core.split_replayed(fresh, [3]),
        lambda: _core.shift_clocks(fresh, {"x": "y"}),
        lambda: _core.name_workers(fresh, []),
        lambda: _core.start_tasks(fresh, []),
        lambda: _core.redact_name(3),
        lambda: _core.batch_jobs([]),
        lambda: _core.shift_clocks(fresh, {"x": float("nan")}),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
    _core.configure()
    _core.faults()
    _core.sampler_stats()
    _core.get_process_memory()


USES = [
    use_log,
    use_log_as_a_list,
    use_record,
    use_record_as_a_mapping,
    use_columns,
    use_series,
    use_decorator,
    use_current_chunk,
    use_sections,
    use_errors,
    use_channel,
    use_process_tree,
    use_taskvine_log,
    use_functions,
]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_no_leak(use):
    assert_nothing_is_kept(use, 200)


def full_run():
    from run_samples import full_chunk

    series, attempts = _core.WorkerSeries(), _core.Attempts()
    series.join("tcp://10.0.0.0:4000", 1.79e9, 2)
    attempts.add("process-1", worker="tcp://10.0.0.0:4000", start=1.79e9, stop=1.79e9 + 1)
    return _core.Run(chunks=[full_chunk(i) for i in range(3)], series=series, attempts=attempts, t_start=1.79e9,
                     t_end=1.79e9 + 3, processor_name="process", meta={"host": "here"}, notes=["one"])


def full_vine_log():
    log = _core.TaskVineLog()
    log.feed(VINE_LOG.read_bytes())
    return log


def full_tree():
    tree = _core.ProcessTree()
    tree.sample()
    return tree


RUN = full_run()
# An object of every type that has attributes.
FULL = {
    "ProcessTree": full_tree,
    "TaskVineLog": full_vine_log,
    "WorkerSeries": lambda: RUN.series,
    "Attempts": lambda: RUN.attempts,
    "Run": full_run,
    "Summary": lambda: _core.Summary(RUN),
    "Table": lambda: RUN.chunks,
}


def getters():
    """The attributes of all types, by the name of the type."""
    for name, kind in vars(_core).items():
        found = [key for key, entry in vars(kind).items() if not key.startswith("_")
                 and isinstance(entry, (GetSetDescriptorType, MemberDescriptorType))] if isinstance(kind, type) else []
        if found and not name.startswith("_"):
            yield name, found


@pytest.mark.parametrize(("name", "attributes"), list(getters()), ids=lambda value: value if isinstance(value, str) else "")
def test_no_leak_of_attributes(name, attributes):
    made = FULL[name]()  # a type that is missing there fails
    assert type(made).__name__ == name

    def use():
        for attribute in attributes:
            getattr(made, attribute)
            getattr(FULL[name]() if name == "Run" else made, attribute)  # of a new run the first time is another one

    assert_nothing_is_kept(use, 100)


def test_memory_of_the_engine_is_given_back():
    def rss():
        return _core.get_process_memory()

    for _ in range(300):
        use_log()
    before = rss()
    for _ in range(3000):
        use_log()
    assert rss() - before < 5, "MB"


def test_threads_and_descriptors():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    def tasks():
        return len(os.listdir("/proc/self/task"))

    def work():
        Processor().process(Events())
        done.release()
        end.wait(60)

    done, end = threading.Semaphore(0), threading.Event()
    Processor().process(Events())
    before = descriptors(), tasks()
    threads = [threading.Thread(target=work) for _ in range(100)]
    for thread in threads:
        thread.start()
    assert all(done.acquire(timeout=60) for _ in threads)
    assert descriptors() == before[0], "while all of them live"
    end.set()
    for thread in threads:
        thread.join()
    # join() returns a moment before the kernel's thread has ended
    until = time.monotonic() + 10
    while (descriptors(), tasks()) != before and time.monotonic() < until:
        time.sleep(0.01)
    assert (descriptors(), tasks()) == before


def public_calls():
    """All that a user can call: functions, types, and the methods of types."""
    for name, value in vars(_core).items():
        if name.startswith("_"):
            continue
        yield name
        if isinstance(value, type):
            yield from (f"{name}.{method}" for method, entry in vars(value).items()
                        if not method.startswith("_") and callable(getattr(value, method)))


def test_every_public_call_is_made_by_a_leak_test(tmp_path):
    """The leak tests run once more, all of them, and only note what they call."""
    path = tmp_path / "calls"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-k", "test_no_leak or test_nothing_leaks",
         str(Path(__file__).parent)],
        env={**os.environ, CALLS: str(path)}, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout[-3000:]
    missing = set(public_calls()) - set(path.read_text().split())
    assert not missing, " ".join(sorted(missing))


def test_a_call_that_is_missing_is_noticed():
    called = calls_of(lambda: _core.ChunkLog().append({"duration": 1.0}))
    assert {"ChunkLog", "ChunkLog.append"} <= called
    assert "ChunkLog.copy" not in called
    assert "now" not in called

    def names_and_fails():
        kind, function, method = _core.ProcessTree, _core.now, _core.ChunkLog.copy
        assert kind and function and method
        with pytest.raises(ValueError):
            _core.configure(sampler_interval=-1)

    assert calls_of(names_and_fails) == set()
