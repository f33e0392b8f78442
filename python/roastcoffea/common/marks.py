"""Attributes that collectors set on the user's objects, and remove again.

Several collectors, in several threads, may put the same attribute on one object. The last one in force decides the
value. The original value is restored when all are removed, in any order. A value that somebody else has set meanwhile
stays.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

__all__ = ["GONE", "Mark"]

GONE: Any = object()  # the attribute did not exist, and is deleted afterwards

_lock = threading.RLock()
_attributes: dict[tuple[int, str], _Attribute] = {}


class _Attribute:
    """One attribute of one object, as it was, and the marks on it; the last one is in force."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.marks: list[Mark] = []


class Mark:
    """Sets `value` on `owner` until it is removed. An owner that accepts no attribute stays unchanged."""

    def __init__(
        self, owner: Any, name: str, value: Any, missing: Any = GONE, known: list[Mark] | None = None
    ) -> None:
        """`missing` is the later value of an attribute that did not exist before. The mark is added to `known` before it
        is set: an interrupt may come at once."""
        self._owner, self._name, self._value = owner, name, value
        self._key = id(owner), name
        if known is not None:
            known.append(self)
        with _lock:
            before = vars(owner).get(name, missing) if hasattr(owner, "__dict__") else missing
            # Registered before it is set: whatever happens, it can be removed.
            _attributes.setdefault(self._key, _Attribute(before)).marks.append(self)
            with suppress(Exception):
                setattr(owner, name, value)

    def others(self) -> list[Any]:
        """The values of all marks on the same attribute of the same object, this one's as well."""
        with _lock:
            return [mark._value for mark in _attributes[self._key].marks] if self._key in _attributes else []

    def _in_force(self) -> bool:
        """Whether the value is still there. Calls no function where the object has a dictionary: to remove a mark is
        the last that can be done, and nothing may fail before it."""
        with suppress(Exception):
            if self._name in self._owner.__dict__:
                return self._owner.__dict__[self._name] is self._value
        with suppress(Exception):
            # An object may keep its attributes elsewhere.
            return getattr(self._owner, self._name) is self._value
        return False

    def take_off(self) -> None:
        """A second call does nothing."""
        with _lock:
            there = _attributes[self._key] if self._key in _attributes else None
            if there is None or self not in there.marks:
                return
            others = [mark for mark in there.marks if mark is not self]
            # First the attribute, then the mark: after an interrupt a second call does what is left.
            if there.marks[-1] is self and self._in_force():
                value = others[-1]._value if others else there.before
                with suppress(Exception):
                    if value is GONE:
                        delattr(self._owner, self._name)
                    else:
                        setattr(self._owner, self._name, value)
            if others:
                there.marks[:] = others
            else:
                del _attributes[self._key]
