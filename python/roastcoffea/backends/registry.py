"""The known backends, and the choice of one for the user's argument."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, TypeAlias

from roastcoffea.aggregation.backends import known_parsers, plugin_backends, register_parser
from roastcoffea.backends.executors import class_names
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.source import Source

__all__ = ["Backend", "backend_name", "known_backends", "make_backend", "register_backend", "source_of"]

Backend: TypeAlias = AbstractMetricsBackend | Source
_KINDS = (AbstractMetricsBackend, Source)

# Our own; imported when they are used, so that Dask and Parsl are needed only by those who use them.
_OURS = {
    "dask": ("roastcoffea.backends.dask.source", "DaskMetricsBackend"),
    "local": ("roastcoffea.backends.local", "LocalSource"),
    "parsl": ("roastcoffea.backends.parsl.source", "ParslSource"),
    "taskvine": ("roastcoffea.backends.taskvine", "TaskVineSource"),
}
_REGISTERED: dict[str, type[Backend]] = {}

_HAND_OVER = (
    "a distributed.Client, a Coffea executor, a Runner, a backend, or nothing for this machine"
)


def register_backend(name: str, backend_class: type[Backend], parser: Any = None) -> None:
    """Registers a backend under a name.

    Args:
        name: As in ``MetricsCollector(..., backend=name)``. An executor of class ``<Name>Executor`` is collected by the
            backend of that name (in lower case) from now on.
        backend_class: Derived from Source or from AbstractMetricsBackend. It is called with the user's first argument,
            or without an argument if it takes none.
        parser: A class or object with ``parse_tracking_data(tracking_data) -> dict`` of worker metrics, for tracking
            data of a form of its own. Without it the common form is read and everything else ignored.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name: {name!r} is no name of a backend")
    if not (isinstance(backend_class, type) and issubclass(backend_class, _KINDS)):
        raise TypeError(f"backend_class: {backend_class!r} is derived neither from Source nor from AbstractMetricsBackend")
    register_parser(name, parser)
    _REGISTERED[name] = backend_class


def known_backends() -> list[str]:
    """The names of all backends: ours, the registered ones, and those of installed packages."""
    return sorted({*_OURS, *_REGISTERED, *plugin_backends()})


def make_backend(spec: Any = None, backend: str | type[Backend] | Backend | None = None) -> Backend:
    """The backend for the user's argument (see MetricsCollector); `backend` overrides."""
    if isinstance(backend, _KINDS):
        return backend
    if backend is None and isinstance(spec, _KINDS):
        return spec
    target = _executor_of(spec)
    if backend is None:
        backend = _name_for(target)
    if isinstance(backend, str):
        backend_class = _class_of(backend)
    elif isinstance(backend, type) and issubclass(backend, _KINDS):
        backend_class = backend
    else:
        raise TypeError(f"backend: a name or a backend is expected, not {type(backend).__name__}")
    return _instance(backend_class, target)


def source_of(backend: Backend) -> Source:
    """The source for the next run. A source that was handed over is used again."""
    return backend if isinstance(backend, Source) else backend.source()


def backend_name(backend: Backend) -> str:
    """The name of a backend; if it was never registered, from its class."""
    for cls in type(backend).__mro__:
        for name, registered in _REGISTERED.items():
            if registered is cls:
                return name
        for name, place in _OURS.items():
            if place == (cls.__module__, cls.__name__):
                return name
    name = type(backend).__name__
    for ending in ("Backend", "Source", "Metrics"):
        name = name.removesuffix(ending)
    name = name.lower() or "backend"
    if name not in known_parsers():
        register_parser(name)
    return name


def _executor_of(spec: Any) -> Any:
    """The executor of a Runner; anything else as it is."""
    if spec is not None and "Runner" in class_names(spec) and hasattr(spec, "executor"):
        return spec.executor
    return spec


def _name_for(target: Any) -> str:
    """The backend that belongs to a client, an executor or nothing."""
    if target is None:
        return "local"
    names = class_names(target)
    if hasattr(target, "run_on_scheduler"):
        return "dask"
    for name in names:
        short = name.removesuffix("Executor").lower()
        if name.endswith("Executor") and (short in _REGISTERED or short in _OURS):
            return short
    if "IterativeExecutor" in names or "FuturesExecutor" in names:
        return "local"
    plugins = plugin_backends()
    for name in names:
        short = name.removesuffix("Executor").lower()
        if name.endswith("Executor") and short in plugins:
            return short
    if "ExecutorBase" in names:
        return "local"
    raise TypeError(f"{type(target).__name__}: cannot be measured; {_HAND_OVER} is expected")


def _class_of(name: str) -> type[Backend]:
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name in _OURS:
        module, attribute = _OURS[name]
        found: type[Backend] = getattr(import_module(module), attribute)
        return found
    plugins = plugin_backends()
    if name not in plugins:
        raise ValueError(f"Unsupported backend: {name!r}. Known: {', '.join(known_backends())}")
    backend_class = plugins[name].load()
    register_backend(name, backend_class, getattr(backend_class, "parser", None))
    return _REGISTERED[name]


def _instance(backend_class: type[Backend], target: Any) -> Backend:
    try:
        inspect.signature(backend_class).bind(target)
    except TypeError:
        return backend_class()
    except ValueError:  # a class without a signature
        return backend_class(*[target])
    return backend_class(*[target])
