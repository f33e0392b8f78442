"""The board, asked over HTTP: the list of many runs, the report of a large one, a run that goes on, nobody."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from bench.harness import Harness, NotMeasured, Row, figure
from bench.runs import FOLDER, MEMORY, QUICK_RUNS, RUNS

CHUNKS = 1_000_000
EVERY = 2.0  # seconds between two updates of a page
IDLE = 5.0


class Server:
    """A board in a process of its own."""

    def __init__(self, folder: str | Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "roastcoffea", "board", "--port", "0", "--", folder], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "http://" in line:
                break
        else:
            raise NotMeasured("the board did not start")
        self._address = urlsplit(line[line.index("http://"):].split()[0])
        self._token = parse_qs(self._address.query)["token"][0]

    def get(self, path: str) -> tuple[float, str]:
        """Seconds until the answer is there, and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._address.port or 80, timeout=600)
        start = time.perf_counter()
        connection.request("GET", f"/{path}", headers={"Authorization": f"token {self._token}"})
        answer = connection.getresponse()
        body = answer.read().decode()
        took = time.perf_counter() - start
        connection.close()
        if answer.status != 200:
            raise NotMeasured(f"the board answered {answer.status} to {path}: {body[:200]}")
        return took, body

    def cpu(self) -> float:
        """CPU seconds of all its threads, and of those of the processes that read measurements for it."""
        threads = list(Path(f"/proc/{self._process.pid}/task").iterdir())
        for thread in list(threads):
            for child in (thread / "children").read_text().split():
                threads += Path(f"/proc/{child}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def served(folder: str | Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def growing(harness: Harness, path: Path, chunks: int) -> Iterator[Callable[[], None]]:
    """A live measurement with so many chunks; a call appends some more."""
    process = subprocess.Popen([harness.built("bench_board"), "live", path, str(chunks)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None

    def wait() -> None:
        assert process.stdout is not None
        if process.stdout.readline() != "done\n":
            raise NotMeasured("the live measurement was not written")

    def append() -> None:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        wait()

    try:
        wait()
        yield append
    finally:
        process.stdin.close()
        process.wait()


def _first_page(harness: Harness) -> Iterator[Row]:
    runs, rounds = QUICK_RUNS if harness.quick else RUNS, max(3, harness.rounds // 2)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        harness.progress(f"board: saving {runs:,} measurements ...")
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else FOLDER) as quick:
            harness.run(harness.built("bench_runs"), quick, str(runs))
            shutil.copytree(quick, folder, dirs_exist_ok=True)
        with served(folder) as server:
            index, body = server.get("api/runs")
            if body.count("DimuonAnalysis") < runs:
                raise AssertionError("the board does not list all runs")
            taken = []
            for _ in range(rounds):
                time.sleep(1.1)  # the folders are looked at again after a second
                taken.append(server.get("")[0] + server.get("api/runs")[0])
            before = server.cpu()
            time.sleep(IDLE)
            idle = (server.cpu() - before) / IDLE
    yield Row(f"board/first page of {runs:,} runs", "s", figure(taken))
    yield Row(f"board/first index of {runs:,} runs", "s", figure(index))
    yield Row("board/idle", "share", figure(idle))


def _report(harness: Harness) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        harness.progress(f"board: saving {CHUNKS:,} chunks ...")
        harness.run(harness.built("bench_board"), "save", Path(folder) / "run")
        with served(folder) as server:
            taken = []
            for _ in range(max(3, harness.rounds // 4)):
                os.utime(Path(folder) / "run" / "metrics.json")
                took, body = server.get("run/run")
                taken.append(took)
    if f"{CHUNKS:,} tasks" not in body:
        raise AssertionError("the report does not tell the tasks")
    yield Row(f"board/report of {CHUNKS:,} chunks", "s", figure(taken))


def _live(harness: Harness) -> Iterator[Row]:
    from roastcoffea.web._live import PAUSE, look_at_all

    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        path = Path(folder) / "run"
        harness.progress(f"board: writing {CHUNKS:,} chunks ...")
        with growing(harness, path, CHUNKS) as append, served(folder) as server:
            begin = time.process_time()
            look_at_all(str(path))
            whole = time.process_time() - begin
            server.get("api/run/run")
            quick = []
            for _ in range(max(5, harness.rounds)):
                append()
                before = server.cpu()
                _, body = server.get("api/run/run")
                quick.append(server.cpu() - before)
    if "progress" not in body:
        raise AssertionError("the update does not tell the progress")
    share = min(whole, EVERY / PAUSE)
    yield Row("board/live update", "s", figure(one + share for one in quick))
    yield Row(f"board/live update, what is new beside {CHUNKS:,} chunks", "s", figure(quick))
    yield Row(f"board/look at all of {CHUNKS:,} live chunks", "s", figure(whole))


def rows(harness: Harness) -> Iterator[Row]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    yield from _first_page(harness)
    yield from _report(harness)
    yield from _live(harness)
