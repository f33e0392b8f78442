"""Parsers of tracking data, by the name of the backend that collected it."""

from __future__ import annotations

from roastcoffea.aggregation.backends.dask import DaskTrackingDataParser

__all__ = ["get_parser", "known_parsers", "register_parser"]

# Tracking data has one form, whoever collected it; a backend may still bring a parser of its own.
_PARSERS: dict[str, type[DaskTrackingDataParser]] = {
    "dask": DaskTrackingDataParser,
    "local": DaskTrackingDataParser,
}


def known_parsers() -> list[str]:
    """The names of all backends that have a parser."""
    return sorted(_PARSERS)


def register_parser(
    name: str, parser: type[DaskTrackingDataParser] = DaskTrackingDataParser
) -> None:
    """Makes a backend known; without a parser of its own it uses the common one."""
    _PARSERS[name] = parser


def get_parser(name: str) -> DaskTrackingDataParser:
    """The parser of a backend."""
    try:
        parser = _PARSERS[name]
    except (KeyError, TypeError):
        known = ", ".join(known_parsers())
        raise ValueError(f"Unsupported backend: {name!r}. Known: {known}") from None
    return parser()
