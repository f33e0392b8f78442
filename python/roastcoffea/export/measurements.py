"""Measurements on disk.

A measurement is a directory; the engine writes and reads it (docs/format/measurement.md). This module decides what is
saved, and what users get back.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from roastcoffea import _core
from roastcoffea.aggregation.core import Metrics, MetricsAggregator
from roastcoffea.aggregation.on_demand import MadeOnDemand
from roastcoffea.aggregation.tracking import SERIES, TrackingData
from roastcoffea.export import extras
from roastcoffea.export.legacy import load_legacy

__all__ = [
    "Additions",
    "SavedMeasurement",
    "additions_to",
    "at_free_name",
    "load_measurement",
    "measurement_path",
    "read_measurement",
    "save_measurement",
]

_T = TypeVar("_T")
_MAX_FILE = 64 << 20  # bytes that the engine takes for config.json, and for the extras
_MAX_OWN = 1 << 20  # bytes of a user's metric in metrics.json; a longer one is in the extras alone
_REPORT = {
    "entries": "total_events",
    "bytesread": "total_bytes_read",
    "processtime": "total_cpu_time",
    "chunks": "num_chunks",
}


def save_measurement(
    metrics: Mapping[str, Any],
    t0: float,
    t1: float,
    output_dir: str | os.PathLike[str],
    measurement_name: str | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = True,
) -> Path:
    """Saves metrics with their run as ``output_dir/measurement_name``.

    A directory that is not a measurement is never touched.

    Args:
        metrics: What ``get_metrics()`` returned.
        t0: The start of the run, in seconds since 1970.
        t1: Its end.
        output_dir: The folder of the measurement; it is made if it is missing.
        measurement_name: By default the date and time.
        config: Settings of yours, saved as ``config.json``.
        overwrite: Whether a measurement of that name is replaced, as a whole; otherwise it is a FileExistsError.
    """
    run = _run_of(metrics, t0, t1)
    additions = additions_to(metrics, run, t0, t1, config)

    def save(path: Path, replace: bool) -> None:
        _core.save_measurement(run, path, overwrite=replace, **additions)

    return at_free_name(save, output_dir, measurement_name, overwrite, t0)[0]


def load_measurement(path: str | os.PathLike[str]) -> tuple[dict[str, Any], float, float]:
    """``(metrics, t0, t1)`` of a measurement of ours or of roastcoffea 0.1.x.

    Args:
        path: The folder of the measurement.
    """
    measurement = read_measurement(path)
    return measurement.metrics, measurement.t_start, measurement.t_end


class SavedMeasurement:
    """A measurement read from disk."""

    def __init__(
        self, run: _core.Run, metrics: Metrics, times: tuple[float, float], config: Any, state: str
    ) -> None:
        self.run = run
        self.metrics = metrics
        self.t_start, self.t_end = times
        self.config = config
        self.state = state
        self.legacy = False


def read_measurement(path: str | os.PathLike[str]) -> SavedMeasurement:
    """Reads a whole measurement."""
    if _core.measurement_kind(path) == "legacy":
        return _read_legacy(path)
    run, parts, state = _core.load_measurement(path)
    metrics = _metrics_of(run)
    times = run.t_start or 0.0, run.t_end or 0.0
    if "extras" in parts:
        times = _take_extras(metrics, parts["extras"], path)
    config = _read_config(parts["config.json"], path) if "config.json" in parts else None
    return SavedMeasurement(run, metrics, times, config, state)


def _take_extras(metrics: Metrics, data: bytes, path: str | os.PathLike[str]) -> tuple[float, float]:
    try:
        more = extras.load(data)
        for name in more["absent"]:
            metrics.pop(name, None)
        metrics.update(more["metrics"])
        if "tracking_data" in more and metrics.run is not None and metrics.run.series is not None:
            metrics["tracking_data"] = TrackingData(
                metrics.run.series, more["tracking_data"], metrics.run.t_start
            )
        t0, t1 = map(float, more["times"])
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{Path(path, 'run.sqlite')} is damaged: extras: {error}") from None
    return t0, t1


def _read_config(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        config = json.loads(data)
        if not isinstance(config, dict):
            raise ValueError(f"a mapping is expected, not {type(config).__name__}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{Path(path, 'config.json')}: {error}") from None
    return config


def _read_legacy(path: str | os.PathLike[str]) -> SavedMeasurement:
    run, metrics, config, times = load_legacy(path)
    made = SavedMeasurement(run, Metrics(metrics), times, config, "finished")
    made.legacy = True
    return made


# ---- names ----

def measurement_path(
    output_dir: str | os.PathLike[str], name: str | None, t0: float | None = None
) -> Path:
    """The path of a measurement of that name; without a name, a free path."""
    folder = Path(output_dir)
    if name is None:
        return folder / _core.new_measurement_name(folder, time.time() if t0 is None else t0)
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"measurement_name: {name!r} is no name of a directory in {str(folder)!r}")
    return folder / name


def at_free_name(
    make: Callable[[Path, bool], _T],
    output_dir: str | os.PathLike[str],
    name: str | None,
    overwrite: bool,
    t0: float | None = None,
) -> tuple[Path, _T]:
    """Calls ``make(path, overwrite)``. Without a name it is a free one, even if another process takes the same name at
    the same moment."""
    while True:
        path = measurement_path(output_dir, name, t0)
        try:
            return path, make(path, overwrite and name is not None)
        except FileExistsError:
            if name is not None:
                raise


# ---- data that is not in the run ----

class Additions(TypedDict):
    """Data saved in addition to the run; `notes` say what could not be saved, `own` is for metrics.json."""

    config: bytes | None
    extras: bytes | None
    notes: list[str]
    own: list[tuple[bytes, bytes]]


def additions_to(
    metrics: Mapping[str, Any], run: _core.Run, t0: float, t1: float, config: Mapping[str, Any] | None
) -> Additions:
    """The user's configuration, and the metrics that loading the run alone would not restore.

    A value that cannot be kept is left out with a note: the others are saved.
    """
    notes: list[str] = []
    own: list[tuple[bytes, bytes]] = []
    return {
        "config": _config_json(config, notes),
        "extras": _extras_json(metrics, run, t0, t1, notes, own),
        "notes": notes,
        "own": own,
    }


def _note(name: Any, error: Exception) -> str:
    reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
    return f"{str(name)[:100]} was left out: {reason[:200]}"


def _config_json(config: Mapping[str, Any] | None, notes: list[str]) -> bytes | None:
    if config is None:
        return None
    kept: list[str] = []
    left = _MAX_FILE
    for name, value in config.items():
        try:
            entry = json.dumps(extras.plain_json({name: value}), indent=2)[1:-2]
            if len(entry) + 3 > left:
                raise ValueError(f"config.json would be longer than {_MAX_FILE >> 20} MiB")
        except Exception as error:
            notes.append(_note(f"config {name!r}", error))
        else:
            kept.append(entry)
            left -= len(entry) + 1
    return f"{{{','.join(kept)}\n}}".encode()


def _extras_json(
    metrics: Mapping[str, Any],
    run: _core.Run,
    t0: float,
    t1: float,
    notes: list[str],
    own: list[tuple[bytes, bytes]],
) -> bytes | None:
    known = _metrics_of(run)
    rest = extras.dump({"absent": [name for name in known if name not in metrics], "times": [t0, t1]}, 1 << 20)
    left = _MAX_FILE - len(rest) - len(b'{"metrics":[],"tracking_data":null,')
    more: list[bytes] = []
    tracking: bytes | None = None
    for name, value in metrics.items():
        try:
            if name == "tracking_data" and _is_series(value, run):
                entries = _other_than_series(value)
                tracking = extras.dump(entries, left) if entries else None
                left -= len(tracking or b"")
            elif not _is_known(name, value, known):
                pair = extras.dump([name, value], left - 1)
                more.append(pair)
                left -= len(pair) + 1
                if isinstance(name, str) and name not in (*known, "meta") and len(pair) <= _MAX_OWN:
                    own.append((name.encode(errors="replace"), _readable(value)))
        except Exception as error:
            notes.append(_note(f"metric {name!r}", error))
    changed = more or tracking is not None or any(name not in metrics for name in known)
    if not changed and (t0, t1) == (run.t_start, run.t_end):
        return None
    if tracking is not None:
        rest = b'{"tracking_data":' + tracking + b"," + rest[1:]
    return b'{"metrics":[' + b",".join(more) + b"]," + rest[1:]


def _readable(value: Any) -> bytes:
    """A value of the user's own for metrics.json; what plain JSON does not know is written as in the extras."""
    try:
        return json.dumps(extras.plain_json(value)).encode()
    except Exception:
        return extras.dump(value, 2 * _MAX_OWN)


