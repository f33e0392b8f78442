"""A Dask cluster of real processes, and what goes wrong on it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import distributed
from clocks import Clocks, WrongClock

FEWEST, MOST = 2, 4  # workers
END_S = 8.0  # what all at the end of a run may take: shorter than usual, so that a scheduler is often wedged for longer
OTHER_SIDE = ("-n", "scheduler")  # the network namespace in which the scheduler is, as ip wants it
LINK = {"soak0": ("10.77.0.1", ()), "soak1": ("10.77.0.2", OTHER_SIDE)}  # its ends: address and namespace


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def make_link() -> None:
    ip("netns", "add", OTHER_SIDE[1])
    ip("link", "add", "soak0", "type", "veth", "peer", "name", "soak1", "netns", OTHER_SIDE[1])
    for end, (address, side) in LINK.items():
        ip(*side, "addr", "add", f"{address}/30", "dev", end)
        for name in ("lo", end):
            ip(*side, "link", "set", name, "up")


class Cluster:
    """A scheduler and its workers; what they say is in `folder`/logs."""

    def __init__(self, folder: Path, linked: bool) -> None:
        self.folder, self.linked, self.started = folder, linked, 0
        self.here, self.there = (address for address, _ in LINK.values()) if linked else ("127.0.0.1",) * 2
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.clocks: dict[str, WrongClock] = {}
        self._make_clock = Clocks(folder).wrong_by

    def start(self) -> None:
        side = ("ip", "netns", "exec", OTHER_SIDE[1]) if self.linked else ()
        self.scheduler = self.run("scheduler", "--port", "0", "--host", self.there, side=side)
        self.fill_up()

    def run(self, what: str, *options: str, side: tuple[str, ...] = (), env: Any = None) -> subprocess.Popen[bytes]:
        command = [*side, sys.executable, "-m", "dask", what, "--scheduler-file", str(self.folder / "scheduler"),
                   "--no-dashboard", *options]
        with open(self.folder / "logs" / f"{what}.log", "ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                    env=env)

    def client(self) -> distributed.Client:
        return distributed.Client(scheduler_file=str(self.folder / "scheduler"), timeout=120, set_as_default=False)

    def add_worker(self, seconds_off: int = 0) -> None:
        self.started += 1
        name = f"worker{self.started}"
        self.clocks[name] = self._make_clock(seconds_off)
        self.workers[name] = self.run("worker", "--name", name, "--host", self.here, "--nthreads", "1", "--no-nanny",
                                      "--local-directory", str(self.folder / "scratch"), env=self.clocks[name].env)

    def fill_up(self) -> None:
        """Forgets workers that have gone; others come for them."""
        self.workers = {name: process for name, process in self.workers.items() if process.poll() is None}
        while len(self.workers) < FEWEST:
            self.add_worker()

    def stop(self) -> None:
        for process in filter(None, [*self.workers.values(), self.scheduler]):
            process.kill()
            process.wait()


class Faults:
    """Injects a fault every few seconds; what can be healed is healed after some more."""

    def __init__(self, cluster: Cluster, seed: str, small: Path | None) -> None:
        self.cluster, self.small = cluster, small
        self.count: Counter[str] = Counter()
        self.calm, self.ended = threading.Event(), threading.Event()
        self._chance = random.Random(f"{seed} faults")
        self._to_heal: list[tuple[float, Callable[[], object]]] = []
        self._lock = threading.Lock()
        self._kinds = [self.kill, self.pause, self.add, self.retire, self.set_clock, self.wedge]
        self._kinds += [self.fill] if small else []
        self._kinds += [self.cut] if cluster.linked else []

    def run(self) -> None:
        due = 0.0
        while not self.ended.wait(0.2):
            self.heal(time.monotonic())
            self.cluster.fill_up()
            if time.monotonic() > due and not self.calm.is_set():
                due = time.monotonic() + self._chance.uniform(1, 5)
                fault = self._chance.choice(self._kinds)
                fault()
                self.count[fault.__name__] += 1
        self.heal()

    def heal(self, until: float = float("inf")) -> None:
        with self._lock:
            for entry in [entry for entry in self._to_heal if entry[0] < until]:
                entry[1]()
                self._to_heal.remove(entry)

    def later(self, heal: Callable[[], object], longest: float = 5) -> None:
        with self._lock:
            self._to_heal.append((time.monotonic() + self._chance.uniform(1, longest), heal))

    def worker(self) -> tuple[str, subprocess.Popen[bytes]]:
        return self._chance.choice(sorted(self.cluster.workers.items()))

    def kill(self) -> None:
        self.worker()[1].kill()
        self.cluster.add_worker()

    def pause(self) -> None:
        process = self.worker()[1]
        process.send_signal(signal.SIGSTOP)
        self.later(lambda: process.send_signal(signal.SIGCONT))

    def wedge(self) -> None:
        """The scheduler stands still, for longer than the end of a run waits for it, too."""
        process = self.cluster.scheduler
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        self.later(lambda: process.send_signal(signal.SIGCONT), 1.5 * END_S)

    def add(self) -> None:
        if len(self.cluster.workers) >= MOST:
            self.worker()[1].kill()
        self.cluster.add_worker(self._chance.choice((-30, 0, 30)))

    def set_clock(self) -> None:
        self.cluster.clocks[self.worker()[0]].set(self._chance.choice((-30, 0, 30)))

    def retire(self) -> None:
        def ask(name: str) -> None:  # that may take long, or fail
            with suppress(Exception), self.cluster.client() as client:
                client.retire_workers(names=[name])

        threading.Thread(target=ask, args=(self.worker()[0],), daemon=True).start()

    def fill(self) -> None:
        assert self.small is not None
        path = self.small / f"full{self.count['fill']}"
        with suppress(OSError), open(path, "wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        self.later(path.unlink)

    def cut(self) -> None:
        end, (_, side) = self._chance.choice(list(LINK.items()))
        ip(*side, "link", "set", end, "down")
        self.later(lambda: ip(*side, "link", "set", end, "up"))
