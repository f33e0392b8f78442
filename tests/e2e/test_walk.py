"""Every call that leaves our code fails once, and the user's run does not notice.

A call that leaves our code is one into Python, Coffea, Dask or the engine. The first run of a road lists the places
of such calls; then each of them raises in a run of its own. What fails while the context is entered may come out of it
(nothing has run yet), and leaves nothing behind. What fails later is a note, or costs nothing, and never what is on disk
already. Ctrl-C lands after each of these calls.
"""

from __future__ import annotations

import functools
import contextlib
import contextvars
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dask_parts
import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema
from facility_parts import get
from test_no_harm import left_behind

import roastcoffea
from roastcoffea import MetricsCollector, track_metrics, track_time
from roastcoffea.coffea import runner_watch
from roastcoffea.common import marks
from roastcoffea.common.guard import HOOKS
from roastcoffea.collector.live_writer import LiveWriter

OURS = str(Path(roastcoffea.__file__).parent)
# What a guard is made of cannot be guarded by it, and what leaves a context cannot fail.
TRUSTED = (str(Path(OURS, "common", "guard.py")), "contextlib.py", "threading.py", "weakref.py", "<frozen")
LOCKS = ("lock.__enter__", "lock.__exit__", "RLock.__enter__", "RLock.__exit__")
# To put things back is the last that can be done.
PUTS_BACK = {("_remove", "setattr"), ("Mark.take_off", "setattr"), ("Mark.take_off", "delattr")}
EVENTS = 100


class Injected(Exception):
    pass


class Places:
    """Where our code is left; the one at which it fails, if any: once, or always. An interrupt comes after a call,
    also after those that cannot fail."""

    def __init__(self, fails_at=None, error=Injected, always=False):
        self.fails_at, self.error, self.always = fails_at, error, always
        self.events = {"return", "c_return"} if error is KeyboardInterrupt else {"call", "c_call"}
        self.trusted = TRUSTED[:1] if error is KeyboardInterrupt else TRUSTED
        self.seen: dict[tuple, None] = {}
        self.entered: set[str] = set()
        self.before_end = 0  # how many were seen before the end of the block
        self.hit = False

    def __call__(self, frame, event, arg):
        if event not in self.events:
            return
        if self.error is KeyboardInterrupt and threading.current_thread() is not threading.main_thread():
            return
        if event in ("call", "return"):
            caller, name, code = frame.f_back, frame.f_code.co_qualname, frame.f_code
            if code.co_filename.startswith(OURS):
                self.entered.add(f"{frame.f_globals.get('__name__')}.{name}")
                return
            # The user's own run, in a wrapper of ours.
            if caller is not None and code_of(caller.f_locals.get("original")) is code:
                return
            if code.co_filename.endswith(self.trusted) or code.co_filename.startswith(self.trusted):
                return
        else:
            caller, name = frame, getattr(arg, "__qualname__", repr(arg))
            if name in LOCKS or (frame.f_code.co_qualname, name) in PUTS_BACK:
                return
        if caller is None or not caller.f_code.co_filename.startswith(OURS) or caller.f_code.co_filename in TRUSTED:
            return
        place = (os.path.relpath(caller.f_code.co_filename, OURS), caller.f_code.co_qualname, caller.f_lineno, name)
        if place not in self.seen or self.always:
            self.seen[place] = None
            if place == self.fails_at:
                self.hit = True
                raise self.error("injected")


def code_of(function):
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__code__", None)


class Analysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        with track_time(self, "all"):
            return {"events": len(events), "sum": int(np.sum(events.x))}

    def postprocess(self, accumulator):
        accumulator["done"] = True
        return accumulator


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "tiny.root"
    with uproot.recreate(path) as file:
        file.mktree("Events", {"x": "i4"})
        file["Events"].extend({"x": np.arange(EVENTS, dtype="i4")})
    return {"tiny": {"files": {str(path): "Events"}}}


