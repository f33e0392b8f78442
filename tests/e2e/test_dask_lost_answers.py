"""An answer of the scheduler that is lost on its way costs nothing: it is asked for again, and counts once."""

from __future__ import annotations

import asyncio
import time

import pytest
from dask_parts import LATER, cluster, nothing_left, send, traces

from roastcoffea import MetricsCollector, open_run, track_metrics
from roastcoffea.backends.dask import client_side as _client_side, remote as _remote, scheduler as _scheduler
from roastcoffea.backends.dask.remote import by_value
from roastcoffea.backends.dask.source import DaskSource
from roastcoffea.backends.source import Ran

pytestmark = pytest.mark.usefixtures("no_trace_of_other_tests")


class Lossy:
    """Runs what the scheduler is asked to run, and then loses the answers to some of the questions."""

    def __init__(self, client, monkeypatch, lost=()):
        self.asked, self.lost = [], set(lost)
        self._real = client.run_on_scheduler
        monkeypatch.setattr(client, "run_on_scheduler", self)

    def __call__(self, function, *args, **kwargs):
        answer = self._real(function, *args, **kwargs)
        return answer if function.__name__ not in ("install", "fetch_news", "finish", "discard") else self._lose(function, answer)

    async def _lose(self, function, call):
        answer = await call
        self.asked.append(function.__name__)
        if len(self.asked) - 1 in self.lost:
            raise (OSError if len(self.asked) % 2 else TimeoutError)("the answer was lost")
        return answer


@pytest.fixture
def ticks(client, monkeypatch):
    """When the scheduler, which is in this process, looked at its workers for this client."""
    taken, real = [], _scheduler.RunPlugin._tick

    def counted(self):
        before = self.series if self.client == client.id else None
        real(self)
        taken.extend([] if before is None else [time.time()])

    monkeypatch.setattr(_scheduler.RunPlugin, "_tick", counted)
    return taken


def assert_all_there_once(client, found, sent, ticks):
    assert sorted(map(int, found.records)) == list(range(sent))
    assert len(found.series) == len(ticks)
    times = list(found.series.as_tracking_data()["worker_counts"])
    assert times == sorted(set(times)) and len(times) == len(ticks)
    assert found.attempts is not None and nothing_left(client)


ROUNDS = 4


def told_in_rounds(client, source, topic):
    """A run with news: what they told, each call tried again where it failed."""
    told, parts = [], []
    for i in range(ROUNDS):
        client.submit(send, topic, 3 * i, 3, pure=False).result()
        time.sleep(0.15)
        for _ in range(2):
            try:
                logs, samples, *_ = source.news()
            except (TimeoutError, OSError):
                continue
            told += logs
            parts += [] if samples is None else [samples]
            break
    return told, parts


# install, the news of four rounds, the end, and that it has arrived; two in a row: the second try was in vain, too
@pytest.mark.parametrize("lost", [(), *((i,) for i in range(ROUNDS + 3)), (0, 1), (2, 3), (1, 3, 5), (5, 6), (6, 7)])
def test_each_answer_in_turn(client, monkeypatch, ticks, lost):
    line = Lossy(client, monkeypatch, lost)
    source = DaskSource(client, None)
    told, parts = told_in_rounds(client, source, source.begin(0.1).topic)
    found = source.end(Ran())
    assert_all_there_once(client, found, 3 * ROUNDS, ticks)
    assert told == found.records[: len(told)] and len(told) >= 3 * (ROUNDS - 1)
    assert 0 < sum(map(len, parts)) <= len(ticks)
    assert [("the answer was lost" in note) for note in found.notes] == [True] * (lost in ((0, 1), (5, 6)))
    assert max(lost, default=0) < len(line.asked)


@by_value
def fail(number):
    raise OSError(f"no file {number} " + "x" * 3000)


