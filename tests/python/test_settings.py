"""configure(), the sampler's statistics, and a process that ends while it samples."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from samples import Events

from roastcoffea import track_metrics
from roastcoffea._core import configure, get_process_memory, sampler_stats


@pytest.fixture(autouse=True)
def put_back():
    yield
    configure(sampler_interval=0.05)


class Sleeper:
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        time.sleep(0.25)
        return {}


def chunk():
    return Sleeper().process(Events())["__roastcoffea_metrics__"][0]


def test_defaults():
    assert configure() == {"sampler_interval": pytest.approx(0.05)}


def test_the_sampler_samples_while_a_chunk_is_open():
    before = sampler_stats()
    chunk()
    after = sampler_stats()
    assert 2 <= after["samples"] - before["samples"] <= 7
    assert after["watches"] == before["watches"] + 1
    time.sleep(0.15)
    assert sampler_stats()["samples"] - after["samples"] <= 1


def test_the_sampler_can_be_off():
    configure(sampler_interval=0)
    before = sampler_stats()["samples"]
    assert chunk()["mem_peak_mb"] is not None
    assert sampler_stats()["samples"] == before
    configure(sampler_interval=0.005)
    chunk()
    assert sampler_stats()["samples"] - before >= 5


@pytest.mark.parametrize(
    "wrong", [{"sampler_interval": -1}, {"sampler_interval": "x"}, {"sampler_interval": float("nan")}, {"interval": 1}]
)
def test_wrong_settings(wrong):
    with pytest.raises((ValueError, TypeError)):
        configure(**wrong)
    assert configure()["sampler_interval"] == pytest.approx(0.05)


def test_the_memory_of_the_process():
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    assert get_process_memory() == pytest.approx(pages * 4096 / 1e6, rel=0.05)


def test_a_process_ends_cleanly_while_it_samples(tmp_path):
    program = tmp_path / "end.py"
    program.write_text(
        """
import sys, threading, time
from roastcoffea import track_metrics

class P:
    _roastcoffea_collect_metrics = True
    @track_metrics
    def process(self, events):
        if events:
            time.sleep(30)
        return {}

P().process([])
threading.Thread(target=P().process, args=([1],), daemon=True).start()
time.sleep(0.1)
print("end")
"""
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)