def _is_known(name: str, value: Any, known: Mapping[str, Any]) -> bool:
    if name not in known:
        return False
    there = known[name]
    # Put into the run unread; reading them would make objects of millions of records.
    if isinstance(value, MadeOnDemand) and not value.is_made:
        return True
    if name == "raw_chunk_metrics" and isinstance(value, list):
        return isinstance(value, _core.ChunkLog) or _core.ChunkLog(value).to_bytes() == there.to_bytes()
    alike = type(there) is type(value) or (isinstance(there, MadeOnDemand) and isinstance(value, dict))
    return alike and bool(there == value or (there != there and value != value))


def _is_series(tracking: Any, run: _core.Run) -> bool:
    """Whether the run holds these tracking data, to the precision of a series."""
    series = run.series
    if not series or not isinstance(tracking, Mapping):
        return False
    if isinstance(tracking, TrackingData) and tracking.series is not None:
        return True
    return _core.WorkerSeries.from_tracking_data(tracking).samples_equal(series)


def _other_than_series(tracking: Mapping[Any, Any]) -> dict[Any, Any]:
    """The entries of tracking data that are not series: the user's own."""
    if isinstance(tracking, TrackingData) and not tracking.is_made:
        return tracking.more
    return {name: value for name, value in tracking.items() if name not in SERIES}


