"""Checkpoints of Coffea hold what they would hold without us."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from coffea.processor import CheckpointerABC

__all__ = ["CleanCheckpoints"]

OUTPUT_KEY = "__roastcoffea_metrics__"
_METRICS = "metrics"


class CleanCheckpoints(CheckpointerABC):
    """A user's checkpointer; what it saves has no records of ours, and Coffea's metrics only if the user wants them.

    It runs in the worker, where this package is known to be.
    """

    def __init__(self, users: Any, with_metrics: bool) -> None:
        self._users = users
        self._with_metrics = with_metrics

    def load(self, metadata: Any, processor_instance: Any) -> Any:
        return self._users.load(metadata, processor_instance)

    def save(self, output: Any, metadata: Any, processor_instance: Any) -> None:
        ours = _take_out(output, self._with_metrics)
        try:
            self._users.save(output, metadata, processor_instance)
        finally:
            for mapping, key, value in ours:
                mapping[key] = value


def _take_out(output: Any, with_metrics: bool) -> list[tuple[MutableMapping[str, Any], str, Any]]:
    """What is ours in the output of a chunk, with its place."""
    if not isinstance(output, MutableMapping):
        return []
    found = [(output.get("out"), OUTPUT_KEY), *([] if with_metrics else [(output, _METRICS)])]
    return [
        (mapping, key, mapping.pop(key))
        for mapping, key in found
        if isinstance(mapping, MutableMapping) and key in mapping
    ]
