"""How many pieces of work there are, and how many of them are done."""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["Counted", "Pieces"]


class Counted(NamedTuple):
    """The pieces of work of one call of a Runner."""

    pieces: int
    done: int | None  # None: only the records of chunks tell
    tracked: bool  # whether each piece leaves a record

    def state(self) -> Counted:
        return self


class Call(Protocol):
    def state(self) -> Counted:
        """What is known of it now."""


class Pieces:
    """The pieces of work of all calls of Runners so far."""

    def __init__(self) -> None:
        self.records_arrive = True  # during the run, not with the output alone
        self.tasks_done: int | None = None  # as the engine knows it, where records do not arrive
        self._calls: list[Call] = []

    def add(self, call: Call) -> None:
        self._calls.append(call)

    def call_ends(self, call: Call) -> None:
        """The call itself is not kept: it holds objects of the user."""
        self._calls[:] = [one.state() if one is call else one for one in self._calls]

    def count(self, records: int) -> tuple[int | None, int | None]:
        """How many there are, and how many of them are done; None: not known. `records`: how many chunks have left a
        record of success."""
        calls = [call.state() for call in list(self._calls)]
        if not calls:
            return None, None
        pieces, known = sum(call.pieces for call in calls), [call.done for call in calls if call.done is not None]
        if len(known) == len(calls):
            return pieces, sum(known)
        # A piece whose result was lost with its worker leaves two records.
        told = self.records_arrive and all(call.tracked for call in calls)
        done = records if told else self.tasks_done
        return pieces, None if done is None else min(done, pieces)
