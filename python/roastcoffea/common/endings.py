"""An exception in texts. No exception, traceback or frame is kept: they hold the user's objects.

The engine removes secrets from the texts that it takes. What is cut here loses them before: half an address is no address.
"""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Iterator
from typing import Any

from roastcoffea._core import parse_work_item, redact_text

__all__ = ["describe_error", "describe_text", "is_interrupt", "message_of", "pieces_in"]

_LONGEST = 64_000  # characters of a traceback: some 1,000 frames
# Coffea raises a plain Exception that names the piece of work and ends with the exception of the user's code.
_WRAPPED = re.compile(r"WorkItem\(.*The error was: ([A-Za-z_][\w.]*)\((.*)\)\.\s*\Z", re.DOTALL)

# The first line of an exception below its traceback.
_PRINTED = re.compile(r"([A-Za-z_][\w.]*)(?:: (.*))?")


def is_interrupt(error: BaseException) -> bool:
    """KeyboardInterrupt, SystemExit and their like."""
    return not isinstance(error, Exception)


def message_of(error: BaseException) -> str:
    """Its text; `__str__` is user code and may fail."""
    try:
        return str(error)
    except Exception:
        return ""


def pieces_in(error: BaseException | None) -> Iterator[tuple[Any, ...]]:
    """The pieces of work that an error and its causes name."""
    while error is not None:
        if (piece := parse_work_item(message_of(error))) is not None:
            yield piece
        error = error.__cause__ or error.__context__


def describe_error(error: BaseException) -> dict[str, Any]:
    """`type`, `message` and `traceback`, and of the piece that it names `dataset`, `file`, `entry_start`,
    `entry_stop`."""
    kind, message = _kind_of(error)
    known: dict[str, Any] = {"type": kind, "message": message, "traceback": _traceback_of(error)}
    piece = next(pieces_in(error), None)
    if piece is not None:
        dataset, file, _, start, stop = piece
        known |= {"dataset": dataset, "file": file, "entry_start": start, "entry_stop": stop}
    return known


def describe_text(printed: str) -> tuple[str, str] | None:
    """Type and message of the exception that a process printed when it ended; None if there is none."""
    lines = redact_text(printed).rstrip().split("\n")
    for last in range(len(lines) - 1, 0, -1):  # the lines of a traceback are indented, those of a message rarely
        first = _PRINTED.fullmatch(lines[last])
        if first is not None and lines[last - 1].startswith("  "):
            break
    else:
        return None
    kind, message = first[1], "\n".join([first[2] or "", *lines[last + 1 :]]).strip()
    wrapped = _WRAPPED.search(message) if kind == "Exception" else None
    return (kind, message) if wrapped is None else (wrapped[1], _literal(wrapped[2]))


def _literal(text: str) -> str:
    """The value of a Python literal, as text; any other text as it is."""
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _kind_of(error: BaseException) -> tuple[str, str]:
    """Type and message of the exception that the user's code raised, where Coffea has put it into one of its own."""
    message = message_of(error)
    wrapped = _WRAPPED.search(message) if type(error) is Exception else None
    if wrapped is None:
        return type(error).__name__, message
    kind, text = wrapped.groups()
    cause = error.__cause__
    if cause is not None and type(cause).__name__ == kind:
        return kind, message_of(cause)
    return kind, _literal(text)  # from another process only the text arrives


def _traceback_of(error: BaseException) -> str:
    text = redact_text("".join(traceback.format_exception(error)))
    if len(text) <= _LONGEST:
        return text
    # The end names the error and the line that raised it.
    return f"({len(text) - _LONGEST} characters are left out)\n{text[-_LONGEST:]}"
