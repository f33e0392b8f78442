"""Records beside the output: none lost, none mixed up, and nothing kept."""

from __future__ import annotations

import os
import pickle
import threading
import time

import pytest
from samples import Events, Processor

from roastcoffea import channel, track_metrics
from roastcoffea._core import ChunkLog, faults, flush_outbox


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


def test_files(tmp_path):
    topic = f"file:{tmp_path}"
    processor = processor_on(topic)
    threads = [
        threading.Thread(target=lambda: [processor.process(Events(n)) for n in range(300)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    channel.flush(topic)
    assert [path.name for path in tmp_path.iterdir()] == [f"{os.getpid()}.chunks"]
    assert len(records(channel.read_files(tmp_path))) == 1200


def test_a_file_that_is_cut(tmp_path):
    for n in range(3):
        channel.deliver(f"file:{tmp_path}", bytes([n]) * 100)
    path = next(tmp_path.iterdir())
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert len(channel.read_files(tmp_path)) == length // 104


def test_a_child_does_not_send_its_parents_records(tmp_path):
    topic = f"file:{tmp_path}"
    processor_on(topic).process(Events(1))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            processor_on(topic).process(Events(2))
            flush_outbox(topic)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    channel.flush(topic)
    log = records(channel.read_files(tmp_path))
    assert sorted(c["num_events"] for c in log) == [1, 2]
    assert len({c["pid"] for c in log}) == 2


@pytest.mark.parametrize("topic", ["nowhere", "smoke:signals", "file:/nonexistent/folder"])
def test_a_topic_that_leads_nowhere_is_a_fault_of_ours(topic):
    before = faults()["count"]
    processor = processor_on(topic)
    for n in range(256):
        processor.process(Events(n))
    assert faults()["count"] > before
    flush_outbox(topic)
    with pytest.raises((ValueError, OSError)):
        channel.deliver(topic, b"")


def test_a_topic_that_is_no_text_is_ignored():
    processor = processor_on(3)
    assert processor.process(Events())["n"] == 3
    with pytest.raises(TypeError, match="topic"):
        flush_outbox(3)


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
