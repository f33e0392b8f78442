"""Calls of Dask's scheduler, which may be wedged, by a client that Ctrl-C may interrupt."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import Any

from roastcoffea.backends.dask.remote import by_value
from roastcoffea.backends.source import Source

__all__ = ["CALL_TIMEOUT", "Asking"]

# Time limit for an answer of the scheduler while the run goes on.
CALL_TIMEOUT = 60.0
_LOOK_SECONDS = 0.1  # how often a call looks whether the run has ended meanwhile
_SETTLE_SECONDS = 5.0  # an order that takes longer meets a scheduler that knows that the run has ended
# The part of the time at the end that is left for the rest, when the last news are given up.
_NEWS_END = 5 / 6


class _Call:
    """A call that runs in the client's own loop: an interrupt ends the waiting for it. Dask would cancel the call as well,
    and leave it half done."""

    def __init__(self, client: Any, function: Any, args: tuple[Any, ...]) -> None:
        self._client, self._function, self._args = client, function, args
        self.ended = threading.Event()
        self.answer: Any = None
        self.error: BaseException | None = None

    async def run(self) -> None:
        try:
            self.answer = await self._client.run_on_scheduler(self._function, *self._args, asynchronous=True)
        except BaseException as error:
            self.error = error
        self.ended.set()


class Asking:
    """Calls functions on the scheduler. `silent`: the last answer did not come in time; then nobody waits for another one
    at the end of the run."""

    def __init__(self, client: Any, source: Source) -> None:
        """`source` has the time limit of the end."""
        self.silent = False
        self._client = client
        self._source = source
        self._in_vain = False  # the last call had no answer
        self._waiting: list[_Call] = []

    def ask(self, function: Any, *args: Any, limit: float = CALL_TIMEOUT, during: bool = False) -> Any:
        """The answer to a call that may be made twice: an answer that is lost is asked for again, unless the previous call
        had none either. `during`: it is of no use any more when the run has ended."""
        for last in (self._in_vain, True):
            try:
                answer = self._ask(function, args, limit, during)
                self._in_vain = self.silent = False
                return answer
            except OSError:  # a TimeoutError as well
                self._in_vain = True
                if last or self.silent or (during and self._is_ending()):
                    raise
        return None

    def settle(self) -> None:
        """Waits for the calls that were interrupted: what they do on the scheduler is done then."""
        for call in self._waiting:
            if not self.silent and not self._is_in_loop():
                call.ended.wait(min(self._source.seconds_left(), _SETTLE_SECONDS))
        self._waiting = []

    def _ask(self, function: Any, args: tuple[Any, ...], limit: float, during: bool) -> Any:
        status = getattr(self._client, "status", "running")
        if status != "running":
            raise ConnectionError(f"the client is {status}")
        if self._source.ends_by is not None:
            limit = 0.0 if self.silent or self._is_in_loop() else min(limit, self._source.seconds_left())
        call = _Call(self._client, by_value(function), args)
        self._waiting.append(call)
        self._client.loop.add_callback(call.run)
        if not self._wait(call, limit, during):
            raise TimeoutError(f"the scheduler did not answer within {limit:.3g} s")
        error, call.error = call.error, None
        if error is not None:
            raise error
        return call.answer

    def _wait(self, call: _Call, limit: float, during: bool) -> bool:
        """Whether it has ended. It stays in `_waiting` only if an interrupt comes."""
        end = time.monotonic() + limit
        while not call.ended.is_set() and (left := end - time.monotonic()) > 0:
            call.ended.wait(min(left, _LOOK_SECONDS) if during else left)
            if during and self._is_ending():
                break
        else:
            self.silent = not call.ended.is_set()
        with suppress(ValueError):
            self._waiting.remove(call)
        return call.ended.is_set()

    def _is_in_loop(self) -> bool:
        """Whether this thread runs the client's loop, as the garbage collector may: it cannot wait for itself."""
        with suppress(RuntimeError):
            return bool(asyncio.get_running_loop() is self._client.loop.asyncio_loop)
        return False

    def _is_ending(self) -> bool:
        """Whether the run has ended a while ago."""
        source = self._source
        return source.ends_by is not None and source.seconds_left() < source.seconds_at_end * _NEWS_END
