"""Checkpoints of Coffea hold what they would hold without us."""

from __future__ import annotations

import copy
from collections.abc import MutableMapping
from typing import Any

from coffea.processor import CheckpointerABC  # type: ignore[import-untyped]

from roastcoffea.guard import hook

__all__ = ["CleanCheckpoints"]

_METRICS = "metrics"
# The numbers of Coffea's report, which are those of another run where a chunk is replayed.
_SUMS = ("entries", "bytesread", "processtime")


class CleanCheckpoints(CheckpointerABC):  # type: ignore[misc]
    """A user's checkpointer. What it saves has no records of ours, and Coffea's metrics only if the user wants them;
    what it loads is counted. It runs in the worker, where this package is known to be."""

    def __init__(self, users: Any, with_metrics: bool, output_key: str, replayed_key: str) -> None:
        self._users = users
        self._with_metrics = with_metrics
        self._output_key = output_key
        self._replayed_key = replayed_key

    def load(self, metadata: Any, processor_instance: Any) -> Any:
        original = self._users.load
        found = original(metadata, processor_instance)
        return found if found is None else self._counted(found) or found

    def save(self, output: Any, metadata: Any, processor_instance: Any) -> None:
        original, ours = self._users.save, self._take_out(output) or []
        try:
            original(output, metadata, processor_instance)
        finally:
            for mapping, key, value in ours:
                mapping[key] = value

    @hook("a checkpoint could not be looked at")
    def _counted(self, found: Any) -> Any:
        """A copy, for a checkpointer may keep what it returns. Coffea adds the counts up."""
        if not isinstance(found, MutableMapping):
            return None
        metrics = found.get(_METRICS) or {}
        counts = {"chunks": 1, **{key: metrics[key] for key in _SUMS if key in metrics}}
        out = found.get("out")
        if isinstance(out, MutableMapping) and self._output_key in out:  # a checkpoint of an older release
            out = copy.copy(out)
            del out[self._output_key]
        return {**found, "out": out, self._replayed_key: counts}

    @hook("records of chunks may be in a checkpoint")
    def _take_out(self, output: Any) -> list[tuple[MutableMapping[str, Any], str, Any]]:
        """What is ours in the output of a chunk, with its place."""
        if not isinstance(output, MutableMapping):
            return []
        places = [(output.get("out"), self._output_key), *([] if self._with_metrics else [(output, _METRICS)])]
        return [
            (mapping, key, mapping.pop(key))
            for mapping, key in places
            if isinstance(mapping, MutableMapping) and key in mapping
        ]