def _metrics_of(run: _core.Run) -> Metrics:
    """The metrics of a run without any further data."""
    spans = {key: value for key, value in run.spans.items() if key[0] != "preprocess"}
    return MetricsAggregator().metrics_of(run, run.series, spans, run.chunk_log, [])


def _run_of(metrics: Mapping[str, Any], t0: float, t1: float) -> _core.Run:
    """The run of metrics: the one that they were computed from, or one made from their contents."""
    run = getattr(metrics, "run", None)
    if isinstance(run, _core.Run):
        return run
    report = {name: metrics.get(key) for name, key in _REPORT.items() if metrics.get(key) is not None}
    tracking = metrics.get("tracking_data")
    return _core.Run(
        report=report or None,
        t_start=t0,
        t_end=t1,
        chunks=metrics.get("raw_chunk_metrics"),
        series=getattr(tracking, "series", None) or tracking,
        spans=metrics.get("raw_span_metrics"),
        section_metrics=metrics.get("raw_section_metrics"),
        notes=metrics.get("notes"),
        replayed=metrics.get("replayed_chunks") or 0,
        ending=_ending_of(metrics),
    )


def _ending_of(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    """How the run of metrics ended, if they say so."""
    known = {name: metrics.get(name) for name in ("outcome", "error", "skipped_files")}
    try:
        _core.Run(ending=known)
    except (TypeError, ValueError, OverflowError):  # metrics of the user's own, which have these names
        return None
    return known if known["outcome"] is not None else None
