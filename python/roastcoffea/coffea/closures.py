"""The functions that Coffea sends to its workers, in `functools.partial` with some of their arguments.

Coffea builds them for each call. A copy with another argument affects that call alone; the user's objects do not
change.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["argument", "find", "replace", "with_arguments"]


def find(closure: Any, target: Callable[..., Any] | None) -> functools.partial[Any] | None:
    """The partial of `target` in a closure, or in the arguments of one."""
    if not isinstance(closure, functools.partial):
        return None
    if closure.func is target:
        return closure
    return next((found for part in closure.args if (found := find(part, target)) is not None), None)


def replace(closure: Any, old: Any, new: Any) -> Any:
    """A copy of the closure with `new` in the place of `old`."""
    if closure is old:
        return new
    if not isinstance(closure, functools.partial):
        return closure
    args = (replace(part, old, new) for part in closure.args)
    return functools.partial(closure.func, *args, **closure.keywords)


def argument(call: functools.partial[Any], name: str) -> Any:
    """The value of an argument; a LookupError if the closure does not have it."""
    if name in call.keywords:
        return call.keywords[name]
    return call.args[_position(call, name)]


def with_arguments(call: functools.partial[Any], **values: Any) -> functools.partial[Any]:
    """A copy with other values of arguments that it has."""
    args, keywords = list(call.args), dict(call.keywords)
    for name, value in values.items():
        argument(call, name)
        if name in keywords:
            keywords[name] = value
        else:
            args[_position(call, name)] = value
    return functools.partial(call.func, *args, **keywords)


def _position(call: functools.partial[Any], name: str) -> int:
    names = list(inspect.signature(call.func).parameters)
    if name not in names:
        raise LookupError(f"{call.func.__name__}() of this version of Coffea has no argument {name!r}")
    return names.index(name)
