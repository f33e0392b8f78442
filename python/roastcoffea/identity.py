"""Which records belong to a run.

A record carries the topic that its processor had when it was made, as a number. So a record that a checkpoint
replays from another run is told by what it says of itself, and no clock is asked.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from typing import Any

from roastcoffea._core import ChunkLog, split_replayed

__all__ = ["RunIdentity"]

_lock = threading.Lock()
_numbers = itertools.count()
_marked: list[tuple[Any, RunIdentity]] = []  # processors, and whose topic was put onto them


class RunIdentity:
    """The topics of the records that are made for one run."""

    def __init__(self, topic: str | None) -> None:
        # One that nothing can be sent to still says which run it is.
        self.topic = f"run:{uuid.uuid4().hex}" if topic is None else topic
        self._topics = {self.topic}
        self._thread = threading.get_ident()
        self._number = next(_numbers)
        self._doubles = ChunkLog()

    def put_on(self, processor: Any) -> None:
        """The topic is now the one of the processor, also for other runs that have put theirs there before."""
        with _lock:
            for other, run in _marked:
                if other is processor and not self._is_around(run):
                    run._topics.add(self.topic)
            _marked.append((processor, self))

    def take_off(self, processor: Any) -> None:
        """The opposite of `put_on`."""
        with _lock:
            for at in reversed(range(len(_marked))):
                other, run = _marked[at]
                if other is processor and run is self:
                    del _marked[at]
                    return

    def _is_around(self, inner: RunIdentity) -> bool:
        """Whether the other run is inside this one, whose topic it then puts its own over."""
        return self._thread == inner._thread and self._number < inner._number

    def take_output(self, chunks: ChunkLog, into: ChunkLog) -> None:
        """Adds the records of one output to those of the run. What is there already came with another output: a
        checkpoint has replayed it."""
        known = into.copy()
        _, doubles = into.merge_unique(chunks)
        for record in chunks.copy() if doubles else ():
            one = ChunkLog([record])
            if known.merge_unique(one) == (0, 1):
                self._doubles += one

    def split(self, chunks: ChunkLog) -> tuple[ChunkLog, ChunkLog]:
        """(chunks of this run, those that a checkpoint has replayed)"""
        fresh, replayed = split_replayed(chunks, self._topics)
        replayed += self._doubles
        return fresh, replayed
