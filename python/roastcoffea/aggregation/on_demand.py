"""Dicts that are filled on first use.

A big run has millions of samples and chunks, and most users never look at them one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["MadeOnDemand"]


class _NotMade:
    def __repr__(self) -> str:
        return "<not made yet>"


_NOT_MADE = _NotMade()


class MadeOnDemand(dict[Any, Any]):
    """A dict like any other, filled on first use."""

    def __init__(
        self,
        make: Callable[..., dict[Any, Any]],
        keys: Iterable[Any] = (_NOT_MADE,),
        run_start: float | None = None,
    ) -> None:
        # Keys from the start, the right ones where they are known: C code that looks past our methods
        # finds no empty dict.
        super().__init__(dict.fromkeys(keys, _NOT_MADE))
        self._make: Callable[..., dict[Any, Any]] | None = make
        # The start of the run that the data are from: the zero of plots over time.
        self.run_start = run_start

    @property
    def is_made(self) -> bool:
        """Whether it was filled: then it may have been changed."""
        return self._make is None

    def some(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """The entries of these keys, without making the others; for what is made by a function that takes keys."""
        if self._make is not None:
            return self._make(keys)
        return {key: dict.__getitem__(self, key) for key in keys if dict.__contains__(self, key)}

    def _fill(self) -> None:
        make, self._make = self._make, None
        if make is not None:
            dict.clear(self)
            dict.update(self, make())

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    copy = __copy__


def _after_making(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def call(self: MadeOnDemand, *args: Any, **kwargs: Any) -> Any:
        for one in (self, *args):
            if isinstance(one, MadeOnDemand):
                one._fill()
        return method(self, *args, **kwargs)

    call.__name__ = name
    return call


for _name in (
    "__getitem__", "__setitem__", "__delitem__", "__iter__", "__reversed__", "__contains__", "__len__",
    "__eq__", "__ne__", "__or__", "__ror__", "__ior__", "__repr__", "keys", "values", "items",
    "get", "pop", "popitem", "setdefault", "update", "clear",
):
    setattr(MadeOnDemand, _name, _after_making(_name))
