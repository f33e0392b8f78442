"""Parsers of tracking data, by the name of the backend that collected it."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from roastcoffea.aggregation.backends.common import TrackingDataParser

__all__ = ["COMMON", "get_parser", "is_common", "known_parsers", "plugin_backends", "register_parser"]

# Tracking data has one form, whoever collected it; a backend may still bring a parser of its own.
COMMON = "common"
_PARSERS: dict[str, Any] = dict.fromkeys((COMMON, "dask", "local", "parsl", "taskvine"), TrackingDataParser)
_GROUP = "roastcoffea.backends"


def plugin_backends() -> dict[str, EntryPoint]:
    """The backends of installed packages: entry points of the group "roastcoffea.backends"."""
    return {entry.name: entry for entry in entry_points(group=_GROUP)}


def known_parsers() -> list[str]:
    """The names of all backends that have a parser."""
    return sorted({*_PARSERS, *plugin_backends()} - {COMMON})


def is_common(parser: Any) -> bool:
    """Whether it is the parser of the common form: then the engine reads the tracking data itself."""
    return type(parser) is TrackingDataParser


def register_parser(name: str, parser: Any = None) -> None:
    """Registers a backend; without a parser of its own (a class or an object) it uses the common one."""
    if parser is not None and not callable(getattr(parser, "parse_tracking_data", None)):
        raise TypeError(f"parser: {parser!r} has no parse_tracking_data()")
    _PARSERS[name] = TrackingDataParser if parser is None else parser


def get_parser(name: str) -> Any:
    """The parser of a backend."""
    is_name = isinstance(name, str)
    parser = _PARSERS.get(name) if is_name else None
    if parser is None:
        plugins = plugin_backends()
        if not is_name or name not in plugins:
            known = ", ".join(known_parsers())
            raise ValueError(f"Unsupported backend: {name!r}. Known: {known}")
        register_parser(name, getattr(plugins[name].load(), "parser", None))
        parser = _PARSERS[name]
    return parser() if isinstance(parser, type) else parser
