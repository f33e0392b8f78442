"""Records beside the output: none lost, none mixed up, and nothing kept."""

from __future__ import annotations

import os
import pickle
import threading
import time

import pytest
from samples import Events, Processor, forks

from roastcoffea import track_metrics
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog, faults


def records(parts):
    log = ChunkLog()
    for part in parts:
        log.merge_unique(ChunkLog.from_bytes(part))
    return log


def processor_on(topic):
    processor = Processor()
    processor._roastcoffea_topic = topic
    return processor


def test_in_memory():
    processor = processor_on("memory:a")
    outputs = [processor.process(Events(n)) for n in range(1000)]
    parts = channel.take_memory("memory:a")
    assert 3 <= len(parts) <= 20  # in lots
    log = records(parts)
    assert [c["num_events"] for c in log] == list(range(1000))
    assert channel.take_memory("memory:a") == []
    # the same records as in the outputs: each counts once
    assert log.merge_unique(outputs[0]["__roastcoffea_metrics__"]) == (0, 1)


def test_a_chunk_that_raised_and_an_output_that_is_no_mapping():
    class Odd:
        _roastcoffea_collect_metrics = True
        _roastcoffea_topic = "memory:odd"

        @track_metrics
        def process(self, events):
            if not events:
                raise ValueError("empty")
            return 3

    odd = Odd()
    assert odd.process(Events(1)) == 3
    with pytest.raises(ValueError, match="empty"):
        odd.process(Events(0))
    assert [c.get("error") for c in records(channel.take_memory("memory:odd"))] == [
        None, "ValueError: empty"
    ]


def test_topics_do_not_mix():
    a, b = processor_on("memory:a"), processor_on("memory:b")
    for n in range(10):
        a.process(Events(n, dataset="a"))
        b.process(Events(n, dataset="b"))
    for name in ("a", "b"):
        assert {c["dataset"] for c in records(channel.take_memory(f"memory:{name}"))} == {name}


def test_what_is_due_is_sent_by_the_next_chunk():
    processor = processor_on("memory:due")
    processor.process(Events())
    time.sleep(1.05)
    processor.process(Events())
    assert len(channel._kept["memory:due"]) == 1
    assert len(records(channel.take_memory("memory:due"))) == 2


def test_a_shared_file():
    shared = channel.SharedFile()
    processor = processor_on(shared.topic)
    threads = [
        threading.Thread(target=lambda: [processor.process(Events(n)) for n in range(300)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    channel.flush(shared.topic)
    assert len(records(shared.read(last=True))) == 1200 and shared.damaged == 0
    assert shared.read() == []
    shared.close()


def append(shared, data):
    """As another process would, without a word about records."""
    path = shared.topic.removeprefix("file:").rpartition("?")[0]
    with open(path, "ab", buffering=0) as file:
        file.write(data)


def test_a_record_that_is_cut_does_not_hide_the_others():
    """As a process leaves it that is killed, or for whom there is no memory, while it writes."""
    whole = channel.SharedFile()
    channel.deliver(whole.topic, b"x" * 100)
    with open(f"/proc/self/fd/{whole._descriptor}", "rb") as file:
        record = file.read()[16:]
    for length in range(1, len(record)):
        shared = channel.SharedFile()
        channel.deliver(shared.topic, b"before")
        append(shared, record[:length])
        assert shared.read() == [b"before"]
        channel.deliver(shared.topic, b"behind")
        assert shared.read(last=True) == [b"behind"]
        assert shared.damaged == 1
        shared.close()
    shared = channel.SharedFile()
    append(shared, record[:-1] + b"y" + record)
    assert shared.read(last=True) == [b"x" * 100] and shared.damaged == 1


def test_a_record_that_is_not_complete_yet_is_read_later():
    whole, shared = channel.SharedFile(), channel.SharedFile()
    channel.deliver(whole.topic, b"x" * 100)
    with open(f"/proc/self/fd/{whole._descriptor}", "rb") as file:
        record = file.read()[16:]
    append(shared, record[:50])
    assert shared.read() == []
    append(shared, record[50:])
    assert shared.read() == [b"x" * 100] and shared.damaged == 0


def test_a_write_that_is_short_is_told(monkeypatch):
    shared = channel.SharedFile()
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:20]))
    with pytest.raises(OSError, match="only 20 of"):
        channel.deliver(shared.topic, b"x" * 100)


