"""Stand-ins for Coffea's classes, as far as a backend looks at them, and helpers of the tests of backends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor


class ExecutorBase:
    pass


class IterativeExecutor(ExecutorBase):
    workers = 1


class FuturesExecutor(ExecutorBase):
    def __init__(self, pool=ProcessPoolExecutor, workers=2, mergepool=None):
        self.pool, self.workers, self.mergepool = pool, workers, mergepool


class DaskExecutor(ExecutorBase):
    def __init__(self, client=None):
        self.client = client


class CondorExecutor(ExecutorBase):
    """An engine that nobody has a backend for."""


class TaskVineExecutor(ExecutorBase):
    pass


class ParslExecutor(ExecutorBase):
    jobs_executors = merges_executors = "all"


class Runner:
    def __init__(self, executor):
        self.executor = executor


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


def run_python(script, *arguments, path=None):
    """In a process of its own, which finds the package where this one does."""
    folders = [str(path)] if path else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*folders, *filter(None, sys.path)])}
    result = subprocess.run([sys.executable, "-c", script, *arguments], env=environment, text=True,
                            capture_output=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