class Road:
    """A way of running, and what it looks like when nobody is there."""

    def __init__(self, collected, make_executor, fileset, folder, elsewhere=lambda places: None, points=None,
                 inside=lambda: None, **options):
        """`points` gives the folder of the checkpoints of a run; `inside` is called before it ends; `options` are the
        collector's."""
        self.collected, self.make_executor, self.fileset = collected, make_executor, fileset
        self.folder, self.elsewhere, self.points = folder, elsewhere, points
        self.inside, self.options = inside, options
        self.runs = 0
        self.records = 2
        self.waits = False  # whether the records are on disk before the end, so that the end could delete them

    def make_runner(self):
        checkpointer = None if self.points is None else processor.SimpleCheckpointer(str(self.points(self)))
        return processor.Runner(executor=self.make_executor(), schema=BaseSchema, chunksize=50, metadata_cache={},
                                checkpointer=checkpointer)

    def once(self, places):
        """One run in which a place fails. What is wrong then, in words."""
        try:
            return contextvars.copy_context().run(self.run, places)
        finally:  # so that what is wrong here is not wrong in the next run as well
            runner_watch._open.clear()
            runner_watch._remove()
            marks._attributes.clear()
            Analysis._roastcoffea_collect_metrics = False

    def run(self, places):
        self.runs += 1
        analysis, runner = Analysis(), self.make_runner()
        state = dict(vars(runner))
        mc = MetricsCollector(self.collected, output_dir=self.folder, measurement_name=f"run{self.runs}", **self.options)
        output, phase, raised, before = None, "entering", None, 0
        self.elsewhere(places)
        threading.setprofile(places)
        sys.setprofile(places)
        try:
            with mc:
                phase = "running"
                output = runner(self.fileset, analysis)
                self.inside()
                before = self.see_written(places)
                phase = "leaving"
            phase = "over"
        except BaseException as error:
            raised = error
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self.elsewhere(None)
        wrong = self.judge(places, mc, runner, state, analysis, output, phase, raised)
        if phase in ("leaving", "over") and (kept := self.count_written()) < before:
            wrong.append(f"{before} records were on disk, {kept} are left")
        return wrong

    def see_written(self, places):
        """How many records are on disk before the end."""
        places.before_end = len(places.seen)
        sys.setprofile(None)
        end = time.monotonic() + 10
        while self.waits and not places.hit and self.count_written() < self.records and time.monotonic() < end:
            time.sleep(0.002)
        before = self.count_written()
        sys.setprofile(places)
        return before

    def count_written(self):
        try:
            return len(roastcoffea.open_run(self.folder / f"run{self.runs}").run.chunks)
        except OSError:
            return 0

    def judge(self, places, mc, runner, state, analysis, output, phase, raised):
        wrong = []
        if isinstance(raised, Exception) and phase != "entering":
            wrong.append(f"{phase}: {type(raised).__name__}: {raised}")
        if raised is None and output != {"events": EVENTS, "sum": EVENTS * (EVENTS - 1) // 2, "done": True}:
            wrong.append(f"output {str(output)[:100]}")
        if {**state, "metadata_cache": None} != {**vars(runner), "metadata_cache": None}:
            wrong.append(f"Runner {vars(runner)}")
        metadata = [key for one in runner.metadata_cache.values() for key in one if "roast" in key]
        wrong += [f"metadata {metadata}"] if metadata else []
        left = {name: value for name, value in vars(analysis).items() if name != "_chunk_metrics"}
        if left not in ({}, {"_roastcoffea_collect_metrics": False}):
            wrong.append(f"processor {left}")
        if vars(Analysis).get("_roastcoffea_collect_metrics"):
            wrong.append("the processor's class is still switched on")
        wrong += [f"left behind: {name}" for name in left_behind()]
        inside = [variable.name for variable in (runner_watch._call, runner_watch._preprocessing) if variable.get()]
        wrong += [f"still inside: {name}" for name in inside]
        if raised is None and places.hit and not any("injected" in note for note in mc.notes):
            events = EVENTS * self.records // 2
            whole = mc.metrics is not None and len(mc.chunk_metrics) == self.records
            whole = whole and mc.metrics["total_events"] == events
            if not whole or not (self.folder / f"run{self.runs}" / "metrics.json").is_file():
                wrong.append(f"lost without a note: {mc.notes}")
        return wrong

    def walk(self, known, within=("",)):
        """All places of this road that are not known yet, and what went wrong where. A module is imported once."""
        first = Places()
        assert self.once(first) == []
        todo = [place for place in tuple(first.seen)
                if place not in known and place[1] != "<module>" and any(part in place[0] for part in within)]
        wrong, passed_by = {}, []
        for place in todo:
            places = Places(place)
            if found := self.once(places):
                wrong[place] = found
            if not places.hit:
                passed_by.append(place)
        assert 10 * len(passed_by) <= len(todo), f"these did not fail: {passed_by}"
        return first, wrong


# Places and hooks that the roads before have walked.
walked: dict[tuple, None] = {}
entered: set[str] = set()


def check(road, *within):
    """Each of `within` is in the names of files that the road is walked for; all of them, if there is none."""
    first, wrong = road.walk(walked, within or ("",))
    walked.update(first.seen)
    entered.update(first.entered)
    assert wrong == {}, "\n".join(f"{place}: {found}" for place, found in wrong.items())
    assert len(first.seen) > 50


def one_by_one(tiny, tmp_path, monkeypatch):
    def executor():
        return processor.IterativeExecutor(status=False, retries=0)

    monkeypatch.setattr(LiveWriter, "interval", 0.005)
    road = Road(executor(), executor, tiny, tmp_path)
    road.waits = True
    return road


def test_one_by_one(tiny, tmp_path, monkeypatch):
    check(one_by_one(tiny, tmp_path, monkeypatch))


def test_an_end_that_fails_again_and_again(tiny, tmp_path, monkeypatch):
    """As for want of memory. What the run had written is there still, and can be opened."""
    monkeypatch.setattr("roastcoffea.collector.on_disk.warn", lambda *_, **__: None)
    road = one_by_one(tiny, tmp_path, monkeypatch)
    first = Places()
    assert road.once(first) == []
    wrong = {}
    for place in list(first.seen)[first.before_end:]:
        places = Places(place, always=True)
        if found := road.once(places):
            wrong[place] = found
    assert wrong == {}, "\n".join(f"{place}: {found}" for place, found in wrong.items())


def test_a_pool(tiny, tmp_path):
    """Of threads, one for each run: only threads that start in it are followed."""
    with contextlib.ExitStack() as pools:
        def executor():
            pools.close()
            pool = pools.enter_context(ThreadPoolExecutor(2))
            return processor.FuturesExecutor(pool=pool, status=False, retries=0)

        check(Road(executor(), executor, tiny, tmp_path))


def everywhere(cluster, client):
    """In the loop of scheduler and workers, and in the only thread of the worker. It is the same object there, not a copy
    that was sent: it notes what it has seen, and that it has failed."""
    def follow(places):
        def in_the_loop():
            sys.setprofile(places)
            done.set()

        done = threading.Event()
        dask_parts.followed = places
        client.submit(dask_parts.follow_this_thread, pure=False).result(20)
        cluster.loop.add_callback(in_the_loop)
        assert done.wait(20)

    return follow


def test_dask(tiny, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        def executor():
            return processor.DaskExecutor(client=client, status=False, retries=0)

        check(Road(client, executor, tiny, tmp_path, everywhere(cluster, client)))


def test_where_a_facility_looks(tiny, tmp_path, monkeypatch):
    """The server of the scheduler, which others ask, and a file."""
    distributed = pytest.importorskip("distributed")
    from roastcoffea.backends.dask import exposed as _exposed

    monkeypatch.setattr(_exposed, "KEPT_SECONDS", 0.0)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                 dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
    ):
        def executor():
            return processor.DaskExecutor(client=client, status=False, retries=0)

        def ask():
            """Dask's own page works, whatever ours do."""
            server = f"http://127.0.0.1:{cluster.scheduler.http_server.port}"
            for path in ("/roast", "/roast/metrics"):
                with contextlib.suppress(OSError):
                    get(server + path)
            assert get(f"{server}/metrics")[0] == 200

        road = Road(client, executor, tiny, tmp_path, everywhere(cluster, client), inside=ask, dashboard=True,
                    textfile=tmp_path / "run.prom")
        check(road, "textfile", "dask/exposed", "dask/page", "preload", "metrics_collector")


def test_parsl(tiny, tmp_path):
    """A kernel for each run: only threads that start in it are followed."""
    parsl = pytest.importorskip("parsl")

    loaded = []

    def unload():
        while loaded:
            loaded.pop().cleanup()
            parsl.clear()

    def executor():
        unload()
        threads = parsl.ThreadPoolExecutor(label="jobs", max_threads=1)
        loaded.append(parsl.load(parsl.Config(
            executors=[threads], run_dir=str(tmp_path / "runinfo"), usage_tracking=0, strategy="none",
            initialize_logging=False)))
        return processor.ParslExecutor(status=False, retries=0)

    try:
        check(Road(processor.ParslExecutor(status=False, retries=0), executor, tiny, tmp_path), "parsl")
    finally:
        unload()


@pytest.mark.parametrize("replayed", [False, True])
def test_checkpoints(tiny, tmp_path, replayed):
    def executor():
        return processor.IterativeExecutor(status=False, retries=0)

    def points(road):
        return tmp_path / ("points" if replayed else f"points{road.runs}")

    road = Road(executor(), executor, tiny, tmp_path, points=points)
    if replayed:
        road.make_runner()(tiny, Analysis())
        road.records = 0
    check(road)


def test_every_hook_was_walked():
    """After the roads above: a hook that none of them enters is not tested."""
    if not entered:
        pytest.skip("the roads were not walked")
    assert sorted(set(HOOKS) - entered) == []


def test_an_interrupt_comes_through(tiny, tmp_path, monkeypatch):
    """Ctrl-C is the user's, wherever it lands, and leaves nothing behind either."""
    road = one_by_one(tiny, tmp_path, monkeypatch)
    first = Places(error=KeyboardInterrupt)
    assert road.once(first) == []
    wrong = {}
    for place in first.seen:
        found = road.once(Places(place, KeyboardInterrupt))
        if found := [text for text in found if "lost without" not in text]:
            wrong[place] = found
    assert wrong == {}, "\n".join(f"{place}: {found}" for place, found in wrong.items())
