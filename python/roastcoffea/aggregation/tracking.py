"""Tracking data that is made when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roastcoffea._core import WorkerSeries

__all__ = ["TrackingData"]


class TrackingData(dict[str, Any]):
    """The tracking data of a series: a dict like any other, filled at the first look.

    A big run has millions of samples, and most users never look at them one by one.
    """

    def __init__(self, series: WorkerSeries) -> None:
        # The right keys from the start: C code that looks past our methods finds no empty dict.
        super().__init__(dict.fromkeys(WorkerSeries().as_tracking_data(), _NOT_MADE))
        self._series: WorkerSeries | None = series

    @property
    def series(self) -> WorkerSeries | None:
        """The series, as long as nobody has looked: then the dict may have been changed."""
        return self._series

    def _make(self) -> None:
        series, self._series = self._series, None
        if series is not None:
            dict.update(self, series.as_tracking_data())

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    copy = __copy__


class _NotMade:
    def __repr__(self) -> str:
        return "<not made yet>"


_NOT_MADE = _NotMade()


def _after_making(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def call(self: TrackingData, *args: Any, **kwargs: Any) -> Any:
        for one in (self, *args):
            if isinstance(one, TrackingData):
                one._make()
        return method(self, *args, **kwargs)

    call.__name__ = name
    return call


for _name in (
    "__getitem__", "__setitem__", "__delitem__", "__iter__", "__reversed__", "__contains__",
    "__eq__", "__ne__", "__or__", "__ror__", "__ior__", "__repr__", "keys", "values", "items",
    "get", "pop", "popitem", "setdefault", "update", "clear",
):
    setattr(TrackingData, _name, _after_making(_name))
