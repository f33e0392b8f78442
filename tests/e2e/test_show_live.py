"""`roast show` of a run that still goes on: a run waits in the middle until the test has looked at it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, open_run, track_metrics

PROGRAM = os.environ.get("ROAST_PROGRAM") or str(Path(sys.executable).with_name("roast"))
SECONDS = 60.0


def wait_for(condition, what):
    until = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < until, what
        time.sleep(0.05)
    return found


class Waiting(processor.ProcessorABC):
    """Does the chunks of all files but the last one, whose chunks wait for a file."""

    def __init__(self, gate, waits_at):
        self.gate, self.waits_at = str(gate), waits_at

    def work(self, events):
        if events.metadata["dataset"] == self.waits_at:
            wait_for(lambda: os.path.exists(self.gate), "the test never looked")
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Tracked(Waiting):
    @track_metrics
    def process(self, events):
        return self.work(events)


class Plain(Waiting):
    def process(self, events):
        return self.work(events)


def executor_of(kind, request):
    if kind == "dask":
        return processor.DaskExecutor(client=request.getfixturevalue("client"), status=False)
    if kind == "processes":
        return processor.FuturesExecutor(workers=2, status=False)
    return processor.IterativeExecutor(status=False)


def shown(path, *options):
    return subprocess.run([PROGRAM, "show", str(path), *options], capture_output=True, text=True, timeout=60,
                          check=True).stdout


@pytest.mark.parametrize("kind", ["iterative", "processes", "dask"])
@pytest.mark.parametrize("made", [Tracked, Plain])
def test_while_it_goes_on(kind, made, fileset, tmp_path, request):
    executor, gate = executor_of(kind, request), tmp_path / "gate"
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600)

    def run():
        with MetricsCollector(executor, output_dir=tmp_path, measurement_name="it", worker_tracking_interval=0.1):
            runner(fileset, processor_instance=made(gate, waits_at="data"))

    path = tmp_path / "it"
    known = made is Tracked or kind != "dask"  # Dask's client does not hear of each task that is done
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run)
        try:
            # Two thirds of the chunks are done, and none of the rest can be.
            lines = wait_for(
                lambda: running.done() or (path.is_dir() and (not known or "8 of 12 chunks done" in shown(path))
                                           and shown(path).splitlines()), "the chunks were never shown")
            assert lines is not True, running.result()
            told = json.loads(shown(path, "--json"))
        finally:
            gate.touch()
        running.result()
    assert lines[0] == "live: this run is still being measured"
    if known:
        assert lines[2] == told["headline"] == "8 of 12 chunks done"
    else:
        assert "headline" not in told and not any(" of 12 chunks" in line for line in lines)
    figures = {key: entry["value"] for key, entry in told["metrics"].items()}
    if made is Tracked:
        assert figures.get("total_events") == 4200 and figures["num_chunks"] == 8
        assert figures["event_rate_wall_khz"] == pytest.approx(4.2 / figures["wall_time"])
        assert figures["data_rate_mbps"] == pytest.approx(figures["total_bytes_read_coffea"] / figures["wall_time"] / 1e6)
        assert any("Event Rate" in line and "Hz" in line for line in lines)
    else:
        assert "total_events" not in figures and "event_rate_wall_khz" not in figures
    finished = open_run(path)
    assert finished.outcome == "done" and finished.metrics["total_events"] == 6300
    assert shown(path).startswith("Done: 12 of 12 chunks\n")


KILLED = """
import os, sys
sys.path.insert(0, {folder!r})
from test_show_live import *
executor = processor.IterativeExecutor(status=False)
runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600)
with MetricsCollector(executor, output_dir={output!r}, measurement_name="it"):
    runner({fileset!r}, processor_instance=Tracked({gate!r}, waits_at="data"))
"""


def test_of_a_program_that_was_killed(fileset, tmp_path):
    code = KILLED.format(folder=str(Path(__file__).parent), output=str(tmp_path), fileset=fileset,
                         gate=str(tmp_path / "gate"))
    path = tmp_path / "it"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: process.poll() is not None or (path.is_dir() and "8 of 12 chunks done" in shown(path)),
                 "the chunks were never shown")
    finally:
        process.kill()
        process.wait()
    lines = shown(path).splitlines()
    assert lines[0].startswith("unfinished: ") and lines[2] == "8 of 12 chunks done"
    assert open_run(path).metrics["total_events"] == 4200


class Terminal:
    """`roast top` on a terminal of 80 by 24."""

    def __init__(self, *arguments):
        self.shown, self.exit = b"", None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM, ["roast", "top", *map(str, arguments)], {**os.environ, "TERM": "xterm"})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self, words):
        """Until the words were shown, or it has ended."""
        until = time.monotonic() + SECONDS
        while words not in self.shown.decode("utf-8", "replace") and self.exit is None:
            assert time.monotonic() < until, self.shown
            try:
                self.shown += os.read(self.fd, 65536)
            except OSError:  # the other end is closed
                self.exit = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.shown.decode("utf-8", "replace")

    def end(self):
        self.read("a text that is never shown")
        os.close(self.fd)
        return self.exit


def test_top_follows_a_run_to_its_end(fileset, tmp_path):
    executor, gate = processor.IterativeExecutor(status=False), tmp_path / "gate"
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600)

    def run():
        with MetricsCollector(executor, output_dir=tmp_path, measurement_name="it"):
            runner(fileset, processor_instance=Tracked(gate, waits_at="data"))

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run)
        try:
            wait_for(lambda: running.done() or (tmp_path / "it").is_dir(), "the run never began")
            left, stays = Terminal(tmp_path / "it", "-i", "0.2"), Terminal(tmp_path, "-i", "0.2")
            frame = left.read("8 of 12 chunks done")
            os.write(left.fd, b"q")
            assert left.end() == 0
            # A new size of the window is seen at once, not at the next look.
            sized = Terminal(tmp_path / "it", "-i", "3600")
            sized.read("q leaves")
            sized.shown = b""
            fcntl.ioctl(sized.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
            assert "q leaves" in sized.read("q leaves") and sized.exit is None
            os.write(sized.fd, b"q")
            assert sized.end() == 0
            assert stays.read("8 of 12 chunks done")
            plain = subprocess.Popen([PROGRAM, "top", str(tmp_path), "-i", "0.2"], stdout=subprocess.PIPE, text=True)
        finally:
            gate.touch()
        running.result()
    assert "Core time" in frame and "\x1b[2J" not in frame  # the screen is never cleared: that would flicker
    assert left.shown.endswith(b"\x1b[?25h\x1b[?1049l")
    assert max(one.count("\r\n") for one in left.shown.decode().split("\x1b[H")) <= 23
    assert stays.end() == 0 and f"roast show {tmp_path / 'it'}" in stays.shown.decode()
    lines = plain.communicate(timeout=60)[0].splitlines()
    assert any(line.startswith("8 of 12 chunks done") for line in lines) and lines[-1].startswith("The run has ended")
    assert subprocess.run([PROGRAM, "top", str(tmp_path)], capture_output=True).returncode == 1
