"""Measurements of roastcoffea 0.1.x: the run, and the metrics as 0.1.x had them.

The engine checks the files and makes the run. The metrics are those of metrics.json, to the bit. Types that JSON does
not have are restored here: datetimes in tracking_data, and tuples that are keys.
"""

from __future__ import annotations

import ast
import json
import os
from datetime import datetime
from typing import Any

from roastcoffea import _core

__all__ = ["load_legacy"]


def load_legacy(path: str | os.PathLike[str]) -> tuple[_core.Run, dict[Any, Any], Any, tuple[float, float]]:
    """``(run, metrics, config, (t0, t1))``; without a config.json the third is None."""
    run, metrics, config, times = _core.load_legacy(path)
    return run, _metrics_of(metrics), None if config is None else _parsed(config, "config.json"), times


def _parsed(data: bytes, file: str) -> Any:
    try:
        return json.loads(data.decode())
    except RecursionError:
        raise ValueError(f"{file}: too many containers inside each other") from None


def _metrics_of(data: bytes) -> dict[Any, Any]:
    metrics = _parsed(data, "metrics.json")
    tracking = metrics.get("tracking_data")
    try:
        return {
            _key(name): _with_times(value) if value is tracking and isinstance(value, dict) else _restored(value)
            for name, value in metrics.items()
        }
    except RecursionError:
        raise ValueError("metrics.json: too many containers inside each other") from None


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(name): _restored(entry) for name, entry in value.items()}
    return [_restored(entry) for entry in value] if isinstance(value, list) else value


def _key(name: str) -> Any:
    """The tuple whose str() the name is, or the name itself."""
    if not (name.startswith("(") and name.endswith(")")):
        return name
    try:
        value = ast.literal_eval(name)
        hash(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return name
    return value if isinstance(value, tuple) and str(value) == name else name


def _with_times(tracking: dict[str, Any]) -> dict[Any, Any]:
    """Tracking data: {"worker_counts": {time: n}, series: {worker: [(time, value), ...]}}."""
    series = _core.WorkerSeries().as_tracking_data()
    restored: dict[Any, Any] = {}
    for name, value in tracking.items():
        if not isinstance(value, dict) or name not in series:
            restored[_key(name)] = _restored(value)
        elif name == "worker_counts":
            restored[name] = {datetime.fromisoformat(when): count for when, count in value.items()}
        else:
            restored[name] = {_key(worker): _points(points) for worker, points in value.items()}
    return restored


def _points(points: Any) -> Any:
    if not isinstance(points, list):
        return _restored(points)
    return [
        (datetime.fromisoformat(point[0]), point[1]) if isinstance(point, list) and len(point) == 2 else _restored(point)
        for point in points
    ]
