"""Keeps our records out of Coffea's checkpoints."""

from __future__ import annotations

import copy
from collections.abc import MutableMapping
from typing import Any

from coffea.processor import CheckpointerABC  # type: ignore[import-untyped]

from roastcoffea.common.guard import hook

__all__ = ["CleanCheckpoints"]

_METRICS = "metrics"
# The numbers of Coffea's report; for a replayed chunk they are of another run.
_SUMS = ("entries", "bytesread", "processtime")


class CleanCheckpoints(CheckpointerABC):  # type: ignore[misc]
    """A user's checkpointer. It saves no records of ours, and Coffea's metrics only if the user wants them; loaded
    chunks are counted. It runs in a worker that has this package."""

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

    @hook("a checkpoint could not be read")
    def _counted(self, found: Any) -> Any:
        """A copy, because a checkpointer may keep the object that it returns. Coffea adds up the counts."""
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
        """Our entries in the output of a chunk, with their place."""
        if not isinstance(output, MutableMapping):
            return []
        places = [(output.get("out"), self._output_key), *([] if self._with_metrics else [(output, _METRICS)])]
        return [
            (mapping, key, mapping.pop(key))
            for mapping, key in places
            if isinstance(mapping, MutableMapping) and key in mapping
        ]
