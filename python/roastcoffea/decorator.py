"""The decorator of process(), how it is pickled, and which processors have it."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from typing import Any

from roastcoffea._core import track_metrics

__all__ = ["track_metrics"]

_COLLECT = "_roastcoffea_collect_metrics"
_SWITCHES = (_COLLECT, "_roastcoffea_topic")


def reduce(tracked: track_metrics[Any, Any]) -> Any:
    """For pickle. Like a function: by name if another process can import it, by value otherwise. Objects of __main__
    are never importable elsewhere. By name alone, the attributes that a collector has set would be lost."""
    own = dict(vars(tracked))
    module, qualname = own.get("__module__"), own.get("__qualname__")
    found = None
    if isinstance(module, str) and isinstance(qualname, str) and module != "__main__" and not _goes_by_value(module):
        found = _look_up(sys.modules.get(module), qualname)
    if found is tracked and not _is_true(own.get(_COLLECT)):
        return qualname
    # A copy of the module's own.
    if isinstance(found, track_metrics) and found._function is tracked._function:
        return copy, (module, qualname), {name: own[name] for name in _SWITCHES if name in own}
    own.pop("__wrapped__", None)
    return track_metrics, (tracked._function,), own


def copy(module: str, qualname: str) -> track_metrics[Any, Any]:
    """A copy of the module's own. The receiving process switches on the copy: the module's own would stay on, because
    nothing there switches it off."""
    found = _look_up(importlib.import_module(module), qualname)
    if not isinstance(found, track_metrics):
        raise AttributeError(f"{module}.{qualname} is no function with @track_metrics")
    return track_metrics(found._function)


def _look_up(found: Any, qualname: str) -> Any:
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found


def _is_true(flag: Any) -> bool:
    try:
        return bool(flag)
    except Exception:
        return False


def _goes_by_value(module: str) -> bool:
    """cloudpickle.register_pickle_by_value(module) was called for it."""
    try:
        return module in sys.modules["cloudpickle"].list_registry_pickle_by_value()
    except Exception:
        return False


# ---- processors ----

def bare(processor: Any) -> Any:
    """The object that a decorated function asks whether it is switched on: of a function with some arguments given the
    function, of a method its instance."""
    while isinstance(processor, functools.partial):
        processor = processor.func
    is_method = isinstance(processor, types.MethodType) and isinstance(processor.__func__, track_metrics)
    return processor.__self__ if is_method else processor


def is_tracked(processor: Any) -> bool:
    """Whether process() has our decorator."""
    processor = bare(processor)
    return _has_decorator(inspect.getattr_static(type(processor), "process", processor))


def needs_us(processor: Any) -> bool:
    """Whether a class of it has our decorator, so that workers need this package in any case."""
    return is_tracked(processor) or any(
        _has_decorator(value) for cls in type(bare(processor)).__mro__ for value in vars(cls).values()
    )


def _has_decorator(function: Any) -> bool:
    for _ in range(100):  # an object may wrap itself
        if function is None or isinstance(function, track_metrics):
            break
        function = inspect.getattr_static(function, "__wrapped__", None)
    return isinstance(function, track_metrics)
