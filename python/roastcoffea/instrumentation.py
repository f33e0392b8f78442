"""Context managers that mark a part of process()."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roastcoffea._core import record_metric, track_bytes, track_memory, track_time

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

track_section = track_time

__all__ = [
    "BaseInstrumentationContext",
    "track_bytes",
    "track_memory",
    "track_section",
    "track_time",
]


class BaseInstrumentationContext:
    """Base of a context manager of your own; call ``self.record_metric(name, value)`` in it.

    Args:
        processor: The processor whose process() runs.
        name: For your own use.
    """

    processor: Any = None
    name: Any = None

    def __init__(self, processor: Any, name: Any = None) -> None:
        self.processor = processor
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(  # type: ignore[exit-return]  # one of the user's may return True
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> bool | None:
        return False

    def record_metric(self, name: str, value: Any, /) -> None:
        """Stores a value of your own with the chunk that is being processed.

        Args:
            name: The key in the record of the chunk.
            value: A number, a text, or a list or mapping of these.
        """
        record_metric(self.processor, name, value)
