"""As much of TaskVine as Coffea's executor calls: tasks run one after the other, each in a Python and a folder of its own,
and the manager writes the log that TaskVine writes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import cloudpickle

__version__ = "7.0 of the tests"

# What TaskVine runs for a Python task.
TASK = """
import cloudpickle, sys
with open(sys.argv[1], "rb") as file:
    function, args = cloudpickle.load(file)
with open(sys.argv[2], "wb") as file:
    file.write(function(*args))
"""
WORKER = "worker-0123456789abcdef0123456789abcdef"


class PythonTaskNoResult:
    pass


class File:
    def __init__(self, path):
        self._path = path

    def source(self):
        return self._path


class PythonTask:
    def __init__(self, function, *args):
        self._call = function, args
        self._inputs, self.environment = [], {}
        self.category, self.result, self.exit_code, self.std_output, self.id = "default", "success", 0, "", None
        self.hostname = "node"
        self.resources_allocated = self.resources_measured = SimpleNamespace(cores=1, memory=1, disk=1, gpus=0)
        self.output_file = None

    def set_category(self, name):
        self.category = name

    def add_input(self, file, name):
        self._inputs.append((file, name))

    def successful(self):
        return self.result == "success" and self.exit_code == 0

    def get_metric(self, name):
        return 0

    @property
    def output(self):
        with open(self.output_file.source(), "rb") as file:
            return file.read()

    def disable_output_serialization(self): ...
    def set_output_cache(self, cache): ...
    def enable_temp_output(self): ...

    def set_env_var(self, name, value):
        self.environment[name] = value


class Manager:
    def __init__(self, port=0, name=None, staging_path=".", **options):
        self.port, self._folder = port, staging_path
        self.logging_directory = os.path.join(staging_path, "vine-logs")
        os.makedirs(self.logging_directory, exist_ok=True)
        self._log = open(os.path.join(self.logging_directory, "transactions"), "a")  # a user may have two runs
        self._queue, self._count, self._ended = [], 0, 0
        self._tell("MANAGER 7 START 0")
        self._tell(f"WORKER {WORKER} CONNECTION 127.0.0.1:7")
        self._tell(f'WORKER {WORKER} RESOURCES {{"memory":[2000,"MB"],"cores":[1,"cores"]}}')

    def _tell(self, line):
        self._log.write(f"{int(time.time() * 1e6)} 7 {line}\n")
        self._log.flush()

    def submit(self, task):
        self._count += 1
        task.id = self._count
        task.output_file = File(os.path.join(self._folder, f"output-{task.id}"))
        self._queue.append(task)
        self._tell(f'TASK {task.id} READY {task.category} FIRST_RESOURCES 1 {{"cores":[1,"cores"]}}')
        return task.id

    def wait(self, timeout=None):
        self._end_early()
        if not self._queue:
            return None
        task = self._queue.pop(0)
        commit = time.time()
        self._tell(f'TASK {task.id} RUNNING {WORKER}  FIRST_RESOURCES {{"time_commit_start":[{commit:.6f},"s"]}}')
        start = time.time()
        task.exit_code, task.std_output = self._run(task)
        stop = time.time()
        if task.category == "processing" and task.exit_code == 0:
            with open(os.path.join(self._folder, "outputs.txt"), "a") as file:
                file.write(f"{os.path.getsize(task.output_file.source())}\n")
        times = f'{{"time_worker_start":[{start:.6f},"s"],"time_worker_end":[{stop:.6f},"s"],"memory":[2000,"MB"]}}'
        self._tell(f"TASK {task.id} WAITING_RETRIEVAL {WORKER} ")
        self._tell(f"TASK {task.id} RETRIEVED SUCCESS  {task.exit_code}  {{}} {times}")
        self._tell(f"TASK {task.id} DONE SUCCESS  {task.exit_code} ")
        self._ended += 1
        return task

    def _end_early(self):
        """As a user who waits no longer, or a batch system."""
        how, _, when = os.environ.get("VINE_ENDS", "").partition(" ")
        if how and self._ended == int(when):
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            self._queue.clear()
            raise KeyboardInterrupt

    def _run(self, task):
        folder = os.path.join(self._folder, f"task.{task.id}")
        os.makedirs(folder)
        for file, name in task._inputs:
            shutil.copy(file.source(), os.path.join(folder, name))
        Path(folder, "call").write_bytes(cloudpickle.dumps(task._call))
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", TASK, "call", task.output_file.source()], cwd=folder, text=True,
            env={**os.environ, "CORES": "1", **task.environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        shutil.rmtree(folder)
        return ran.returncode, ran.stdout

    def empty(self):
        return not self._queue

    def hungry(self):
        return True

    @property
    def stats(self):
        return SimpleNamespace(tasks_waiting=len(self._queue), tasks_on_workers=0)

    def undeclare_file(self, file): ...
    def tune(self, name, value): ...
    def disable_peer_transfers(self): ...
    def enable_monitoring(self, watchdog=False): ...
    def set_category_mode(self, category, mode): ...
    def set_category_resources_max(self, category, resources): ...

    def __del__(self):
        self._tell("MANAGER 7 END 1")
        self._log.close()
