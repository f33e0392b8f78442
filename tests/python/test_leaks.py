"""No call of the extension keeps memory, objects, threads or descriptors; and none is missing here."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from leaks import assert_nothing_is_kept
from samples import Events, Processor, make_log

from roastcoffea import BaseInstrumentationContext, _core, channel, track_metrics
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
        lambda: _core.configure(readings=["x"]),
        lambda: _core.configure(sampler_interval=-1),
    ):
        with pytest.raises((ValueError, TypeError, IndexError, KeyError)):
            call()


def use_outbox():
    processor = Processor()
    processor._roastcoffea_topic = "memory:leaks"
    for _ in range(3):
        processor.process(Events())
    _core.flush_outbox("memory:leaks")
    assert len(channel.take_memory("memory:leaks")) >= 1
    _core.flush_outbox()


def use_process_tree():
    tree = _core.ProcessTree()
    tree.sample(), tree.sample(), len(tree), tree.processes
    tree.series({os.getpid(): 2}, "host"), tree.series({os.getpid(): None}, "host")
    tree.news({os.getpid(): 2}, "host"), tree.sample(), tree.news({os.getpid(): 2}, "host")
    for call in (
        lambda: tree.series({os.getpid(): 0}, "host"),
        lambda: tree.series({os.getpid(): "x"}, "host"),
        lambda: _core.ProcessTree(-1),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def use_functions():
    _core.catalogue()
    _core.format_value(0.025, "s")
    fresh, replayed = _core.split_replayed(ChunkLog.from_bytes(PACKED), {"run:1", "run:2"})
    _core.shift_clocks(fresh, {"tcp://somewhere:1": 30.0})
    _core.hold_clock(), _core.now(), _core.release_clock()
    for call in (
        lambda: _core.split_replayed(fresh, [3]),
        lambda: _core.shift_clocks(fresh, {"x": "y"}),
        lambda: _core.shift_clocks(fresh, {"x": float("nan")}),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
    _core.sum_reports([{"entries": 3, "columns": ["a"]}] * 2, replayed)
    _core.configure()
    _core.faults()
    _core.sampler_stats()
    _core.get_process_memory()


USES = [
    use_log,
    use_record,
    use_decorator,
    use_current_chunk,
    use_sections,
    use_errors,
    use_outbox,
    use_process_tree,
    use_functions,
]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_no_leak(use):
    assert_nothing_is_kept(use, 200)


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

    Processor().process(Events())
    before = descriptors(), tasks()
    for _ in range(100):
        thread = threading.Thread(target=lambda: Processor().process(Events()))
        thread.start()
        thread.join()
    # join() returns a moment before the kernel's thread has ended
    until = time.monotonic() + 10
    while (descriptors(), tasks()) != before and time.monotonic() < until:
        time.sleep(0.01)
    assert (descriptors(), tasks()) == before


def test_every_public_name_has_its_leak_test():
    """Here, or beside the tests of its own subject."""
    folder = Path(__file__).parent
    text = "".join(
        (folder / name).read_text(encoding="utf-8")
        for name in ("test_leaks.py", "test_attempts.py", "test_legacy.py", "test_series.py", "test_run.py", "test_aggregation.py",
                     "test_measurements.py", "test_plot_data.py", "test_report_data.py", "test_reporter.py")
    )
    made_by_others = {"ChunkRecord", "ColumnReader", "CurrentChunk"}
    for name in vars(_core):
        if not name.startswith("_") and name not in made_by_others:
            assert name in text, name
