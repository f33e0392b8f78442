"""What tests of the Dask backend have in common: clusters, work for them, and a look for traces."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time

import dask
import distributed

from roastcoffea.backends.dask.remote import by_value

LATER = 3600.0  # an interval that does not end during a test


# ---- what runs on workers, which do not know this file ----

@by_value
def burn(seconds, _=None):
    import time

    start = time.thread_time()
    while time.thread_time() - start < seconds:
        sum(range(1000))
    return seconds


@by_value
def doze(seconds):
    import time

    time.sleep(seconds)


@by_value
def send(topic, first, count):
    from roastcoffea.worker.channel import deliver

    for i in range(first, first + count):
        deliver(topic, b"%d" % i)


# ---- parts ----

@contextlib.contextmanager
def cluster(**options):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", **options}
    with distributed.LocalCluster(**options) as made:
        with distributed.Client(made, set_as_default=False) as client:
            yield made, client


def eventually(condition, seconds=20.0):
    """Waits for what is bound to happen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


followed = None  # what follow_this_thread() finds: a task has no other way to an object of this process


def follow_this_thread():
    sys.setprofile(followed)


def traces(client):
    """Everything of ours that could be found on scheduler, workers and here."""

    def on_scheduler(dask_scheduler):
        import asyncio

        timers = asyncio.get_running_loop()._scheduled
        ticks = [repr(timer) for timer in timers if not timer.cancelled() and "_tick_at" in repr(timer)]
        tap = type(dask_scheduler.stream_handlers.get("task-erred")).__name__
        return ticks + [f"{tap} roastcoffea"] * (tap == "_RaisedTap") + [
            name
            for names in (
                dask_scheduler.plugins,
                dask_scheduler.periodic_callbacks,
                dask_scheduler.worker_plugins,
                dask_scheduler.nanny_plugins,
                dask_scheduler._broker._topics,
            )
            for name in names
            if "roastcoffea" in name
        ]

    def on_worker(dask_worker):
        names = [*dask_worker.plugins, *dask_worker.periodic_callbacks]
        return [name for name in names if "roastcoffea" in name]

    found = client.run_on_scheduler(on_scheduler)
    found += [name for names in client.run(on_worker).values() for name in names]
    found += [name for name in client._event_handlers if "roastcoffea" in name]
    found += [t.name for t in threading.enumerate() if "roastcoffea" in t.name]
    found += list(dask.get_annotations())
    return found


def nothing_left(client):
    """Soon: the scheduler tells the workers to forget a run, and nobody waits for them."""
    eventually(lambda: traces(client) == [])
    return True


def cpu(metrics, prefix, activity="thread-cpu"):
    return sum(v for k, v in metrics.items() if k[1:3] == (prefix, activity))


def run_burns(client, count=8, seconds=0.02):
    client.gather(client.map(burn, [seconds] * count, range(count), pure=False))
    return count * seconds


# ---- schedulers and workers in processes of their own ----

SCHEDULER = """
import asyncio
from distributed import Scheduler

async def main():
    async with Scheduler(protocol="tcp", host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(main())
"""
BARE_SCHEDULER = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "roastcoffea":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
""" + SCHEDULER


@contextlib.contextmanager
def process(*arguments, env=None):
    """A process of Python, which ends with the context."""
    started = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**(env or os.environ), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"},
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
