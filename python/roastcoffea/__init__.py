"""roastcoffea: the measuring instrument for Coffea analyses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from roastcoffea._core import (
    ChunkLog,
    __version__,
    track_bytes,
    track_memory,
    track_metrics,
    track_time,
)
from roastcoffea.instrumentation import BaseInstrumentationContext
from roastcoffea.visualization import PLOTS

if TYPE_CHECKING:
    from roastcoffea.advice import Advice
    from roastcoffea.backends.registry import register_backend
    from roastcoffea.collector import MetricsCollector
    from roastcoffea.comparison import Comparison
    from roastcoffea.export.measurements import load_measurement
    from roastcoffea.collector.results import compare, open_run
    from roastcoffea.scaling_runs import Scaling, scaling
    from roastcoffea.trend_runs import Trend, trend
    from roastcoffea.visualization.plots import *  # noqa: F403
    from roastcoffea.web import board
    from roastcoffea.what_if import WhatIf

track_section = track_time

__all__ = [
    "Advice",
    "BaseInstrumentationContext",
    "ChunkLog",
    "Comparison",
    "MetricsCollector",
    "Scaling",
    "Trend",
    "WhatIf",
    "__version__",
    "board",
    "compare",
    "load_measurement",
    "open_run",
    "plot_all",
    "plot_scaling",
    "register_backend",
    "scaling",
    "track_bytes",
    "track_memory",
    "track_metrics",
    "track_section",
    "track_time",
    "trend",
    *PLOTS,
]


# Loaded on first use. Every worker imports this package for its decorators and needs only the engine; matplotlib takes
# longer to import than the whole package.
_HOMES = {
    "Advice": "advice",
    "Comparison": "comparison",
    "MetricsCollector": "collector",
    "Scaling": "scaling_runs",
    "Trend": "trend_runs",
    "WhatIf": "what_if",
    "board": "web",
    "compare": "collector.results",
    "load_measurement": "export.measurements",
    "open_run": "collector.results",
    "register_backend": "backends.registry",
    "scaling": "scaling_runs",
    "trend": "trend_runs",
    **{name: "visualization.plots" for name in __all__ if name.startswith("plot_")},
}
_MODULES = {"aggregation", "backends", "collector", "decorator", "export", "instrumentation", "report", "utils",
            "visualization"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
