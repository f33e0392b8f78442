"""A kernel of Parsl with workers on this machine, and processors for them, which they import from here."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema

from roastcoffea import track_metrics, track_time

HERE = Path(__file__).resolve().parent
EVENTS, CHUNKS = 800, 8  # of each file


def make_file(folder):
    path = Path(folder) / "events.root"
    if not path.exists():
        with uproot.recreate(path) as file:
            file.mktree("Events", {"x": np.dtype("f4")})
            file["Events"].extend({"x": np.arange(EVENTS, dtype="f4")})
    return {"data": {"files": {str(path): "Events"}}}


@contextlib.contextmanager
def kernel(folder, workers=2, blocks=1, retries=0, threads=0, monitoring=False, **settings):
    """A loaded kernel, which is gone afterwards. Its programs get none of our streams: one that is left would keep the
    pipe of the tests open."""
    import parsl
    from parsl.monitoring import MonitoringHub
    from parsl.monitoring.radios.udp import UDPRadio
    from parsl.providers import LocalProvider

    label = "jobs"
    if threads:
        executor = parsl.ThreadPoolExecutor(label=label, max_threads=threads)
    else:
        executor = parsl.HighThroughputExecutor(
            label=label, address="127.0.0.1", encrypted=False, max_workers_per_node=workers, cores_per_worker=0.01,
            heartbeat_period=1, heartbeat_threshold=3,
            remote_monitoring_radio=UDPRadio(address="127.0.0.1"),
            provider=LocalProvider(init_blocks=blocks, min_blocks=blocks, max_blocks=blocks), **settings,
        )
    hub = None
    if monitoring:
        hub = MonitoringHub(resource_monitoring_interval=0.2)
    config = parsl.Config(
        executors=[executor], run_dir=str(folder / "runinfo"), usage_tracking=0, strategy_period=0.1, retries=retries,
        monitoring=hub, initialize_logging=False,
    )
    # Its programs are beside Python, and import what is here.
    places = {"PATH": os.path.dirname(sys.executable), "PYTHONPATH": str(HERE)}
    with _environment(places), _streams_to(folder / "streams.txt"):
        loaded = parsl.load(config)
        try:
            yield loaded
        finally:
            loaded.cleanup()
            parsl.clear()


@contextlib.contextmanager
def _environment(folders):
    before = {name: os.environ.get(name) for name in folders}
    for name, folder in folders.items():
        os.environ[name] = os.pathsep.join([folder, *([before[name]] if before[name] else [])])
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def _streams_to(path):
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with open(path, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for place, stream in zip((1, 2), kept, strict=True):
            os.dup2(stream, place)
            os.close(stream)


def runner(**settings):
    return processor.Runner(
        processor.ParslExecutor(status=False, **settings), schema=BaseSchema, chunksize=EVENTS // CHUNKS,
    )


class Plain(processor.ProcessorABC):
    """Works for a known time."""

    seconds = 0.1

    @track_metrics
    def process(self, events):
        self.before(events)
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            sum(range(1000))
        return {"n": len(events), "sum": float(np.sum(events.x))}

    def before(self, events):
        pass

    def postprocess(self, accumulator):
        return accumulator


class InASection(Plain):
    """Most of the time is in one part of process()."""

    seconds = 0.01

    def before(self, events):
        with track_time(self, "select"):
            until = time.monotonic() + 0.1
            while time.monotonic() < until:
                sum(range(1000))


def expect_the_section(mc):
    """The finding that InASection was made for."""
    (slow,) = [finding for finding in mc.diagnose() if finding["kind"] == "slow_section"]
    assert "select" in slow["title"]


def expect_the_job(mc, job):
    """Of the batch system that the workers were started in."""
    assert {chunk["batch_job"] for chunk in mc.chunk_metrics} == {job}
    assert mc.run.meta["worker_jobs"] == job


class OnceInRun(Plain):
    """Does something once, at the chunk that begins at 300, in whichever process that is."""

    def __init__(self, folder):
        self.folder = str(folder)

    def before(self, events):
        if events.metadata["entrystart"] != 300:
            return
        with contextlib.suppress(FileExistsError):
            os.close(os.open(f"{self.folder}/once", os.O_CREAT | os.O_EXCL))
            self.once()


class Raises(OnceInRun):
    def once(self):
        time.sleep(0.2)
        raise ValueError("a bad event")


class AlwaysRaises(Plain):
    """At the last chunk."""

    def before(self, events):
        if events.metadata["entrystart"] == EVENTS - EVENTS // CHUNKS:
            raise ValueError("always bad")


class Dies(OnceInRun):
    def once(self):
        time.sleep(0.2)
        Path(self.folder, "died").write_text(f"{os.getpid()} {time.time()}")
        os.kill(os.getpid(), signal.SIGKILL)


class LosesItsPool(OnceInRun):
    """Its process goes on, finishes the chunk, and ends."""

    def once(self):
        pool = os.getppid()
        others = Path(f"/proc/{pool}/task/{pool}/children").read_text().replace(str(os.getpid()), "")
        Path(self.folder, "children").write_text(others)
        Path(self.folder, "died").write_text(f"{pool} {time.time()}")
        os.kill(pool, signal.SIGKILL)
        time.sleep(0.2)
