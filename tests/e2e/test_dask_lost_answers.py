"""An answer of the scheduler that is lost on its way costs nothing: it is asked for again, and counts once."""

from __future__ import annotations

import asyncio
import time

import pytest

pytest.importorskip("distributed")

from dask_parts import LATER, cluster, eventually, send, traces  # noqa: E402
from roastcoffea import MetricsCollector, _core, open_run, track_metrics  # noqa: E402
from roastcoffea.backends import _client_post, _remote, _scheduler  # noqa: E402
from roastcoffea.backends.dask import DaskMetricsBackend  # noqa: E402

pytestmark = pytest.mark.usefixtures("no_trace_of_other_tests")


class Lossy:
    """Runs what the scheduler is asked to run, and then loses the answers to some of the questions."""

    def __init__(self, client, monkeypatch, lost=()):
        self.asked, self.lost = [], set(lost)
        self._real = client.run_on_scheduler
        monkeypatch.setattr(client, "run_on_scheduler", self)

    def __call__(self, function, *args, **kwargs):
        answer = self._real(function, *args, **kwargs)
        if function.__name__ not in ("install", "command", "finish", "discard"):
            return answer
        self.asked.append(function.__name__)
        if len(self.asked) - 1 in self.lost:
            raise (OSError if len(self.asked) % 2 else TimeoutError)("the answer was lost")
        return answer


@pytest.fixture
def ticks(client, monkeypatch):
    """When the scheduler, which is in this process, looked at its workers for this client."""
    taken, real = [], _scheduler.SchedulerPost._tick

    def counted(self):
        before = self.series if self.client == client.id else None
        real(self)
        taken.extend([] if before is None else [time.time()])

    monkeypatch.setattr(_scheduler.SchedulerPost, "_tick", counted)
    return taken


def assert_all_there_once(client, backend, messages, sent, ticks):
    assert sorted(map(int, messages)) == list(range(sent))
    assert len(backend.series) == len(ticks)
    times = list(backend.series.as_tracking_data()["worker_counts"])
    assert times == sorted(set(times)) and len(times) == len(ticks)
    assert backend.attempts is not None and traces(client) == []


ROUNDS = 4


def told_in_rounds(client, backend, topic):
    """A run with news: what they told, each call tried again where it failed."""
    told, pieces = [], []
    for i in range(ROUNDS):
        client.submit(send, topic, 3 * i, 3, pure=False).result()
        time.sleep(0.15)
        for _ in range(2):
            try:
                logs, piece = backend.news()
            except (TimeoutError, OSError):
                continue
            told += logs
            pieces += [] if piece is None else [piece]
            break
    return told, pieces


# install, the news of four rounds, the end, and that it has arrived; two in a row: the second try was in vain, too
@pytest.mark.parametrize("lost", [(), *((i,) for i in range(ROUNDS + 3)), (0, 1), (2, 3), (1, 3, 5), (5, 6), (6, 7)])
def test_each_answer_in_turn(client, monkeypatch, ticks, lost):
    line = Lossy(client, monkeypatch, lost)
    backend = DaskMetricsBackend(client)
    backend.begin_run(0.1)
    topic = backend.open_channel()
    backend.start_tracking(0.1)
    told, pieces = told_in_rounds(client, backend, topic)
    backend.end_run(None)
    messages = backend.close_channel()
    backend.stop_tracking()
    assert_all_there_once(client, backend, messages, 3 * ROUNDS, ticks)
    assert told == messages[: len(told)] and len(told) >= 3 * (ROUNDS - 1)
    assert 0 < sum(map(len, pieces)) <= len(ticks)
    assert [("the answer was lost" in note) for note in backend.notes] == [True] * (lost in ((0, 1), (5, 6)))
    assert max(lost, default=0) < len(line.asked)


@pytest.mark.parametrize("lost", range(3))
def test_an_end_that_is_asked_for_one_by_one(client, monkeypatch, ticks, lost):
    backend = DaskMetricsBackend(client)
    topic = backend.open_channel()
    backend.start_tracking(LATER)
    client.submit(send, topic, 0, 3, pure=False).result()
    line = Lossy(client, monkeypatch, [lost])
    messages = backend.close_channel()
    backend.stop_tracking()
    assert_all_there_once(client, backend, messages, 3, ticks)
    assert line.asked == ["finish"] * 4 and backend.notes == []