def test_a_descriptor_that_is_somebody_elses_now_is_left_alone(tmp_path):
    """A chunk of a run that failed may end after its collector is gone."""
    shared = channel.SharedFile()
    topic, descriptor = shared.topic, shared._descriptor
    shared.close()
    (tmp_path / "users").write_bytes(b"precious")
    for path, flags in ((tmp_path / "users", os.O_RDWR), ("/dev/full", os.O_WRONLY)):
        opened = os.open(path, flags)
        if opened != descriptor:
            os.dup2(opened, descriptor)
            os.close(opened)
        with pytest.raises(ValueError, match="closed"):
            channel.deliver(topic, b"record")
        os.close(descriptor)
    assert (tmp_path / "users").read_bytes() == b"precious"


@forks
def test_a_child_does_not_send_its_parents_records():
    shared = channel.SharedFile()
    processor_on(shared.topic).process(Events(1))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            processor_on(shared.topic).process(Events(2))
            channel.flush(shared.topic)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    channel.flush(shared.topic)
    log = records(shared.read(last=True))
    assert sorted(c["num_events"] for c in log) == [1, 2]
    assert len({c["pid"] for c in log}) == 2


@pytest.mark.parametrize("topic", ["nowhere", "smoke:signals", "file:/nonexistent/folder"])
def test_a_topic_that_leads_nowhere_is_a_fault_of_ours(topic):
    before = faults()["count"]
    processor = processor_on(topic)
    for n in range(256):
        processor.process(Events(n))
    assert faults()["count"] > before
    channel.flush(topic)
    with pytest.raises((ValueError, OSError)):
        channel.deliver(topic, b"")


def test_a_topic_that_is_no_text_is_ignored():
    processor = processor_on(3)
    assert processor.process(Events())["n"] == 3


def test_the_topic_travels_with_the_processor():
    again = pickle.loads(pickle.dumps(processor_on("memory:x")))
    again.process(Events())
    assert len(records(channel.take_memory("memory:x"))) == 1


def test_a_topic_that_was_closed_takes_nothing_more():
    processor = processor_on("memory:closed")
    processor.process(Events())
    channel.close("memory:closed")
    processor.process(Events())
    assert len(records(channel.take_memory("memory:closed"))) == 1


def test_a_kind_of_topic_of_ones_own(monkeypatch):
    monkeypatch.setattr(channel, "_ways", dict(channel._ways))
    sent, later = [], []
    channel.register("pigeon", lambda topic, data: sent.append((topic, data)), lambda *call: later.append(call))
    processor = processor_on("pigeon:a")
    for n in range(3):
        processor.process(Events(n))
    assert sent == [] and later == [("pigeon:a", 1.0)]
    channel.flush("pigeon:a")
    assert [topic for topic, _ in sent] == ["pigeon:a"]
    assert [c["num_events"] for c in records([data for _, data in sent])] == [0, 1, 2]
    channel.register("pigeon", lambda topic, data: sent.append((topic, data)), at_once=True)
    processor.process(Events(7))
    assert len(sent) == 2


def durations(log):
    return None if log is None else [chunk["duration"] for chunk in log]


def test_tries_that_raised_travel_with_the_next_output():
    """A topic without a sender: their records have no output of their own."""
    topic = "run:tries"
    try:
        assert channel.put(topic, ChunkLog([{"duration": 1.0, "error": "ValueError: x"}]), True) is None
        assert channel.put(topic, ChunkLog([{"duration": 2.0, "error": "ValueError: y"}]), True) is None
        assert durations(channel.put("run:another", ChunkLog([{"duration": 4.0}]), False)) == [4.0]
        assert durations(channel.put(topic, ChunkLog([{"duration": 3.0}]), False)) == [1.0, 2.0, 3.0]
        assert durations(channel.put(topic, ChunkLog([{"duration": 3.0}]), False)) == [3.0]  # each once
        for number in range(1000):
            channel.put(topic, ChunkLog([{"duration": float(number), "error": "E"}]), True)
        kept = channel.put(topic, ChunkLog([{"duration": 3.0}]), False)
        assert len(kept) == channel._MOST + 1 and durations(kept)[-2:] == [999.0, 3.0]
    finally:
        channel._held.clear()


@pytest.mark.parametrize("topic", ["run:carried", "memory:carried", None])
def test_records_that_are_carried_beside_the_output(topic):
    try:
        with channel.carried() as logs:
            with channel.carried() as inner:
                assert channel.put(topic, ChunkLog([{"duration": 1.0}]), False) is None
            assert channel.put(topic, ChunkLog([{"duration": 2.0, "error": "E"}]), True) is None
            assert channel.put(topic, ChunkLog([{"duration": 3.0}]), False) is None
        assert [durations(log) for log in inner] == [[1.0]]
        expected = [[3.0], [2.0]] if topic == "run:carried" else [[3.0]]
        assert [durations(log) for log in logs] == expected
        assert durations(channel.put(topic, ChunkLog([{"duration": 4.0}]), False)) == [4.0]
    finally:
        channel._held.clear()
