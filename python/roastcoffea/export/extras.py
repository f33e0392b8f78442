"""What a user put into the metrics and the engine does not know, as JSON that keeps Python's types.

A value that JSON has stands for itself; any other is ``{"$": kind, "value": ...}``. Nothing that is read
back is ever executed: a kind that is not listed here is an error.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Set
from datetime import datetime
from typing import Any

__all__ = ["dump", "load"]

_TAG = "$"


def dump(value: Any) -> bytes:
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False).encode()


def load(data: bytes) -> Any:
    try:
        return _rich(json.loads(data))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"extras: {error}") from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: "float", "value": repr(float(value))}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, datetime):
        return {_TAG: "datetime", "value": value.isoformat()}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value) and _TAG not in value:
            return {key: _plain(entry) for key, entry in value.items()}
        pairs = [[_plain(key), _plain(entry)] for key, entry in value.items()]
        return {_TAG: "dict", "value": pairs}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, tuple):
        return {_TAG: "tuple", "value": [_plain(entry) for entry in value]}
    if isinstance(value, Set):
        kind = "frozenset" if isinstance(value, frozenset) else "set"
        return {_TAG: kind, "value": [_plain(entry) for entry in value]}
    if isinstance(value, bytes):
        return {_TAG: "bytes", "value": value.hex()}
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return _plain(value.tolist())
    warnings.warn(
        f"a value of type {type(value).__name__} is saved as the text {str(value)[:80]!r}", stacklevel=2
    )
    return str(value)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "datetime": datetime.fromisoformat,
    "tuple": lambda value: tuple(map(_rich, value)),
    "set": lambda value: set(map(_rich, value)),
    "frozenset": lambda value: frozenset(map(_rich, value)),
    "bytes": bytes.fromhex,
    "dict": lambda value: {_rich(key): _rich(entry) for key, entry in value},
}


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return [_rich(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: _rich(entry) for key, entry in value.items()}
    kind = _KINDS.get(value[_TAG])
    if kind is None:
        raise ValueError(f"a value of an unknown kind {value[_TAG]!r}")
    return kind(value["value"])