class Counting:
    """Made as a decorated processor in the task, which knows nothing of this file."""

    @staticmethod
    def make():
        from coffea import processor

        class Analysis(processor.ProcessorABC):
            @track_metrics
            def process(self, events):
                time.sleep(0.05)
                return {"events": len(events)}

            def postprocess(self, accumulator):
                return accumulator

        return Analysis()


@pytest.mark.parametrize("lost", [0, 1, -2, -1])
def test_a_real_run_with_a_measurement_while_it_goes_on(client, fileset, monkeypatch, tmp_path, ticks, lost):
    """`lost`: which question; from the end the last two are the end itself, and that it has arrived."""
    from coffea import processor
    from coffea.nanoevents import NanoAODSchema

    from roastcoffea import live

    monkeypatch.setattr(live.LiveWriter.__init__, "__defaults__", (_core.now, 0.2))
    executor = processor.DaskExecutor(client=client, status=False)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=200, savemetrics=True)
    line = Lossy(client, monkeypatch, {lost} if lost >= 0 else ())
    with MetricsCollector(client, output_dir=tmp_path, worker_tracking_interval=0.1) as mc:
        output, report = runner(fileset, processor_instance=Counting.make())
        mc._live.stop()
        if lost < 0:
            line.lost = {len(line.asked) + 2 + lost}
    chunks = mc.chunk_metrics
    assert len(chunks) == report["chunks"] == mc.metrics["num_chunks"]
    assert sum(chunk["num_events"] for chunk in chunks) == output["events"]
    assert len(mc.metrics_backend.series) == len(ticks)
    saved = open_run(mc.measurement_path)
    assert len(saved.chunk_metrics) == len(chunks) and len(saved.run.samples) == len(mc.run.samples)
    assert line.asked.count("command") > 3 and traces(client) == []


def test_what_waits_for_the_client_is_limited():
    """Also what was handed over, until the client says that it has it."""

    async def run():
        post = _scheduler.SchedulerPost("name", "topic", "client", 10)
        post.scheduler = None
        post.series = post._rest = None
        post._messages, post._message_bytes, post._dropped = [], 0, 0
        post._parcels, post._parcel_count = [], 0
        for _ in range(3):
            post._keep(b"1234")
        assert post.hand_over(0) == [(1, [b"1234", b"1234"], 1, None)]
        post._keep(b"567")
        assert post.hand_over(0) == [(1, [b"1234", b"1234"], 1, None), (2, [], 1, None)]
        assert post.hand_over(2) == []
        post._keep(b"1234567890")
        assert post.hand_over(2) == [(3, [b"1234567890"], 0, None)]

    asyncio.run(run())


def test_an_end_that_nobody_confirms_leaves_nothing_for_long(client, monkeypatch):
    monkeypatch.setattr(_scheduler, "GRACE_SECONDS", 0.5)
    backend = DaskMetricsBackend(client)
    backend.begin_run(LATER)
    backend.open_channel()
    backend.start_tracking(LATER)
    real = backend._on_scheduler

    def cut(function, *args):
        if function is _remote.discard:
            raise OSError("the line was cut")
        return real(function, *args)

    monkeypatch.setattr(backend, "_on_scheduler", cut)
    backend.end_run(None)
    assert backend.close_channel() == [] and backend.stop_tracking()["worker_counts"]
    assert traces(client) != []
    eventually(lambda: traces(client) == [])
    assert backend.notes == []


def test_news_of_a_scheduler_without_the_package(monkeypatch):
    """The client samples itself: each piece and each message is told once, and all of it is there in the end."""
    async def fails(self, scheduler):
        raise RuntimeError("no room for a plugin")

    monkeypatch.setattr(_scheduler.SchedulerPost, "start", fails)
    with cluster(n_workers=1, processes=False) as (_, client):
        backend = DaskMetricsBackend(client)
        backend.begin_run(0.1)
        topic = backend.open_channel()
        backend.start_tracking(0.1)
        assert isinstance(backend._local, _client_post.ClientPost)
        told, pieces = told_in_rounds(client, backend, topic)
        messages = backend.close_channel()
        backend.stop_tracking()
        assert sorted(map(int, messages)) == list(range(3 * ROUNDS))
        assert told == messages[: len(told)] and len(told) >= 3 * (ROUNDS - 1)
        assert 0 < sum(map(len, pieces)) <= len(backend.series)
        times = list(backend.series.as_tracking_data()["worker_counts"])
        assert times == sorted(set(times)) and len(times) == len(backend.series)
