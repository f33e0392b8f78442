"""Attributes that collectors put on objects of the user's, and take off again.

Several collectors, in several threads, may put the same attribute on one object. The last one in force decides what
is seen; the first value comes back with the last one that is taken off, in whatever order that happens.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

__all__ = ["GONE", "Mark"]

GONE: Any = object()  # an attribute that was not there, and is not there afterwards

_lock = threading.RLock()
_attributes: dict[tuple[int, str], _Attribute] = {}


class _Attribute:
    """One attribute of one object, as it was, and the marks on it; the last one is in force."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.marks: list[Mark] = []


class Mark:
    """Puts `value` on `owner` until it is taken off. An owner that takes no attribute stays as it is."""

    def __init__(self, owner: Any, name: str, value: Any, missing: Any = GONE) -> None:
        """`missing` is what an attribute that was not there becomes afterwards."""
        self._owner, self._name, self._value = owner, name, value
        self._key = id(owner), name
        with _lock:
            before = vars(owner).get(name, missing) if hasattr(owner, "__dict__") else missing
            # Noted before it is put there: whatever happens, it can be taken off.
            _attributes.setdefault(self._key, _Attribute(before)).marks.append(self)
            with suppress(Exception):
                setattr(owner, name, value)

    def others(self) -> list[Any]:
        """The values of all marks on the same attribute of the same object, this one's as well."""
        with _lock:
            return [mark._value for mark in _attributes[self._key].marks] if self._key in _attributes else []

    def take_off(self) -> None:
        """Again: nothing happens."""
        with _lock:
            there = _attributes[self._key] if self._key in _attributes else None
            if there is None or self not in there.marks:
                return
            there.marks[:] = [mark for mark in there.marks if mark is not self]
            if not there.marks:
                del _attributes[self._key]
            value = there.marks[-1]._value if there.marks else there.before
            with suppress(Exception):
                if value is GONE:
                    delattr(self._owner, self._name)
                else:
                    setattr(self._owner, self._name, value)
