"""Keeps our failures out of the user's run.

A hook is a function of ours that the user's run calls: a wrapper around Coffea, a callback of Dask, the entry and exit
of the collector's context. An exception in a hook becomes a note of the open collectors, and the run goes on.
KeyboardInterrupt and SystemExit pass.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from roastcoffea._core import redact_text

__all__ = ["HOOKS", "Notes", "attempt", "hook", "listen", "tell", "unlisten", "warn", "words"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Every hook there is, by name; the tests make each of them fail.
HOOKS: dict[str, Callable[..., Any]] = {}

_lock = threading.Lock()
_listeners: list[Callable[[str], None]] = []


class Notes(list[str]):
    """Texts that say what could not be measured, and why; each once."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__(texts)
        self._seen = set(self)

    def add(self, text: str) -> None:
        text = redact_text(text)
        if text not in self._seen:
            self._seen.add(text)
            self.append(text)


def listen(note: Callable[[str], None]) -> None:
    """`note` is called for every failure from now on."""
    with _lock:
        _listeners.append(note)


def unlisten(note: Callable[[str], None]) -> None:
    with _lock:
        if note in _listeners:
            _listeners.remove(note)


def hook(what: str, default: Any = None) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Makes a function a hook: if it fails it returns `default`, and there is a note that begins with `what`."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                tell(f"{what}: {words(error)}")
                return default  # type: ignore[no-any-return]

        HOOKS[f"{function.__module__}.{function.__qualname__}"] = call
        return call

    return decorate


def attempt(what: str, note: Callable[[str], None], function: Callable[..., Any], *args: Any) -> Any:
    """The result of `function`; None if it fails, and then a note says so."""
    try:
        return function(*args)
    except Exception as error:
        note(f"{what}: {words(error)}")
        return None


def words(error: BaseException) -> str:
    """An exception as text. Its `__str__` is user code and may fail as well."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def warn(text: str, stacklevel: int = 2) -> None:
    """Warns, and does not raise if warnings are errors."""
    text = redact_text(text)
    try:
        warnings.warn(text, stacklevel=stacklevel + 1)
    except Exception:
        tell(text)


def tell(text: str) -> None:
    """Notes it in all open collectors."""
    with _lock:
        listeners = list(_listeners)
    for note in listeners:
        note(text)
