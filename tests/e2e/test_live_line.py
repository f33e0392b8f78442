"""The live line in a real terminal, with Coffea's own progress bar and without it."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from select import select

import pyte
import pytest

PROGRAM = """
import sys, time, os
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from roastcoffea import MetricsCollector, track_metrics


def passes():
    # whether this chunk is one of the first, in whatever order they come: the others wait at the gate
    for place in range({done}):
        try:
            return bool(os.open(f"{{{gate!r}}}-{{place}}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
    return False


class Plain(processor.ProcessorABC):
    def process(self, events):
        if {prints!r}:
            print("inside")
        until = time.monotonic() + 60
        while not passes() and not os.path.exists({gate!r}) and time.monotonic() < until:
            time.sleep(0.01)
        return {{"events": len(events)}}

    def postprocess(self, accumulator):
        return accumulator


class Analysis(Plain):
    process = track_metrics(Plain.process)


if __name__ == "__main__":
    {prepare}
    executor = {executor}
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600)
    print("before")
    with MetricsCollector(executor, live=True):
        runner({fileset!r}, processor_instance={processor}())
    print("after")
"""
QUIET = "from coffea.util import coffea_console; coffea_console.quiet = True"
CLUSTER = ("import distributed; client = distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None);"
           " import atexit; atexit.register(client.shutdown)")
ITERATIVE, POOL = "processor.IterativeExecutor(status={})", "processor.FuturesExecutor(workers=2, status={})"
DASK = "processor.DaskExecutor(client=client, status={})"


class InTerminal:
    """A program in a terminal of its own, and what stands on the screen."""

    def __init__(self, script, columns, lines):
        self._screen = pyte.Screen(columns, lines)
        self._bytes = pyte.ByteStream(self._screen)
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        known = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, script], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env={**known, "TERM": "xterm", "PYTHONWARNINGS": "ignore"},
        )
        os.close(theirs)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)

    @property
    def lines(self):
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def read_until(self, condition, what):
        until = time.monotonic() + 90
        while not condition():
            assert time.monotonic() < until, f"{what}:\n" + "\n".join(self.lines)
            if select([self._ours], [], [], 0.5)[0]:
                try:
                    self._bytes.feed(os.read(self._ours, 65536))
                except OSError:  # the program has closed it
                    assert condition(), f"{what}:\n" + "\n".join(self.lines)

    def read_to_the_end(self):
        try:
            while data := os.read(self._ours, 65536):
                self._bytes.feed(data)
        except OSError:
            return


@pytest.fixture
def run(fileset, tmp_path):
    """Runs the program; returns the screen in the middle of the run, and at its end."""

    def run(executor, prepare="", done=1, processor="Analysis", columns=100, prints=False):
        gate, script = tmp_path / "gate", tmp_path / "program.py"
        script.write_text(PROGRAM.format(
            gate=str(gate), done=done, executor=executor, prepare=prepare or "pass", processor=processor, prints=prints,
            fileset={"ttbar": fileset["ttbar"]}))
        with InTerminal(script, columns, 12) as terminal:
            words = f"{done} of 4 chunks"
            terminal.read_until(lambda: any(line.startswith(words) for line in terminal.lines), words)
            middle = terminal.lines
            gate.touch()
            terminal.read_to_the_end()
            return middle, terminal.lines

    return run


def with_bar(line):
    return "━" in line


@pytest.mark.parametrize("status", [True, False])
def test_below_coffeas_bar_on_a_local_executor(run, status):
    """`status=False` changes nothing there: Coffea draws its bar all the same."""
    middle, end = run(ITERATIVE.format(status), prints=True)
    assert with_bar(middle[-2]) and middle[-2].startswith("Processing") and middle[-1].startswith("1 of 4 chunks · ")
    assert len([line for line in middle if "chunks" in line]) == 1
    said = [line for line in end if line != "inside"]
    assert len(end) - len(said) == 4
    assert said[0] == "before" and said[1].startswith("Preprocessing") and said[2].startswith("Processing 100%")
    assert said[3].startswith("Done: 4 of 4 chunks · ") and said[4:] == ["after"]


def test_below_the_two_bars_of_a_pool(run):
    middle, end = run(POOL.format(True), done=2)
    assert all(map(with_bar, middle[-3:-1])) and middle[-1].startswith("2 of 4 chunks · ")
    assert sum("of 4 chunks" in line for line in middle) == 1
    assert "B of " not in middle[-1]  # the processes share the memory of the machine
    assert end[-2].startswith("Done: 4 of 4 chunks · ") and end[-1] == "after" and with_bar(end[-3])
    assert sum("chunks" in line for line in end) == 1


@pytest.mark.parametrize("status", [True, False])
def test_on_dask_status_decides_about_the_bar(run, status):
    middle, end = run(DASK.format(status), CLUSTER, done=2)
    assert middle[-1].startswith("2 of 4 chunks · ") and with_bar(middle[-2]) == status
    assert [line for line in end if "chunks" in line or line == "after"][-2].startswith("Done: 4 of 4 chunks · ")


@pytest.mark.parametrize("executor", [ITERATIVE.format(True), POOL.format(True)])
def test_only_ours_on_a_local_executor(run, executor):
    middle, end = run(executor, QUIET, done=1 if executor.startswith("processor.It") else 2)
    assert middle[0] == "before" and " of 4 chunks · " in middle[1] and len(middle) == 2
    assert end[0] == "before" and end[1].startswith("Done: 4 of 4 chunks · ") and end[2:] == ["after"]


def test_without_our_decorator(run):
    """Nothing is claimed that is not known: no rates, but the chunks that the executor has done."""
    middle, _ = run(ITERATIVE.format(True), QUIET, processor="Plain")
    assert middle[1].startswith("1 of 4 chunks") and "Hz" not in middle[1]


def test_it_fits_into_a_narrow_terminal(run):
    middle, end = run(ITERATIVE.format(True), QUIET, columns=30)
    assert len(middle) == 2 and middle[1].startswith("1 of 4 chunks") and len(middle[1]) < 30
    assert not middle[1].endswith((" ·", "…"))
    assert end[1].startswith("Done: 4 of 4 chunks")
