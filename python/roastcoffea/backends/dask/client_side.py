"""Collecting from the client, where Dask's scheduler lacks this package."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from roastcoffea._core import WorkerSeries
from roastcoffea.backends.dask.asking import Asking
from roastcoffea.backends.dask.remote import sample

__all__ = ["ClientSide"]


_SAMPLE_SECONDS = 5.0  # a sample that takes longer has failed


class ClientSide:
    """Asks the scheduler for the numbers of its workers, and listens to the topic."""

    def __init__(self, client: Any, asking: Asking, topic: str, message_limit: int, zero: float) -> None:
        """`zero` is the moment that the steady clock of the scheduler counts from."""
        self._asking = asking
        self.failed = 0
        self.failure = ""
        self._client = client
        self._topic = topic
        self._message_limit = message_limit
        self._series = WorkerSeries()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._present: set[str] = set()
        self._since = 0.0  # by the system's clock of the scheduler
        self._zero = zero
        self._last = 0.0
        self._news = threading.Condition()
        self._messages: list[bytes] = []
        self._message_bytes = 0
        self._dropped = 0
        self._rounds: dict[str, set[str]] = {}
        # (worker, "end", counters) of workers that closed during the run
        self.seen_counters: list[tuple[str, str, Any]] = []

    def listen(self) -> None:
        self._client.subscribe_topic(self._topic, self._receive)

    def remove(self) -> None:
        """Call it when the sampling and the scheduler's subscription have ended."""
        # Unsubscribing would leave the handler there, and the topic on the scheduler as well.
        getattr(self._client, "_event_handlers", {}).pop(self._topic, None)

    # ---- workers ----

    def start_sampling(self, interval: float) -> None:
        self._look()
        self._thread = threading.Thread(
            target=self._run, args=(interval,), name="roastcoffea-sampler", daemon=True
        )
        self._thread.start()

    def stop_sampling(self) -> WorkerSeries | None:
        """Takes a last sample and returns the last samples; None if there are none."""
        self._stopped.set()
        if self._thread is None:
            return None
        if self._thread.is_alive():
            self._thread.join()  # its calls have limits
        self._look()
        self._thread = None
        return self._series

    def _run(self, interval: float) -> None:
        due = time.monotonic() + interval
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            self._look()
            # A sample that took longer than the interval does not shift the next one.
            due += interval * max(1, int((time.monotonic() - due) / interval) + 1)

    def _look(self) -> None:
        try:
            seen = self._asking.ask(sample, self._since, limit=_SAMPLE_SECONDS)
            with self._news:
                self._take(seen)
        except Exception as error:
            self.failed += 1
            self.failure = f"{type(error).__name__}: {error}"

    def _take(self, seen: dict[str, Any]) -> None:
        first = self._since == 0.0
        when, last = self._zero + seen["when"], self._last
        self._last, self._since = when, seen["since"]
        rows: dict[str, dict[str, Any]] = seen["rows"]
        for age, joined, address in [] if first else seen["changes"]:
            # Since the last sample, even if the system's clock was set.
            moment = min(max(when - age, last), when)
            if joined:
                self._join(address, moment, rows)
            else:
                self._leave(address, moment)
        # Changes that the scheduler's own log of events missed.
        for address in rows.keys() - self._present:
            self._join(address, when, rows)
        for address in self._present - rows.keys():
            self._leave(address, when)
        self._series.tick_values(when, rows)

    def _join(self, address: str, when: float, rows: dict[str, dict[str, Any]]) -> None:
        from distributed.comm.addressing import get_address_host

        threads = int(rows.get(address, {}).get("cores", 0))
        if address not in self._present:
            self._present.add(address)
            self._series.join(address, when, threads, get_address_host(address))

    def _leave(self, address: str, when: float) -> None:
        if address in self._present:
            self._present.remove(address)
            self._series.leave(address, when)

    # ---- messages ----

    def _receive(self, arrived: tuple[float, Any]) -> None:
        message = arrived[1]
        with self._news:
            data = message.get("roastcoffea")
            if isinstance(data, bytes):
                if self._message_bytes + len(data) > self._message_limit:
                    self._dropped += 1
                else:
                    self._messages.append(data)
                    self._message_bytes += len(data)
            elif "roastcoffea-counters" in message:
                self.seen_counters.append((message["worker"], "end", message["roastcoffea-counters"]))
            elif "roastcoffea-round" in message:
                self._rounds.setdefault(message["roastcoffea-round"], set()).add(message["worker"])
            self._news.notify_all()

    def wait_for_round(self, round_id: str, workers: Iterable[str], timeout: float) -> list[str]:
        """Waits for the marks of these workers; returns the workers whose mark did not arrive."""
        wanted = set(workers)
        with self._news:
            self._news.wait_for(lambda: wanted <= self._rounds.get(round_id, set()), timeout)
            return sorted(wanted - self._rounds.pop(round_id, set()))

    def hand_over(self) -> tuple[list[bytes], int, WorkerSeries | None]:
        """The messages that have arrived, how many were dropped, and the samples since the last call."""
        with self._news:
            messages, dropped = self._messages, self._dropped
            self._messages, self._message_bytes, self._dropped = [], 0, 0
            samples, self._series = self._series, WorkerSeries()
        return messages, dropped, samples if self._thread is not None else None
