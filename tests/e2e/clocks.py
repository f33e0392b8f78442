"""Processes whose clock is wrong, or is set while they run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from dask_parts import process

SOURCE = Path(__file__).parents[1] / "burn" / "set_clock.c"


class WrongClock:
    """A clock for other processes that is some seconds off; `set` changes that while they run."""

    def __init__(self, library: Path, file: Path, seconds: int) -> None:
        self.file = file
        self._library = library
        self.set(seconds)

    def set(self, seconds: int) -> None:
        self.file.write_text(f"{seconds}\n")

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "LD_PRELOAD": str(self._library), "SET_CLOCK": str(self.file)}


class Clocks:
    """Makes them in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._library = folder / "set_clock.so"
        self._made = 0
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self._library, SOURCE], check=True)

    def wrong_by(self, seconds: int) -> WrongClock:
        self._made += 1
        return WrongClock(self._library, self._folder / f"clock_{self._made}", seconds)


def worker_of(scheduler: str, clock: WrongClock, name: str) -> Any:
    """A worker of Dask, in a process without a nanny, until the end of the context."""
    return process(
        "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--no-dashboard",
        "--nthreads", "1", "--name", name, "--host", "127.0.0.1",
        env={**clock.env, "PYTHONPATH": str(Path(__file__).parent)},
    )
