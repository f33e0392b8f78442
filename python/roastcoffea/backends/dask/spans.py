"""Spans of Dask that stay open over several calls."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from types import TracebackType

__all__ = ["ANNOTATION", "DaskSpan"]

# Tasks that are submitted in one of our spans carry {name of our plugin: id of the span} under this
# name. Dask overwrites the span itself if tasks of one name meet, but not this annotation.
ANNOTATION = "roastcoffea"
# All spans that are in force in some thread or context, by their id.
_in_force: dict[str, DaskSpan] = {}


class DaskSpan:
    """All tasks that are submitted in this thread until `close` belong to it."""

    def __init__(self, name: str, plugin: str) -> None:
        self.closed = False
        self.id = ""
        self.name: tuple[str, ...] = (name,)
        self._plugin = plugin
        self._contexts: list[AbstractContextManager[str | None]] = []  # the innermost last

    def open(self) -> None:
        """Call it when `close` is sure to be called: an interrupt may come at once."""
        from dask.base import annotate, get_annotations
        from distributed.spans import span

        outer = get_annotations().get(ANNOTATION, {})
        self._contexts = [span(*self.name)]
        self._contexts[0].__enter__()
        self.id = get_annotations()["span"]["ids"][-1]
        self.name = get_annotations()["span"]["name"]
        _in_force[self.id] = self
        self._contexts.append(annotate(**{ANNOTATION: {**outer, self._plugin: self.id}}))
        self._contexts[1].__enter__()

    def __repr__(self) -> str:
        return f"<DaskSpan {'/'.join(self.name)}: {'closed' if self.closed else 'open'}>"

    def __enter__(self) -> DaskSpan:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Tasks submitted from now on do not belong to it. A second call does nothing.

        If another span of ours was opened in this one and is still open, both stay in force until that one ends.
        """
        if self.closed and not self._contexts:
            return
        self.closed = True
        if self.id not in self._around():
            # Closed in another thread or context than it was opened in; only that one can undo it.
            self._end()
        while (around := self._around()) and (last := _in_force.get(around[-1])) and last.closed:
            last._end()

    def _around(self) -> list[str]:
        """The ids of our spans in this context, the innermost last."""
        from dask.base import get_annotations

        return [one for one in get_annotations().get("span", {}).get("ids", ()) if one in _in_force]

    def _end(self) -> None:
        while self._contexts:
            with suppress(ValueError, RuntimeError):  # opened in another thread, or not opened for an interrupt
                self._contexts[-1].__exit__(None, None, None)
            self._contexts.pop()
        _in_force.pop(self.id, None)