def test_tries_that_failed_are_told_while_the_run_goes_on(client, monkeypatch):
    """The last ones and how many, however many there are; a lost answer changes nothing, and the end counts each once."""
    line, count = Lossy(client, monkeypatch, {1}), 25
    source = DaskSource(client, None)
    source.begin(None)
    assert source.news().failures == (0, [])
    client.gather(client.map(fail, range(count), pure=False, retries=1), errors="skip")
    failed, last = source.news().failures
    assert failed == 2 * count and len(last) == 10 and len(line.asked) > 3
    for told, where in last:
        assert told.startswith("OSError: no file ") and len(told) <= 1000 and where.startswith("fail, ")
    assert source.news().failures == (failed, last)
    tries = source.end(Ran()).attempts.records()
    assert len(tries) == 2 * count and {one["outcome"] for one in tries} == {"raised"}


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

    from roastcoffea.collector import live_writer as live, news

    start = news.NewsThread.start
    monkeypatch.setattr(live.LiveWriter, "interval", 0.2)
    executor = processor.DaskExecutor(client=client, status=False)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=200, savemetrics=True)
    line = Lossy(client, monkeypatch, {lost} if lost >= 0 else ())
    made = []
    monkeypatch.setattr(news.NewsThread, "start", lambda self: (made.append(self), start(self)))
    with MetricsCollector(client, output_dir=tmp_path, worker_tracking_interval=0.1) as mc:
        (looks,) = made
        output, report = runner(fileset, processor_instance=Counting.make())
        looks.stop()
        if lost < 0:
            line.lost = {len(line.asked) + 2 + lost}
    chunks = mc.chunk_metrics
    assert len(chunks) == report["chunks"] == mc.metrics["num_chunks"]
    assert sum(chunk["num_events"] for chunk in chunks) == output["events"]
    assert len(mc.tracking_data["worker_counts"]) == len(ticks)
    saved = open_run(mc.measurement_path)
    assert len(saved.chunk_metrics) == len(chunks) and len(saved.run.samples) == len(mc.run.samples)
    assert line.asked.count("fetch_news") > 3 and nothing_left(client)


def test_what_waits_for_the_client_is_limited():
    """Also what was handed over, until the client says that it has it."""

    async def run():
        plugin = _scheduler.RunPlugin("name", "topic", "client", 10)
        plugin.scheduler = plugin.series = plugin.live = None
        plugin._messages, plugin._message_bytes, plugin._dropped = [], 0, 0
        plugin._batches, plugin._batch_count = [], 0
        for _ in range(3):
            plugin._keep(b"1234")
        assert plugin.hand_over(0) == [(1, [b"1234", b"1234"], 1, None)]
        plugin._keep(b"567")
        assert plugin.hand_over(0) == [(1, [b"1234", b"1234"], 1, None), (2, [], 1, None)]
        assert plugin.hand_over(2) == []
        plugin._keep(b"1234567890")
        assert plugin.hand_over(2) == [(3, [b"1234567890"], 0, None)]

    asyncio.run(run())


def test_an_end_that_nobody_confirms_leaves_nothing_for_long(client, monkeypatch):
    monkeypatch.setattr(_scheduler, "GRACE_SECONDS", 0.5)
    source = DaskSource(client, None)
    source.begin(LATER)
    real = source._on_scheduler

    def cut(function, *args):
        if function is _remote.discard:
            raise OSError("the line was cut")
        return real(function, *args)

    monkeypatch.setattr(source, "_on_scheduler", cut)
    found = source.end(Ran())
    assert found.records == [] and len(found.series) == 2
    assert traces(client) != []
    assert nothing_left(client)
    assert found.notes == []


def test_news_of_a_scheduler_without_the_package(monkeypatch):
    """The client samples itself: each sample and each message is told once, and all of it is there in the end."""
    async def fails(self, scheduler):
        raise RuntimeError("no room for a plugin")

    monkeypatch.setattr(_scheduler.RunPlugin, "start", fails)
    with cluster(n_workers=1, processes=False) as (_, client):
        source = DaskSource(client, None)
        topic = source.begin(0.1).topic
        assert isinstance(source._client_side, _client_side.ClientSide)
        told, parts = told_in_rounds(client, source, topic)
        found = source.end(Ran())
        assert sorted(map(int, found.records)) == list(range(3 * ROUNDS))
        assert told == found.records[: len(told)] and len(told) >= 3 * (ROUNDS - 1)
        assert 0 < sum(map(len, parts)) <= len(found.series)
        times = list(found.series.as_tracking_data()["worker_counts"])
        assert times == sorted(set(times)) and len(times) == len(found.series)
