"""The CPU time of threads that run no chunk: who else computes while process() waits."""

from __future__ import annotations

import threading
import time

import pytest
from samples import Processor

from roastcoffea import track_metrics


def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def joined(*bodies):
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def others(chunk):
    return chunk["cpu_process_s"] - chunk["cpu_user_s"] - chunk["cpu_system_s"]


def chunk_of(body):
    class Tracked(Processor):
        @track_metrics
        def process(self, events):
            body()
            return {}

    made = Tracked()
    made._roastcoffea_collect_metrics = True
    return made.process([])["__roastcoffea_metrics__"][0]


def test_the_thread_alone():
    assert others(chunk_of(lambda: burn(0.1))) == pytest.approx(0, abs=0.02)


def test_another_thread():
    chunk = chunk_of(lambda: joined(lambda: burn(0.2)))
    assert others(chunk) == pytest.approx(0.2, abs=0.03)
    assert chunk["cpu_user_s"] + chunk["cpu_system_s"] < 0.1


def test_chunks_that_overlap_share():
    both, made = threading.Barrier(3), []

    def body():
        both.wait()
        both.wait()

    def helper():
        both.wait()
        burn(0.2)
        both.wait()

    joined(lambda: made.append(chunk_of(body)), lambda: made.append(chunk_of(body)), helper)
    assert sum(map(others, made)) == pytest.approx(0.2, abs=0.03)
    assert all(others(chunk) == pytest.approx(0.1, abs=0.03) for chunk in made)


def test_a_thread_between_two_chunks_is_no_other():
    """It opens the file of its next chunk meanwhile."""
    first, second, made = threading.Event(), threading.Event(), []

    def busy():
        chunk_of(lambda: None)
        first.set()
        burn(0.2)
        chunk_of(lambda: None)
        second.set()

    def waits():
        first.wait()
        made.append(chunk_of(second.wait))

    joined(busy, waits)
    assert others(made[0]) == pytest.approx(0, abs=0.03)
