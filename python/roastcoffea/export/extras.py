"""The user's own values in chunks and metrics, as JSON that keeps Python's types.

A value that JSON cannot represent is ``{"$": kind, "value": ...}``. An object that has no kind is kept as its text,
with the name of its type. Reading never executes anything: a kind that is not listed here is an error.

Secrets are removed: those in texts, and values under names like "password".
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime
from itertools import islice
from typing import Any

from roastcoffea._core import is_secret_name, redact_text

__all__ = ["MAX_DEPTH", "ObjectText", "dump", "load", "plain_json"]

MAX_DEPTH = 100

_TAG = "$"
_HIDDEN = "***"


class ObjectText(str):
    """The text of an object that could not be kept; `type_name` is the name of its type."""

    type_name = ""


def dump(value: Any, limit: int) -> bytes:
    """The value as JSON of at most `limit` bytes.

    Raises a ValueError if that is impossible, or the exception of a method of the value.
    """
    encoder = _Encoder(limit)
    text = json.dumps(encoder.plain(value, 0), separators=(",", ":"), allow_nan=False)
    encoder.take(len(text) - (limit - encoder.left))
    return text.encode()


def load(text: str | bytes) -> Any:
    """The value given to `dump`; a ValueError if the text is not from `dump`."""
    try:
        return _rich(json.loads(text), 0)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def plain_json(value: Any) -> Any:
    """The value as JSON knows it, other objects as their texts."""
    return _redacted(json.loads(json.dumps(value, default=str)))


def _redacted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _HIDDEN if _is_secret(name, one) else _redacted(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_redacted(one) for one in value]
    return redact_text(value) if isinstance(value, str) else value


def _is_secret(name: Any, value: Any) -> bool:
    return isinstance(name, str) and not isinstance(value, bool | None) and is_secret_name(name)


class _Encoder:
    """Stops as soon as the JSON must become too long: a user's value may be huge, or contain itself."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def take(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            raise ValueError(f"as JSON it is longer than {self.limit >> 20} MiB")

    def plain(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(f"it is more than {MAX_DEPTH} levels deep")
        self.take(1)
        if isinstance(value, str):
            self.take(len(value))
            text = redact_text(value)
            return _tagged("object", text, type=value.type_name) if isinstance(value, ObjectText) else text
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else _tagged("float", repr(float(value)))
        if isinstance(value, int):
            return int(value)
        if isinstance(value, datetime):
            return _tagged("datetime", value.isoformat())
        if isinstance(value, bytes):
            self.take(2 * len(value))
            return _tagged("bytes", value.hex())
        return self._container(value, depth + 1)

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list):
            return self._entries(value, depth)
        if isinstance(value, tuple):
            return _tagged("tuple", self._entries(value, depth))
        if isinstance(value, Set):
            kind = "frozenset" if isinstance(value, frozenset) else "set"
            return _tagged(kind, self._entries(value, depth))
        if _is_numpy(value):
            self.take(value.size)
            made = value.tolist()
            if not _is_numpy(made):  # a number that Python has none for gives itself
                return self.plain(made, depth)
        return self._text(value)

    def _few(self, entries: Iterable[Any]) -> list[Any]:
        """All of them, unless they are too many."""
        found = list(islice(entries, self.left + 1))
        if len(found) > self.left:
            self.take(len(found))
        return found

    def _entries(self, entries: Iterable[Any], depth: int) -> list[Any]:
        return [self.plain(entry, depth) for entry in self._few(entries)]

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        pairs = [
            (self.plain(key, depth), _HIDDEN if _is_secret(key, entry) else self.plain(entry, depth))
            for key, entry in self._few(value.items())
        ]
        if all(isinstance(key, str) and key != _TAG for key, _ in pairs):
            return dict(pairs)
        return _tagged("dict", pairs)

    def _text(self, value: Any) -> Any:
        text, kind = redact_text(str(value)), type(value)
        self.take(len(text))
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        return _tagged("object", text, type=name)


def _tagged(kind: str, value: Any, **more: Any) -> dict[str, Any]:
    return {_TAG: kind, **more, "value": value}


def _is_numpy(value: Any) -> bool:
    """Only numpy's: ``tolist()`` of a lazy array would read all of its file."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def _not_finite(text: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError(f"{text!r} is none of nan, inf and -inf")
    return float(text)


_LEAVES: dict[str, Callable[[Any], Any]] = {
    "float": _not_finite,
    "datetime": datetime.fromisoformat,
    "bytes": bytes.fromhex,
}
_LISTS: dict[str, Callable[[Iterable[Any]], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def _rich(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [_rich(entry, depth + 1) for entry in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: _rich(entry, depth + 1) for key, entry in value.items()}
    kind, inner = value[_TAG], value["value"]
    if kind in _LEAVES:
        return _LEAVES[kind](inner)
    if kind in _LISTS:
        return _LISTS[kind]([_rich(entry, depth + 1) for entry in inner])
    if kind == "dict":
        return {_rich(key, depth + 1): _rich(entry, depth + 1) for key, entry in inner}
    if kind == "object" and isinstance(inner, str) and isinstance(value["type"], str):
        text = ObjectText(inner)
        text.type_name = value["type"]
        return text
    raise ValueError(f"a value of an unknown kind {kind!r}")
