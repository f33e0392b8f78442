"""`roast top` on a terminal of 80 by 24: what a person sees of a run that goes on."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte
import pytest

from roastcoffea import open_run
from roastcoffea._core import ChunkLog, LiveMeasurement, Run, WorkerSeries
from roastcoffea.collector.live_writer import LiveWriter, read_failures
from roastcoffea.coffea.pieces import Pieces

PROGRAM = os.environ.get("ROAST_PROGRAM") or str(Path(sys.executable).with_name("roast"))
START, SECONDS = 1.7e9, 20.0
WORKERS = [f"tcp://10.0.0.{i}:38725" for i in range(12)]
LONG = "ValueError: " + "a long text of an exception that nobody reads to its end, " * 12


class Terminal:
    """A program on a terminal, and the screen that it makes there."""

    def __init__(self, *command, stdin=None, **variables):
        self.shown, self.exit = b"", None
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)
        variables = {**os.environ, "TERM": "xterm", "NO_COLOR": "", **variables}
        variables.pop("COLUMNS", None)
        self.fd, inner = pty.openpty()
        self.size(24, 80)
        self.process = subprocess.Popen(
            command, stdin=inner if stdin is None else stdin, stdout=inner, stderr=inner, env=variables,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(inner, termios.TIOCSCTTY, 0)))
        os.close(inner)

    def size(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, done):
        """Until the condition holds, or the program has ended."""
        until = time.monotonic() + SECONDS
        while self.exit is None and not done():
            assert time.monotonic() < until, self.lines
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # the other end is closed
                self.exit = self.process.wait(SECONDS)
            else:
                self.shown += data
                self._stream.feed(data)
        return self.lines

    @property
    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def frame(self):
        """The next whole screen."""
        self.shown = b""
        return self.read(lambda: self.shown.count(b"\x1b[J") > 0 and self.shown.endswith(b"\x1b[J"))

    def end(self):
        self.read(lambda: False)
        os.close(self.fd)
        return self.exit


def chunk(number, **more):
    return {"t_start": START + number, "t_end": START + number + 1, "duration": 1.0, "num_events": 1000, "dataset": "ttbar",
            "worker": WORKERS[number % len(WORKERS)], "file": f"{number}.root", "entry_start": 0, "entry_stop": 1000, **more}


class Writing:
    """A run that goes on for as long as the test wants."""

    def __init__(self, path):
        self.path, self.news, self.number = path, LiveMeasurement(path), 0
        self.step(40)

    def step(self, count, workers=12):
        """So many chunks more, one in four of them failed."""
        series, at = WorkerSeries(), self.number + count
        for when in (self.number, at - 1):
            series.tick_values(START + when, {name: {"memory": 1e9, "memory_limit": 4e9, "cores": 1, "cpu": 90.0}
                                              for name in WORKERS[:workers]})
        chunks = [chunk(i, **({"error": LONG} if i % 4 == 3 else {})) for i in range(self.number, at)]
        self.number = at
        spans = [{"section_name": f"section {k}", "duration": 0.1 * k} for k in range(1, 10)]
        self.news.append(Run(
            t_start=START, t_end=START + at, chunks=chunks, series=series, section_metrics=spans,
            report={"entries": at * 750, "chunks": at * 3 // 4, "processtime": at * 0.75}, ending={"pieces": 1000, "pieces_done": at * 3 // 4, "pieces_failed": at // 4}))


@pytest.fixture
def run(tmp_path):
    made = Writing(tmp_path / ("a name that is long " * 6).strip())
    yield made
    made.news.abandon()


def test_every_part_is_seen_at_80_by_24(run):
    top = Terminal(PROGRAM, "top", str(run.path), "-i", "0.2")
    first = top.frame()
    run.step(20, workers=7)
    top.read(lambda: "7 workers now" in "\n".join(top.lines))
    lines = top.frame()
    os.write(top.fd, b"q")
    assert top.end() == 0
    for seen in (first, lines):
        text = "\n".join(seen)
        assert seen[0].startswith("a name that is long") and "█" in seen[1] and seen[-1] == "q leaves"
        assert " of 1000 chunks done, " in seen[2] and " so far" in seen[3] and " on average" in seen[3]
        for heading in ("Core time", "Sections: Time", "Worker Health", "Failed: "):
            at = next(i for i, line in enumerate(seen) if line.startswith(heading))
            assert at < 22 and seen[at + 1].strip(), (heading, seen)
        assert "section 9" in text and text.count("tcp://10.0.0.") >= 2
        # A line for each failure, which begins with what is short.
        failures = [line for line in seen if line.startswith("  ValueError (ttbar): a long text")]
        assert len(failures) == 3 and all(line.endswith("…") for line in failures)
        assert re.search(r"Worker Health · \d+ more", text)  # that something was left out is said
    assert "12 workers now" in first[3] and " now · " in lines[3]


def test_tries_that_fail_outside_of_process_are_seen(tmp_path):
    """They leave no chunk; exceptions inside process() are among them."""
    writer = LiveWriter(tmp_path / "run", False, dict, Pieces())
    for count, told in ((1, "OSError: no such\nfile"), (7, "its worker left")):
        writer.failures = (count, [(f"{told} {i}", f"Analysis, {WORKERS[i]}" if i < 4 else "") for i in range(5)])
        writer.take([ChunkLog([chunk(0, error="ValueError: x")]).to_bytes()], None)
        found = subprocess.run([PROGRAM, "top", str(writer.path), "--once"], capture_output=True, text=True, check=True).stdout
        lines = found.splitlines()
        if count == 1:  # it is the chunk's, which tells more
            assert "Failed: 1" in lines and "  ValueError (ttbar): x" in lines and "tries of tasks" not in found
    at = lines.index("Failed tries of tasks: 7")
    assert lines[at + 1] == "  its worker left 4"  # where is not known
    assert lines[at + 2 : at + 4] == [f"  its worker left {i} (Analysis, {WORKERS[i]})" for i in (3, 2)]
    assert read_failures(open_run(writer.path).run.meta) == writer.failures
    writer.abandon()


def test_a_full_screen_does_not_scroll(run):
    """Each look writes over the lines of the one before."""
    top = Terminal(PROGRAM, "top", str(run.path), "-i", "0.1")
    lines = top.frame()
    for _ in range(3):
        assert top.frame()[0] == lines[0]
        assert top.shown.count(b"\n") <= 23 * top.shown.count(b"\x1b[H")
    os.write(top.fd, b"q")
    assert top.end() == 0


def test_the_rate_of_now_stays_while_nothing_new_is_written(run):
    top = Terminal(PROGRAM, "top", str(run.path), "-i", "0.1")
    top.frame()
    assert " now · " not in top.lines[3]
    run.step(20)
    top.read(lambda: " now · " in top.lines[3])
    for _ in range(4):
        assert "750 Hz now · " in top.frame()[3]  # 15 of 20 chunks in 20 s
    os.write(top.fd, b"q")
    assert top.end() == 0


def test_an_error_is_seen_on_the_screen_that_stays(run, tmp_path):
    top = Terminal(PROGRAM, "top", str(run.path), "-i", "0.1")
    top.frame()
    run.path.rename(tmp_path / "elsewhere")
    assert top.end() != 0
    shown = top.shown.decode()
    assert shown.index("\x1b[?1049l") < shown.index("roast: ")
    (tmp_path / "elsewhere").rename(run.path)


def test_keys_and_a_new_size_only_draw_again(run):
    top = Terminal(PROGRAM, "top", str(run.path), "-i", "3600")
    before = top.frame()
    run.step(20)
    os.write(top.fd, b"x")
    top.size(30, 100)
    top.shown = b""
    assert len(top.frame()) == 30 and top.lines[2] == before[2]  # the chunks that came are not read
    os.write(top.fd, b"q")
    assert top.end() == 0


def test_a_dumb_terminal_gets_lines(run):
    top = Terminal(PROGRAM, "top", str(run.path), "-i", "0.1", TERM="dumb")
    top.read(lambda: top.shown.count(b" on average") > 1)
    top.process.send_signal(signal.SIGINT)
    assert top.end() == 0 and b"\x1b" not in top.shown and b"leaves" not in top.shown
    once = Terminal(PROGRAM, "show", str(run.path), TERM="dumb")
    assert once.end() == 0 and b"\x1b" not in once.shown


def test_without_keys_it_says_how_to_leave(run):
    top = Terminal(PROGRAM, "top", str(run.path), "-i", "0.1", stdin=subprocess.DEVNULL)
    assert top.frame()[-1] == "Ctrl-C leaves"
    os.write(top.fd, b"\x03")
    assert top.end() == 0


def test_ctrl_z_gives_the_terminal_back(run):
    command = shlex.join([PROGRAM, "top", str(run.path), "-i", "3600"])
    shell = Terminal("bash", "-c", f"set -m; {command}; echo stopped; stty -a; fg; echo over")
    shell.frame()
    os.write(shell.fd, b"\x1a")
    shell.shown = b""
    shell.read(lambda: b"q leaves" in shell.shown)
    shown = shell.shown.decode()
    left, stopped, again = (shown.index(part) for part in ("\x1b[?1049l", "stopped", "\x1b[?1049h"))
    assert left < stopped < again and re.search(r"\secho\s", shown) and re.search(r"\sicanon\s", shown)
    os.write(shell.fd, b"q")
    assert shell.end() == 0 and b"over" in shell.shown
