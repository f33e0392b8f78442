"""Finds the records that belong to a run, and names its pieces of work.

A record contains the topic of its processor as a number. So a record of another run, replayed from a checkpoint, is
recognised by its own contents, without a clock.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable
from typing import Any

from roastcoffea._core import redact_name

__all__ = ["RunIdentity", "name_of", "piece_named", "piece_of", "recorded"]

_lock = threading.Lock()
_open: list[RunIdentity] = []


class RunIdentity:
    """The topic of one run, and those of the runs that were measured at the same time: collectors that are open
    together may have one processor, which has the topic of the last one."""

    def __init__(self, topic: str | None) -> None:
        # A topic without a channel still identifies the run.
        self.topic = f"run:{uuid.uuid4().hex}" if topic is None else topic
        self.topics = {self.topic}
        self.mixed = False  # whether another run had the same processor at the same time

    @property
    def is_open(self) -> bool:
        return self in _open

    def open(self) -> None:
        with _lock:
            for other in _open:
                other.topics.add(self.topic)
                self.topics.add(other.topic)
            _open.append(self)

    def close(self) -> None:
        with _lock:
            _open[:] = [other for other in _open if other is not self]

    def meet(self, topics: Iterable[str], watching: Iterable[str]) -> None:
        """The processor has these topics in a call that the runs of the topics `watching` see; runs of other topics use
        the processor in calls of their own."""
        strangers = set(topics).difference(watching)
        with _lock:
            for run in _open if strangers else ():
                run.mixed = run.mixed or run is self or run.topic in strangers


def name_of(value: Any) -> str | None:
    """A dataset or a file as text, as in the records: Coffea takes a year or a path as well. None has no name."""
    if value is None or type(value) is str:
        return value
    try:
        return str(value)
    except Exception:  # code of the user's
        return None


def piece_named(dataset: Any, file: Any, treename: Any, start: Any, stop: Any) -> tuple[Any, ...]:
    """A piece of work in the form of the engine."""
    return name_of(dataset), name_of(file), name_of(treename), start, stop


def piece_of(item: Any) -> tuple[Any, ...]:
    """A WorkItem in the form of the engine."""
    return piece_named(item.dataset, item.filename, item.treename, item.entrystart, item.entrystop)


def recorded(piece: tuple[Any, ...]) -> tuple[Any, ...]:
    """As records name it: without the secrets of the file's address. In the user's process pieces keep them, so that
    failed_fileset() can be run."""
    dataset, file, *rest = piece
    return dataset, redact_name(file) if isinstance(file, str) else file, *rest
